"""A real JupyterLab over a folder, for tests that drive it in a browser."""

import contextlib
import os
import socket
import subprocess
import sys
import urllib.request

import nbformat
import pytest

from formlab import browser
from formlab.errors import NotAvailable
from tests.states import LONG, until


@contextlib.contextmanager
def jupyterlab(folder, cell):
    """The address of a JupyterLab with a notebook of one cell, ``demo.ipynb``; needs Chromium."""
    pytest.importorskip("playwright")
    try:
        browser.find()
    except NotAvailable as error:
        pytest.skip(str(error))
    cells, kernel = [nbformat.v4.new_code_cell(cell, id="desk")], {"name": "python3"}
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": kernel | {"display_name": "Python 3"}}
    )
    nbformat.write(notebook, folder / "demo.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    homes = {name: str(folder / "home") for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR")}
    env = {k: v for k, v in os.environ.items() if k != "FORMLAB_REPORT"} | homes
    command = [
        sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1",
        f"--port={port}", "--IdentityProvider.token=", "--ServerApp.password=",
        "--LabApp.news_url=None", f"--ServerApp.root_dir={folder}",
        "--LabApp.extension_manager=readonly", f"--LabApp.workspaces_dir={folder / 'spaces'}",
    ]  # fmt: skip
    with (folder / "lab.log").open("w") as log:
        server = subprocess.Popen(command, cwd=folder, env=env, stdout=log, stderr=log)
        address = f"http://127.0.0.1:{port}"
        try:
            _wait(address, server, folder / "lab.log")
            yield address
        finally:
            server.terminate()
            server.wait(timeout=LONG)


def _wait(address, server, log):
    def answers():
        assert server.poll() is None, log.read_text()
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"{address}/api", timeout=LONG).close()
            return True

    until(answers)


def allowed(lab):
    """What the page may ask for: that server and nothing else."""
    return (lab, lab.replace("http", "ws"), "data:", "blob:", "about:")


def run_cell(page):
    """Run the only cell."""
    # A cell that is run before there is a kernel makes JupyterLab ask which one.
    page.get_by_text("| Idle").first.wait_for()
    page.locator(".jp-CodeCell .cm-content").first.click()
    page.keyboard.press("Shift+Enter")
