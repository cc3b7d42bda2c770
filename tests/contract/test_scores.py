"""Scores: the number of a hand count, the settings beside it, and no document lost."""

import random
from pathlib import Path

import polars as pl
import pytest

import formlab
from tests.contract import doors
from tests.contract.doors import FIRST, GOLD, SCORE, json_folder, json_lines, row, rows, value

DATA = Path(__file__).parent / "data"


def expect(table, **numbers):
    for metric, number in numbers.items():
        assert value(table, metric) == pytest.approx(number, abs=1e-9), metric


def summary(gold, answers):
    return formlab.summarise(formlab.evaluate(gold, answers), resamples=0).to_dicts()


def score(benchmark, answers, folder, *options):
    """Scores of answers to the forms of a benchmark in `data`, and their cases."""
    options = ("--predictions", answers, "--out", folder, "--resamples", 0, *options)
    table = rows("score", benchmark, "--root", DATA / benchmark, "--all", *options)
    return table, formlab.open_evaluation(folder).cases.drop_nulls("path")


def test_s01_scores_equal_a_hand_count_and_carry_their_settings(work):
    table = rows(*SCORE, "first.jsonl")
    # 4 of 6 values are right. 11 + 10 edits of the dates, 1 of the name and 1 of the total, over
    # 25 and 29 characters.
    expect(table, match_f1=4 / 6, cer=23 / 54)
    assert value(table, "cer", "macro") == pytest.approx((11 / 25 + 12 / 29) / 2, abs=1e-9)
    settings = [entry["settings"] for entry in table]
    assert all(entry["rules"] and entry["interval"] for entry in settings)
    assert all(entry["mode"] for entry in table)
    expect(summary("truth.csv", "truth.csv"), match_f1=1, exact_accuracy=1, cer=0)


def test_s02_every_case_has_outcome_cause_and_the_lines_it_comes_from(work):
    cases = formlab.open_evaluation("evals/first").cases.drop_nulls("path").sort("doc_id", "path")
    assert cases.select("path", "outcome", "cause", "gold_origin", "pred_origin").rows() == [
        ("/date", "match", "date_format", "truth.csv:3", "first.jsonl:1"),
        ("/name", "match", None, "truth.csv:2", "first.jsonl:1"),
        ("/total", "match", None, "truth.csv:4", "first.jsonl:1"),
        ("/date", "match", "date_format", "truth.csv:6", "first.jsonl:2"),
        ("/name", "mismatch", "characters", "truth.csv:5", "first.jsonl:2"),
        ("/total", "mismatch", "lost_separator", "truth.csv:7", "first.jsonl:2"),
    ]


def test_s03_a_document_without_an_answer_stays_and_counts_as_missing(work):
    half = json_lines(work / "half.jsonl", {"form-1": GOLD["form-1"]})
    table = rows(*SCORE, half)
    # 3 of 6 values are found, and nothing is wrong.
    expect(table, match_recall=0.5, match_precision=1)
    cer = row(table, "cer")
    assert [cer[name] for name in ("n_docs", "n_cases", "n_missing")] == [2, 6, 3]
    alone = rows(*SCORE, half, "--documents", "answered")
    expect(alone, match_recall=1)
    assert alone[0]["settings"]["documents"].startswith("answered: 1 of 2")


def test_s04_undefined_is_null_with_a_count_and_never_zero(work):
    # BLEU needs four words, and no field of the forms has them.
    bleu = row(rows(*SCORE, "first.jsonl"), "bleu")
    assert (bleu["value"], bleu["n_undefined"]) == (None, 6)
    # One of six words is wrong: 5/6, 3/5, 2/4 and 1/3 of the n-grams are right.
    six_words = summary({"a": {"x": "a b c d e f"}}, {"a": {"x": "a b c d x f"}})
    expect(six_words, bleu=(1 / 12) ** (1 / 4))
    empty = row(summary({"a": {"x": ""}}, {"a": {"x": ""}}), "cer")
    assert (str(empty["value"]), empty["n_undefined"]) == ("nan", 1)


def test_s05_whatever_form_the_answers_have_the_scores_are_the_same(tmp_path):
    table = doors.long_table(FIRST)
    table.write_parquet(tmp_path / "a.parquet")
    table.to_pandas().to_excel(tmp_path / "a.xlsx", index=False)
    (tmp_path / "a.csv").write_text(table.write_csv(separator=";"), "utf-16")
    files = [tmp_path / f"a.{ending}" for ending in ("parquet", "xlsx", "csv")]
    files += [json_lines(tmp_path / "a.jsonl", FIRST), json_folder(tmp_path / "a", FIRST)]
    for answers in (*files, FIRST, table.lazy(), table.to_pandas()):
        expect(summary(GOLD, answers), cer=23 / 54)
    nested = ({name: {"bills": [form]} for name, form in side.items()} for side in (GOLD, FIRST))
    expect(summary(*nested), cer=23 / 54)


def test_s06_order_and_workers_change_no_number(tmp_path):
    rng = random.Random(0)
    gold = {f"d{n}": {"a": f"{rng.random():.6f}", "b": f"Ada {n}"} for n in range(40)}
    answers = {d: {key: v.replace("7", "1") for key, v in f.items()} for d, f in gold.items()}
    command = ("score", json_lines(tmp_path / "gold.jsonl", gold), "--predictions")
    file = json_lines(tmp_path / "a.jsonl", answers)
    backwards = json_lines(tmp_path / "b.jsonl", dict(reversed(answers.items())))
    first = rows(*command, file)
    for other in (rows(*command, backwards), rows(*command, file, "--workers", 2)):
        for column in ("value", "ci_low", "ci_high"):
            numbers = [entry[column] for entry in first]
            assert [entry[column] for entry in other] == pytest.approx(numbers, abs=1e-9)


def test_s07_funsd_pages_of_text_are_scored_by_page(tmp_path):
    table, _ = score("funsd", DATA / "answers" / "funsd_pages.jsonl", tmp_path)
    page = row(table, "cer", level="page")
    # "Fax: 123" is right, the other page missing: 10 edits over 8 + 10 characters.
    assert page["value"] == pytest.approx(10 / 18, abs=1e-9)
    assert (page["n_docs"], page["n_missing"]) == (2, 1)


def test_s08_the_rule_that_gives_words_to_fields_is_said_and_changes_scores(tmp_path):
    # "Fax:123" has its centre in the field of "Fax:": 3 edits there, and "123" misses its 3. The
    # other word lies in its field by 30 %: enough where no field has its centre (25 %), too little
    # for `overlap` (50 %: 10 edits); `cut` gives the field its last 3 characters (7 edits).
    for rule, edits in {"centre": 6 + 0, "overlap": 6 + 10, "cut": 0 + 7}.items():
        file = DATA / "answers" / "funsd_words.jsonl"
        table, cases = score("funsd", file, tmp_path / rule, "--reader", rule)
        expect(table, cer=edits / 17)
        assert row(table, "cer")["settings"]["read"].startswith(rule)
        assert cases["cause"].to_list() == ["reader"] * 3


def test_s09_vrdu_official_scores_equal_the_hand_count(tmp_path):
    # who is right by its second form, and the later Bea is dropped. An ISO date is not read. Of
    # the items, (5) loses its sign and is right; the other has its parts in another order. So 2 are
    # right of 4 in the gold and of 5 answers: who, day, tag and two items.
    table, _ = score("vrdu", DATA / "answers" / "vrdu", tmp_path, "--mode", "official")
    expect(table, micro_recall=2 / 4, micro_precision=2 / 5, micro_f1=4 / 9)
    # who 1, day 0, tag 0 although no gold has it, items 2/4.
    expect(table, macro_f1=1.5 / 4)


def test_s10_vrdu_fixed_scores_equal_the_hand_count_and_say_what_changed(tmp_path):
    # The date is read; (5) is one wrong part of two, its item counts half; order does not count:
    # 3.5 of 4 and of 5. Without tag, macro F1 is over who 1, day 1 and items 1.5/2.
    table, _ = score("vrdu", DATA / "answers" / "vrdu", tmp_path, "--mode", "fixed")
    expect(table, micro_recall=3.5 / 4, micro_precision=3.5 / 5, micro_f1=7 / 9, macro_f1=2.75 / 3)
    changed = formlab.analysis.changed_entities([formlab.open_evaluation(tmp_path)])
    changed = changed.drop_nulls("path").select("path", "official", "fixed").rows()
    assert changed == [("/day", 0, 1), ("/line_item/0", 1, 0.5), ("/line_item/1", 0, 1)]


def score_facts(folder, mode, **pages):
    """Scores where the pages `p0` and `p1` are read as these texts."""
    pages = {name[1:]: {"text": text} for name, text in pages.items()}
    file = json_lines(folder / "pages.jsonl", pages)
    return score("fincriticaled", file, folder / mode, "--mode", mode)[0]


def test_s11_facts_of_an_unanswered_page_are_missing(tmp_path):
    # 4,310 and 5 are right, (1,200) lost its sign, the date is missing; nothing of the other page.
    text = "Net sales 4,310\nCosts 1,200\nFiled in the year 2015, page 5"
    table = score_facts(tmp_path, "fixed", p0=text)
    expect(table, fact_accuracy=2 / 8, fact_accuracy_of_found=2 / 3, fact_missing_rate=5 / 8)


def test_s12_a_fact_inside_another_number_or_in_another_row_counts_officially_alone(tmp_path):
    # Page 0: the 5 of 2015. Page 1: all four facts, two of them in each other's rows.
    text = "Net sales (1,200)\nCosts 4,310\nFiled on March 24, 2025 in the year 2015, page 5"
    for mode, right in {"fixed": 0 + 2, "official": 1 + 4}.items():
        table = score_facts(tmp_path, mode, p0="in the year 2015", p1=text)
        expect(table, fact_accuracy=right / 8)


def test_s13_a_tree_edit_distance_is_the_sum_of_its_script(tmp_path):
    table, cases = score("formcraft", DATA / "answers" / "formcraft", tmp_path)
    # An edit at depth d costs 1 / (1 + d). A field at depth 2 is renamed: 1/3. The group Address
    # (2) with its field (3) is deleted in one place and inserted in another: 2/3 + 2/4. Two groups,
    # seven fields, Address and Town weigh 2/2 + 8/3 + 1/4.
    expect(table, tree_edit_distance=3 / 2, tree_similarity=1 - 3 / 2 / (2 * 47 / 12))
    script = cases.filter(pl.col("subtype").is_in(["renamed", "moved"]))
    assert script.select("pred_path", "subtype").rows() == [
        ("/Person/Full name", "renamed"),
        ("/Person/Address", "moved"),
        ("/Person/Address/Town", "moved"),
    ]


def test_s14_marks_are_counted_one_by_one(tmp_path):
    table, _ = score("formcraft", DATA / "answers" / "formcraft", tmp_path)
    # ☑ read as x: right. ☐ read as x: one given, none wanted. x read as ☐: one missed. Tea and Milk
    # are ringed, and Milk, Jam and Rusk are given.
    expect(table, mark_precision=2 / 5, mark_recall=2 / 4, mark_f1=4 / 9)


def test_s15_day_and_month_are_one_date_only_where_the_document_says_so():
    # Other date of the form, values right, dates that may be either.
    for other, right, ambiguous in (({}, 0, 1), ({"x": "31/12/2019"}, 2, 0)):
        gold, answers = ({"a": {"date": d} | other} for d in ("05/06/2020", "5 June 2020"))
        typed = row(summary(gold, answers), "typed_accuracy")
        assert typed["value"] * typed["n_cases"] == right
        assert typed["n_ambiguous"] == ambiguous
    gold, answers = ({"a": {"date": d, "x": "12/31/2019"}} for d in ("05/06/2020", "5 June 2020"))
    expect(summary(gold, answers), typed_accuracy=1 / 2)


def test_s16_what_is_right_follows_the_rules_of_a_types_file(tmp_path):
    file = DATA / "verdicts.csv"
    command = ("score", file, "--predictions", file, "--types", DATA / "types.yml")
    columns = ("--columns", "gold=gold,prediction=answer")
    table = rows(*command, *columns, "--out", tmp_path / "out")
    cases = formlab.open_evaluation(tmp_path / "out").cases.drop_nulls("path")
    verdicts = pl.read_csv(file).select("/" + pl.col("path"), "verdict")
    assert dict(cases.select("path", "outcome").rows()) == dict(verdicts.rows())
    # Equal as they stand, but for case, spaces, quotes and dashes, and as numbers.
    expect(table, exact_accuracy=1 / 13, normalised_accuracy=3 / 13, typed_accuracy=4 / 13)
