"""Errors: a user's mistake is one line that says what and where; what can be read is read."""

import itertools
import json
import re
import shutil
import sys

import formlab
from formlab.errors import FormlabError
from tests.contract.doors import GOLD, WORDS, cli, json_folder, json_lines, row


def mistake(*arguments):
    """The line of an error: exit code 2, nothing printed, nothing that a terminal would obey."""
    out, err = cli(*arguments, code=2)
    assert (out, err.replace("\n", "").isprintable()) == ("", True)
    (line,) = (line for line in err.splitlines() if line.lower().startswith("error: "))
    return line


EVIL, RUN = "\x1b[31m\x9b31m\x07", "run truth.csv --system"
OURS, LINE = "score truth.csv --predictions p.jsonl", '{"doc_id": "form-1", "total": 1}\n'
WRITING = (OURS, f"{RUN} rules", "report 65_own_forms --eval evals/first")
WRITING += ("arena fill --system oracle --forms A11", " ".join([*WORDS["score a log"], "log.csv"]))
PLACES = ("truth.csv", "/proc/x", "n" * 5000)
# A command, what the line says, and the answers.
MISTAKES = [
    (OURS, r"p\.jsonl:2", LINE + '{"doc_id": \n'),
    (OURS, r"p\.jsonl", ""),
    (OURS, "form-1", LINE * 2),
    (OURS, "zzz.*form-1", LINE.replace("form-1", "zzz")),
    (f"{OURS} --by subtyp", "'subtype'", LINE),
    (f"{OURS} --types t.yml", "Try: '/total'", LINE),
    ("score fundsd --predictions p.jsonl", "'funsd'", LINE),
    ("score funsd --root /nowhere --predictions p.jsonl", "/nowhere", LINE),
    ("run funsd --system orc", "'ocr'", LINE),
    ("report no_such", "no_such", LINE),
    *((f"{command} --out {place}", place[:40], LINE) for command in WRITING for place in PLACES),
    *((command, "31m", LINE) for command in (EVIL, f"{OURS} --by {EVIL}", f"{OURS}{EVIL}")),
    (f"{RUN} chat:m --images .", r"pip install 'formlab\[chat\]'", LINE),
    (f"{RUN} trained --images .", r"pip install 'formlab\[train\]'", LINE),
    ("compare evals/second evals/first", "formlab score .*--predictions", LINE),
    ("report 65_own_forms --eval evals/second", "formlab score .*--predictions", LINE),
    ("compare evals/first evals/first", r"cases/00000\.parquet", LINE),
]


def test_e01_to_e11_a_mistake_is_one_line_that_says_what_and_where(work, monkeypatch):
    (work / "log.csv").write_text("id,target,output\na,9,9\n")
    (work / "t.yml").write_text("totl: money\n")
    for absent in ("openai", "sklearn"):
        monkeypatch.setitem(sys.modules, absent, None)
    # One evaluation has a table of another, which has the format of an older version.
    shutil.copy("evals/second/cases/00000.parquet", "evals/first/cases/00000.parquet")
    manifest = work / "evals/second/manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {"format": 1}))
    for command, message, answers in MISTAKES:
        (work / "p.jsonl").write_text(answers)
        assert re.search(message, mistake(*command.split())), command


def test_e09_no_control_character_of_a_value_reaches_the_terminal(work):
    (work / "evil.csv").write_text(f"doc_id,path,value,scanner\n{EVIL},name,{EVIL},{EVIL}\n")
    json_lines(work / "p.jsonl", {EVIL: {"name": f"{EVIL}a"}})
    asked = ("score", "evil.csv", "--predictions", "p.jsonl", "--by", "scanner", "--all")
    printed = "".join(cli(*asked) + cli(*asked, "--json"))
    assert "31m" in printed
    assert printed.replace("\n", "").isprintable()


FIELD = {"id": 0, "text": "Ada", "label": "answer", "box": [1, 1, 9, 9], "linking": [], "words": []}
DAMAGES = (b'{"a": ', b"", b'{"a": "\xe9"}', b"\0\xff\0", b"[" * 300_000, b"null")
# A benchmark of a file a document, of which that of b is damaged; a file of all documents.
SOURCES = {
    "testing_data/annotations/b.json": ("funsd", {"form": [FIELD]}),
    "key/b.json": ("sroie", {"total": "9.00"}),
    "forms/b.json": ("formcraft", {"fields": [{"label": "A", "value": "b"}]}),
    "OCRBench_v2.json": lambda file: formlab.load("ocrbench_v2", root=file.parent),
    **dict.fromkeys(("g.jsonl", "g.parquet", "g.xlsx"), lambda file: formlab.evaluate(file, GOLD)),
    "answers.jsonl": lambda file: formlab.evaluate(GOLD, file),
    **dict.fromkeys(("log.eval", "log.jsonl"), formlab.open_log),
}


def test_e07_a_damaged_file_is_one_error_that_names_it_or_its_document_is_counted(tmp_path):
    offenders = []
    for number, (name, damage) in enumerate(itertools.product(SOURCES, DAMAGES)):
        root, source = tmp_path / str(number), SOURCES[name]
        benchmark, form = (None, None) if callable(source) else source
        json_folder((root / name).parent, {"a": form, "b": form})
        (root / name).write_bytes(damage)
        try:
            corpus = formlab.load(benchmark, root=root) if benchmark else source(root / name)
            counts = [count for flaw, count in corpus.flaws.items() if "unreadable" in flaw]
            fine = (*corpus.documents["doc_id"], *corpus.unreadable, *counts) == ("a", name, 1)
        except FormlabError as error:
            fine = not benchmark and name in str(error)
        offenders += [] if fine else [(name, damage[:9])]
    assert offenders == []


def test_e12_gold_that_cannot_be_read_is_left_out_counted_and_named(work):
    pages = json_folder(work / "testing_data/annotations", {"a": {"form": [FIELD]}})
    (pages / "b.json").write_text('{"form": [')
    json_lines(work / "p.jsonl", {name: {"text": "Ada"} for name in "ab"})
    out, err = cli("score", "funsd", "--root", ".", "--predictions", "p.jsonl", "--json")
    assert re.search(r"unreadable: 1\n(.*\n)*.*b\.json:1", err)
    page = row(json.loads(out), "cer", level="page")
    assert (page["value"], page["n_docs"], page["n_missing"]) == (0, 1, 0)
