"""Write docs/licences.csv: the licence of everything that requirements.lock pins (make lock)."""

from __future__ import annotations

import csv
import re
import subprocess
import sys
import tempfile
import zipfile
from email import message_from_bytes
from email.message import Message
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs" / "licences.csv"
# A binding pin, as `name==1.0 ; marker \`.
PIN = re.compile(r"^([\w.-]+)==([^\s;\\]+)", re.MULTILINE)


def pins() -> list[tuple[str, str]]:
    """Each package in the lock with its version; some have another one for other Pythons."""
    return list(PIN.findall((ROOT / "requirements.lock").read_text()))


def licence(name: str, version: str) -> str:
    """What a package says of its licence, in one line."""
    try:
        said = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        said = _elsewhere(name, version)
    named = said.get("License-Expression")
    if not named:
        classes = [line.split(" :: ")[-1] for line in said.get_all("Classifier") or []
                   if line.startswith("License :: ")]  # fmt: skip
        named = " / ".join(line for line in classes if line != "OSI Approved")
    return named or (said.get("License") or "not stated").split("\n")[0]


def _elsewhere(name: str, version: str) -> Message:
    """The metadata of a package that this system has no use for, from its wheel."""
    with tempfile.TemporaryDirectory() as folder:
        command = [
            sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder,
            "--only-binary", ":all:", "--python-version", "3.12", f"{name}=={version}",
        ]  # fmt: skip
        for platform in ("win_amd64", "any"):
            done = subprocess.run([*command, "--platform", platform], check=False)  # noqa: S603
            for wheel in Path(folder).glob("*.whl") if not done.returncode else ():
                with zipfile.ZipFile(wheel) as opened:
                    inside = next(n for n in opened.namelist() if n.endswith(".dist-info/METADATA"))
                    return message_from_bytes(opened.read(inside))
    return Message()


if __name__ == "__main__":
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["package", "version", "licence"])
        table.writerows((name, version, licence(name, version)) for name, version in pins())
