"""Errors: a user's mistake is one line that says what and where; what can be read is read."""

import itertools
import json
import re
import shlex
import shutil
import sys

import polars as pl
import pytest

import formlab
from formlab.errors import FormlabError
from tests.contract.doors import GOLD, SCORE, WORDS, cli, json_folder, json_lines, long_table, row


def mistake(*arguments):
    """The line of an error: exit code 2, nothing printed, nothing that a terminal would obey."""
    out, err = cli(*arguments, code=2)
    assert out == "" and err.replace("\n", "").isprintable()
    (line,) = (line for line in err.splitlines() if line.lower().startswith("error: "))
    return line


OURS, ANSWER = (
    "score --gold truth.csv --json --predictions p.jsonl",
    '{"doc_id": "form-1", "total": 1}\n',
)
# A command, what the answers are, and what the line says.
MISTAKES = (
    (OURS, f'{ANSWER}{{"doc_id": \n', r"p\.jsonl:2"),
    (OURS, "", r"p\.jsonl"),
    (OURS, ANSWER * 2, "form-1"),
    (OURS, '{"doc_id": "zzz", "total": "1"}\n', "zzz.*form-1"),
    (f"{OURS} --by subtyp", ANSWER, "'subtype'"),
    ("score fundsd --predictions p.jsonl", ANSWER, "'funsd'"),
    ("run funsd --system orc", ANSWER, "'ocr'"),
    ("score funsd --root /nowhere --predictions p.jsonl", ANSWER, "/nowhere"),
    ("report no_such", ANSWER, "no_such"),
)


def test_e01_to_e06_a_mistake_is_one_line_that_says_where_or_the_nearest_name(work):
    for command, answers, message in MISTAKES:
        (work / "p.jsonl").write_text(answers)
        assert re.search(message, mistake(*command.split())), command


ENTITY = {
    "id": 0,
    "text": "Ada",
    "label": "answer",
    "box": [1, 1, 9, 9],
    "linking": [],
    "words": [],
}
DAMAGES = {"cut off": b'{"a": ', "empty": b"", "latin-1": b'{"a": "\xe9"}', "binary": b"\0\xff\0"}
DAMAGES |= {"deep": b"[" * 300_000, "null": b"null"}
# A benchmark of a file a document, of which that of b is damaged; a file of all documents.
SOURCES = {
    "testing_data/annotations/b.json": ("funsd", {"form": [ENTITY]}),
    "b.json": ("omniai", {"trueJsonOutput": {"a": 1}}),
    "forms/b.json": ("formcraft", {"fields": [{"label": "A", "value": "b"}]}),
    "OCRBench_v2.json": lambda file: formlab.load("ocrbench_v2", root=file.parent),
    **dict.fromkeys(("g.jsonl", "g.parquet", "g.xlsx"), lambda file: formlab.evaluate(file, GOLD)),
    "answers.jsonl": lambda file: formlab.evaluate(GOLD, file),
    **dict.fromkeys(("log.eval", "log.jsonl"), formlab.open_log),
}


def test_e07_a_damaged_file_is_one_error_that_names_it_or_its_document_is_counted(tmp_path):
    offenders = []
    for number, (name, damage) in enumerate(itertools.product(SOURCES, DAMAGES)):
        source, root = SOURCES[name], tmp_path / str(number)
        forms = {} if callable(source) else dict.fromkeys("ab", source[1])
        json_folder((root / name).parent, forms)
        (root / name).write_bytes(DAMAGES[damage])
        try:
            corpus = source(root / name) if callable(source) else formlab.load(source[0], root=root)
            counts = [count for flaw, count in corpus.flaws.items() if "unreadable" in flaw]
            read = (corpus.documents["doc_id"].to_list(), list(corpus.unreadable), counts)
            fine = forms and read == (["a"], [name], [1])
        except Exception as error:
            fine = isinstance(error, FormlabError) and not forms and name in str(error)
        offenders += [] if fine else [(name, damage)]
    assert offenders == []


WRITING = (
    "score --gold truth.csv --predictions first.jsonl",
    "run --gold truth.csv --system rules",
    " ".join([*WORDS["score a log"], "log.csv"]),
    "report 65_own_forms --eval evals/first",
    "arena fill --system oracle --forms A11",
)


def test_e08_where_nothing_can_be_written_a_command_ends_with_one_line(work):
    (work / "log.csv").write_text("id,target,output\na,9,9\n")
    for command, place in itertools.product(WRITING, ("truth.csv", "/proc/x", "n" * 5000)):
        assert place[:40] in mistake(*command.split(), "--out", place)


def test_e09_no_control_character_of_a_name_or_a_value_reaches_the_terminal(work):
    evil = "\x1b[31m\x9b31m\x07"
    for arguments in ([evil], [*SCORE, evil], ["score", evil, "--predictions", "first.jsonl"]):
        assert "31m" in mistake(*arguments)
    forms = long_table({evil: {"name": evil, "kind": evil}})
    forms.with_columns(scanner=pl.lit(evil)).write_csv("evil.csv")
    asked = ["score", "--gold", "evil.csv", "--by", "scanner", "--all", "--predictions"]
    asked.append(json_lines(work / "evil.jsonl", {evil: {"name": f"{evil}a"}}))
    printed = "".join(cli(*asked) + cli(*asked, "--json"))
    assert "31m" in printed and printed.replace("\n", "").isprintable()


def test_e10_an_absent_extra_is_named_with_the_command_that_installs_it(work, monkeypatch):
    for extra, module, system in (("ocr", "rapidocr", "ocr"), ("chat", "openai", "chat:m")):
        monkeypatch.setitem(sys.modules, module, None)
        run = ("run", "--gold", "truth.csv", "--images", ".", "--system", system, "--out", "run")
        assert f"pip install 'formlab[{extra}]'" in mistake(*run)


@pytest.fixture
def funsd(work):
    """Two pages of one field in FUNSD's layout, both answered."""
    json_folder(work / "testing_data/annotations", {n: {"form": [ENTITY]} for n in "ab"})
    json_lines(work / "pages.jsonl", {name: {"text": "Ada"} for name in "ab"})
    return ("score", "funsd", "--root", ".", "--predictions", "pages.jsonl")


def test_e11_an_evaluation_of_an_older_format_says_how_it_is_made_anew(work, funsd):
    cli(*funsd, "--out", "old")
    manifest = work / "old" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 1}))
    lines = (
        mistake("compare", "old", "evals/first"),
        mistake("report", "65_own_forms", "--eval", "old"),
    )
    for line in lines:
        cli("score", *shlex.split(line.partition("formlab score ")[2].replace("FOLDER", "new")))
        assert formlab.open_evaluation("new").documents.height == 2
    # Nor is a table taken that is not the one that was saved.
    shutil.copy("evals/second/cases.parquet", "evals/first/cases.parquet")
    assert "cases.parquet" in mistake("compare", "evals/first", "evals/second")


def test_e12_gold_that_cannot_be_read_is_left_out_counted_and_named(work, funsd):
    (work / "testing_data/annotations/b.json").write_text('{"form": [')
    out, err = cli(*funsd, "--json")
    assert re.search(r"unreadable: 1\n", err) and "b.json:1" in err
    page = row(json.loads(out), "cer", level="page")
    assert (page["value"], page["n_docs"], page["n_missing"]) == (0, 1, 0)
