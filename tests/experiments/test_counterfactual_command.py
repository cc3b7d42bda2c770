"""The command `formlab counterfactual`."""

import json

import pytest
import yaml
from click.testing import CliRunner

from formlab_experiments.counterfactual import CHANGES
from formlab_experiments.counterfactual_command import CHANGES as OFFERED
from formlab_experiments.counterfactual_command import counterfactual
from tests.made_relations import content


def templates(folder):
    folder.mkdir()
    (folder / "bill.yaml").write_text(yaml.safe_dump(content(), sort_keys=False))
    return folder


def test_copies_of_templates_are_made_and_read(tmp_path):
    folder = templates(tmp_path / "templates")
    call = [str(folder), "--out", str(tmp_path / "out"), "--each", "1", "--change", "source",
            "--change", "consistent", "--json"]  # fmt: skip
    done = CliRunner().invoke(counterfactual, call)
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)[0]["copies"] == 2
    assert len(list((tmp_path / "out" / "images").glob("*.png"))) == 2
    pytest.importorskip("rapidocr")
    done = CliRunner().invoke(counterfactual, [*call, "--system", "rules", "--set", "angle=off"])
    assert done.exit_code == 0, done.output
    rows = [row for row in json.loads(done.stdout) if row.get("follows") == "both"]
    assert {row["change"] for row in rows} == {"source", "consistent"}


def test_options_name_the_changes_and_a_wrong_folder_is_an_error(tmp_path):
    assert OFFERED == CHANGES
    done = CliRunner().invoke(counterfactual, [str(tmp_path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 2
    assert "is no folder of templates" in done.output
