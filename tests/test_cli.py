import json
import re

import pytest

from formlab import benchmarks
from formlab.tables import slice_name

from . import made_arena


@pytest.fixture
def pages(tmp_path):
    file = tmp_path / "pages.jsonl"
    file.write_text('{"doc_id": "a", "text": "Name: Ada Berg"}\n')
    return file


def test_score_prints_summary_rows_with_intervals(formlab, funsd_root, pages, tmp_path):
    out = tmp_path / "e"
    result = formlab(
        "score", "funsd", "--root", funsd_root, "--predictions", pages, "--json", "--out", out
    )
    assert result.exit_code == 0
    rows = {(row["metric"], slice_name(row)): row for row in json.loads(result.stdout)}
    assert {"cer", "wer", "bleu", "rouge1", "rougeL"} <= {metric for metric, _ in rows}
    cer = rows["cer", "all"]
    # One page right, the other missing: 10 edits over 14 + 10 characters.
    assert cer["value"] == pytest.approx(10 / 24)
    assert (cer["n_docs"], cer["n_missing"]) == (2, 1)
    assert cer["ci_low"] <= cer["value"] <= cer["ci_high"]
    assert {f.name for f in out.iterdir()} == {
        "documents.parquet", "cases.parquet", "scores.parquet", "manifest.json",
        "corpus", "predictions",
    }  # fmt: skip


def test_score_prints_a_table_for_people(formlab, funsd_root, pages):
    asked = ("score", "funsd", "--root", funsd_root, "--predictions", pages)
    main = formlab(*asked)
    assert main.exit_code == 0
    header, *rows = [line.split() for line in main.stdout.splitlines()]
    assert header == ["task", "level", "metric", "value", "ci_low", "ci_high", "n", "missing"]
    # What speaks for a level comes first.
    assert [row[1:3] for row in rows[:3]] == [
        ["page", "cer"], ["page", "wer"], ["field", "normalised_accuracy"],
    ]  # fmt: skip
    assert len(rows) == 10
    everything = formlab(*asked, "--all")
    whole = [line for line in everything.stdout.splitlines()[1:] if "=" not in line.split()[0]]
    hint = f"10 of {len(whole)} scores; --all prints all and slices, --json every column"
    assert hint in main.stderr
    assert "--all" not in everything.stderr
    # Slices that are asked for are shown, of the first metrics only.
    sliced = [line.split() for line in formlab(*asked, "--by", "kind").stdout.splitlines()]
    assert sliced[0][2] == "slice"
    assert {row[3] for row in sliced if row[2].startswith("kind=")} == {"normalised_accuracy"}
    header = everything.stdout.splitlines()[0].split()
    assert header == [
        "slice", "metric", "value", "ci_low", "ci_high", "macro", "docs", "cases", "missing",
        "undefined",
    ]  # fmt: skip


def test_unknown_column_is_one_line_with_the_nearest_name(formlab, funsd_root, pages):
    asked = ("score", "funsd", "--root", funsd_root, "--predictions", pages, "--by", "kin")
    result = formlab(*asked)
    assert result.exit_code == 2
    assert "error: unknown column to slice by 'kin'. Try: 'kind'" in result.stderr


def test_undefined_is_null_in_json_and_never_zero(formlab, funsd_root, tmp_path):
    file = tmp_path / "p.jsonl"
    rows = ('{"doc_id": "a", "path": "/entities/2", "value": ""}', '{"doc_id": "a", "text": "x"}')
    file.write_text("\n".join(rows))
    (funsd_root / "testing_data" / "annotations" / "b.json").write_text('{"form": []}')
    result = formlab("score", "funsd", "--root", funsd_root, "--predictions", file, "--json")
    rows = {(row["metric"], slice_name(row)): row for row in json.loads(result.stdout)}
    assert rows["cer", "kind=answer"]["n_undefined"] == 1
    assert rows["bleu", "all"]["n_undefined"] == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file or folder"),
        ("", "the file is empty"),
        ('{"doc_id": "a", "text": "x"}\n' * 1 + "{}\n" * 5 + '{"doc_id": \n', "p.jsonl:7"),
        ("\n" * 6 + '{"doc_id": \n', "p.jsonl:7"),
        ('{"doc_id": "zzz", "text": "x"}\n', "none of the predictions"),
        ('{"doc_id": "a", "text": "x"}\n' * 2, "two predictions"),
        ('{"doc_id": "a", "text": "\\u001b[31mred", "status": "\\u001b[31m"}\n', "unknown status"),
    ],
)
def test_users_mistake_is_one_line_on_stderr_and_exit_code_two(
    formlab, funsd_root, tmp_path, content, message
):
    file = tmp_path / "p.jsonl"
    if content is not None:
        file.write_text(content)
    result = formlab("score", "funsd", "--root", funsd_root, "--predictions", file, "--json")
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.startswith("error: ")
    assert len(result.stderr.splitlines()) == 1
    assert "\x1b" not in result.stderr


def test_prediction_for_an_unknown_document_is_noted(formlab, funsd_root, pages):
    pages.write_text(pages.read_text() + '{"doc_id": "stranger", "text": "x"}\n')
    result = formlab("score", "funsd", "--root", funsd_root, "--predictions", pages, "--json")
    assert result.exit_code == 0
    assert "note: predicted documents that are not in the corpus: 1" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("score", "fundsd", "--predictions", "x"), "'funsd'"),
        (("score", "funsd", "--root", "/nowhere", "--predictions", "x"), "no files of funsd"),
        (("run", "funsd", "--system", "orc"), "'ocr'"),
        (("run", "funsd", "--system", "ocr", "--set", "scale"), "is not NAME=VALUE"),
        (("report", "no_such_notebook"), "no such file"),
        (("report", "10_content_modality", "-p", "worts=3"), "'worst'"),
    ],
)
def test_unknown_name_says_what_is_known(formlab, arguments, message):
    result = formlab(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr


def test_benchmarks_are_listed_with_splits_and_licence(formlab):
    rows = json.loads(formlab("benchmarks", "--json").stdout)
    funsd = next(row for row in rows if row["name"] == "funsd")
    assert "test (50)" in funsd["splits"]
    assert funsd["licence"]
    assert "funsd" in formlab("benchmarks").stdout


def test_arena_run_is_scored_and_saved(formlab, tmp_path):
    folder = made_arena.run(tmp_path / "run", (made_arena.CLUMSY, {}))
    out = tmp_path / "e"
    result = formlab("arena", "score", folder, "--json", "--out", out, "--by", "kind")
    assert result.exit_code == 0, result.output
    rows = {(row["metric"], slice_name(row)): row for row in json.loads(result.stdout)}
    # Of two lists chosen from, one is right; of three texts, one went where it belongs.
    assert rows["value_placed_accuracy", "kind=dropdown"]["value"] == 1 / 2
    assert rows["value_placed_accuracy", "fields"]["value"] == 2 / 5
    assert (out / "manifest.json").is_file()
    assert "episodes unfinished: 1" in result.stderr


def test_folder_that_is_no_arena_run_is_named(formlab, tmp_path):
    result = formlab("arena", "score", tmp_path)
    assert result.exit_code == 2
    assert "no run of the arena" in result.stderr
    assert "formlab arena fill" in result.stderr


def test_run_of_a_part_is_told_once_and_can_be_scored_alone(formlab, funsd_root, tmp_path):
    where = ("funsd", "--root", funsd_root, "--split", "test")
    run = tmp_path / "run"
    assert formlab("run", *where, "--system", "ocr", "--limit", 1, "--out", run).exit_code == 0
    every = formlab("score", *where, "--predictions", run, "--json")
    assert every.stderr.count("were answered") == 1
    assert every.stderr.splitlines()[0] == (
        "funsd:test: 1 of 2 documents were answered; the rest count as missing "
        "(`--documents answered` scores the 1)"
    )
    alone = formlab(
        "score", *where, "--predictions", run, "--json", "--documents", "answered",
        "--out", tmp_path / "e",
    )  # fmt: skip
    assert alone.stderr.splitlines()[0] == (
        "funsd:test: Scored on 1 of 2 documents (answered)"
    )  # fmt: skip
    # The same gold without the other form.
    (funsd_root / "testing_data" / "annotations" / "b.json").unlink()
    cut = formlab("score", *where, "--predictions", run, "--json")
    assert "answered" not in cut.stderr
    rows = [json.loads(result.stdout) for result in (alone, cut)]
    said = [[row.pop("settings") for row in part] for part in rows]
    assert all((settings["documents"] or "").startswith("answered: 1 of 2") for settings in said[0])
    assert not any(settings["documents"] for settings in said[1])
    assert rows[0] == rows[1]
    # An engine was told nothing: it has followed no instructions.
    assert not {row["metric"] for row in rows[0]} & {"refused_answers", "valid_answers"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such list of documents"),
        ("\n\n", "the list of documents is empty"),
        ("a\n\nbb\n", "unknown document 'bb'"),
    ],
)
def test_list_of_documents_that_is_of_no_use_is_one_line(
    formlab, funsd_root, pages, tmp_path, content, message
):
    file = tmp_path / "list.txt"
    if content is not None:
        file.write_text(content)
    result = formlab(
        "score", "funsd", "--root", funsd_root, "--predictions", pages, "--documents", file
    )
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert "list.txt" in result.stderr
    assert "Try: " in result.stderr


def test_list_of_documents_is_scored_in_each_split_that_has_some(formlab, tmp_path):
    file = tmp_path / "p.jsonl"
    corpora = [benchmarks.load("funsd", split=split) for split in ("train", "test")]
    given = [(corpus.split, corpus.documents["doc_id"][0]) for corpus in corpora]
    file.write_text(
        "".join(
            json.dumps({"doc_id": name, "split": split, "text": "x"}) + "\n"
            for split, name in given
        )
    )
    chosen = tmp_path / "list.txt"
    chosen.write_text(given[1][1] + "\n")
    asked = ("score", "funsd", "--predictions", file, "--documents", chosen, "--json")
    result = formlab(*asked)
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)
    whole = [row for row in rows if row["slice_by"] is None and row["level"] == "page"]
    assert {(row["split"], row["n_docs"]) for row in whole} == {("test", 1)}


def test_arena_run_is_scored_in_part(formlab, tmp_path):
    folder = made_arena.run(tmp_path / "run", (made_arena.CLUMSY, {}), (made_arena.CLUMSY, {}))
    result = formlab("arena", "score", folder, "--json", "--limit", 1)
    assert result.exit_code == 0, result.output
    assert "Scored on 1 of 2 documents (all, the first 1)" in result.stderr
    assert {row["n_docs"] for row in json.loads(result.stdout)} == {1}


def test_score_reads_fields_by_the_rule_named(formlab, funsd_root, tmp_path):
    file = tmp_path / "words.jsonl"
    place = {"task": "layout", "kind": "word", "path": "/ocr/words/0", "page": 1}
    # The word's middle is in the field of `b`, its first and last characters are not.
    place |= {"x0": -140, "y0": 10, "x1": 310, "y1": 30}
    file.write_text(json.dumps({"doc_id": "b", "value": "Total"} | place) + "\n")
    asked = ("score", "funsd", "--root", funsd_root, "--predictions", file, "--json")
    found = {}
    for rule in ("centre", "cut"):
        rows = json.loads(formlab(*asked, "--reader", rule).stdout)
        row = next(r for r in rows if (r["metric"], slice_name(r)) == ("cer", "fields"))
        assert row["settings"]["read"].startswith(rule)
        found[rule] = row["value"]
    assert found["centre"] != found["cut"]
    wrong = formlab(*asked, "--reader", "nearest")
    assert wrong.exit_code == 2
    assert "unknown reading rule 'nearest'" in wrong.stderr


def test_large_own_data_are_scored_piece_by_piece_with_the_same_output(
    formlab, tmp_path, monkeypatch
):
    rows = [f"d{n},{n}.00,Ada {n}" for n in range(12)]
    for name, lines in (
        ("gold", rows),
        ("answers", [row.replace("0,Ada", "1,Eda") for row in rows[:-1]]),
    ):
        (tmp_path / f"{name}.csv").write_text("\n".join(["doc_id,total,name", *lines]) + "\n")
    asked = ("score", "--gold", tmp_path / "gold.csv", "--predictions", tmp_path / "answers.csv")
    asked += ("--resamples", 20)
    for options in (("--json", "--limit", 5), ("--documents", "answered")):
        whole = formlab(*asked, *options)
        with monkeypatch.context() as patch:
            patch.setattr("formlab.scoring.evaluate.SMALL", 0)
            patch.setattr("formlab.benchmarks.BATCH", 9)
            out = tmp_path / "-".join(map(str, options)) / "answers"
            pieces = formlab(*asked, *options, "--out", out)
            alone = formlab(*asked, *options)
        assert whole.exit_code == pieces.exit_code == 0, whole.stderr + pieces.stderr
        assert pieces.stdout == alone.stdout == whole.stdout
        assert set(whole.stderr.splitlines()) <= set(pieces.stderr.splitlines())
        assert len(list((out / "cases").iterdir())) > 1


def test_output_that_cannot_be_written_is_one_line(formlab, tmp_path):
    (tmp_path / "file").touch()
    score = ("score", "--gold", tmp_path / "g.csv", "--predictions", tmp_path / "p.csv")
    for name in ("g.csv", "p.csv"):
        (tmp_path / name).write_text("doc_id,total\na,9\n")
    for command in (
        (*score, "--out", tmp_path / "file"),
        (*score, "--out", "/proc/formlab/e"),
        ("run", "funsd", "--system", "ocr", "--limit", "1", "--out", tmp_path / "file"),
        ("init", tmp_path / "file" / "work"),
        ("report", "--out", tmp_path / "file" / "out", "00_overview"),
    ):
        result = formlab(*command)
        assert result.exit_code == 2, result.output
        lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
        assert len(lines) == 1, result.stderr
        assert str(tmp_path / "file") in lines[0] or "/proc/formlab" in lines[0]


@pytest.mark.parametrize(
    "arguments",
    [("annotate", "check", "NAME"), ("--plugin", "NAME", "benchmarks"),
     ("score", "funsd", "--predictions", "NAME"), ("score", "funsd", "--root", "NAME")],
)  # fmt: skip
def test_name_that_no_file_can_have_is_a_mistake_of_the_user(formlab, arguments):
    result = formlab(*("n" * 5000 if word == "NAME" else word for word in arguments))
    assert result.exit_code == 2
    assert isinstance(result.exception, SystemExit)


@pytest.mark.parametrize("before", [(), ("benchmarks",), ("score", "--")])
def test_no_control_character_of_an_argument_reaches_the_terminal(formlab, before):
    result = formlab(*before, "\x1b[31m\x01", "funsd", "--by=\x1b")
    assert result.exit_code == 2
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", result.stderr)
