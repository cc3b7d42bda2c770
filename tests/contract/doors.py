"""The public doors of formlab, as the contract uses them: the command, documented names, files."""

import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from importlib.metadata import entry_points
from pathlib import Path

import polars as pl
import pytest

# The two forms of the README, and the answers of its two systems.
GOLD = {
    "form-1": {"name": "Ada Berg", "date": "4 March 2011", "total": "88.20"},
    "form-2": {"name": "Noor Haddad", "date": "30 June 2009", "total": "705.35"},
}
FIRST = {
    "form-1": {"name": "Ada Berg", "date": "2011-03-04", "total": "88.20"},
    "form-2": {"name": "Noor Hadad", "date": "2009-06-30", "total": "70535"},
}
SECOND = {
    "form-1": GOLD["form-1"] | {"date": "4 Mar 2011"},
    "form-2": GOLD["form-2"] | {"date": "2009-06-30"},
}
SCORE = ("score", "truth.csv", "--predictions")
(COMMAND,) = entry_points(group="console_scripts", name="formlab")

# Words that 0.3 renames or drops, each for what it does: a new word is an edit of this table.
WORDS = {
    "score a log": ["score"],
    "compare over time": ["compare", "--over-time"],
    "check a judge": ["facts", "check"],
    "ask a judge": ["facts", "judge"],
    "pages of a filing": ["facts", "filing"],
    "ask again after bad answers": ["--set", "retry=bad"],
    "log-probabilities": ["--set", "logprobs=on"],
    "in batches": ["--plugin", Path(__file__).parents[2] / "docs/plugins/batch.py"],
    "the first documents": ["--documents"],
    "no figures": ["--set", "figures=off"],
}


def cli(*arguments, code=0):
    """Standard output and standard error of the installed command, run in this process."""
    out, err, sys.argv = io.StringIO(), io.StringIO(), ["formlab", *map(str, arguments)]
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        sys.exit(COMMAND.load()())
    assert (end.value.code or 0) == code, err.getvalue()
    return out.getvalue(), err.getvalue()


def rows(*arguments):
    """What a command prints with `--json`."""
    return json.loads(cli(*arguments, "--json")[0])


def row(table, metric, average="pooled", **where):
    """The one row of a metric: pooled over all cases, unless `where` names a slice."""
    where = {"metric": metric, "average": average, "slice_value": None} | where
    (found,) = (entry for entry in table if where.items() <= entry.items())
    return found


def value(table, metric, average="pooled", **where):
    return row(table, metric, average, **where)["value"]


def long_table(documents):
    """A frame of doc_id, path and value."""
    cells = [(name, key, text) for name, form in documents.items() for key, text in form.items()]
    return pl.DataFrame(cells, ["doc_id", "path", "value"], orient="row")


def json_lines(file, documents):
    text = (json.dumps({"doc_id": name} | fields) + "\n" for name, fields in documents.items())
    file.write_text("".join(text), "utf-8")
    return file


def json_folder(folder, documents):
    folder.mkdir(exist_ok=True, parents=True)
    for name, fields in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(fields), "utf-8")
    return folder
