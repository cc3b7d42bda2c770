import polars as pl
import pytest

from formlab import analysis, benchmarks, charts, tables
from formlab.systems import chat
from formlab.tables import Predictions
from tests.systems.scripted_server import serving

FORM = '{"fields": [{"label": "Name", "value": "Ada"}]}'
STEPS = (FORM, f"Here: {FORM}", "no form", "refused", "truncated", "too_large", FORM, "{}")


@pytest.fixture(scope="module")
def evaluation(tmp_path_factory):
    """Eight forms: two answers valid, two without a form in them, one of each other status."""
    patch = pytest.MonkeyPatch()
    patch.setenv("FORMLAB_REPORT", "1")
    patch.delenv("OPENAI_API_KEY", raising=False)
    corpus = benchmarks.load("formcraft")
    with serving(*STEPS) as server, patch.context():
        settings = {"base_url": server.url, "tasks": "extraction", "concurrency": 1}
        settings |= {"attempts": 1}
        made = chat.system("chat:m").run(
            corpus, out=tmp_path_factory.mktemp("run"), settings=settings, limit=8
        )
    patch.undo()
    return analysis.evaluate(corpus, made)


def test_answers_are_counted_by_what_became_of_them(evaluation):
    counts = charts.answer_counts(evaluation)
    assert dict(counts.select("status", "answers").rows()) == {
        "ok": 2, "repaired": 1, "bad_json": 2, "refused": 1, "truncated": 1, "api_error": 1,
    }  # fmt: skip
    assert counts["share"].sum() == pytest.approx(1)
    assert set(counts["task"]) == {"layout"}


def test_the_table_has_a_column_for_each_status_that_occurs(evaluation):
    (row,) = charts.answer_table(evaluation).frame.to_dicts()
    assert (row["questions"], row["valid"], row["valid after repair"], row["refused"]) == (
        8,
        2,
        1,
        1,
    )
    assert row["usable"] == pytest.approx(3 / 8)
    assert "missing" not in row
    figure, _, table = charts.answer_figures(evaluation)
    assert (figure.label, table.frame.height) == ("Figure", 1)


def test_bars_have_the_shares_and_say_them_in_words(evaluation):
    chart = charts.answer_bars(evaluation).to_dict()
    (rows,) = chart["datasets"].values()
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert "layout: 2 valid" in chart["description"]
    colours = chart["encoding"]["color"]["scale"]
    assert len(colours["domain"]) == len(set(colours["range"])) == 6


def test_several_systems_stand_beside_each_other(evaluation):
    other = evaluation.scores.with_columns(system=pl.lit("other"))
    both = [evaluation, type(evaluation)(**vars(evaluation) | {"scores": other})]
    assert charts.answer_counts(both)["system"].n_unique() == 2
    assert "other · layout" in charts.answer_bars(both).to_dict()["description"]


def test_where_no_model_was_asked_a_note_says_so(evaluation):
    corpus = benchmarks.load("formcraft")
    read = Predictions(
        records=corpus.records.with_columns(role=pl.lit("prediction"), system=pl.lit("s")),
        responses=tables.table("responses", []), system="s",
    )  # fmt: skip
    silent = analysis.evaluate(corpus, read)
    assert not charts.answer_counts(silent).height
    assert "No model was asked" in str(charts.answer_table(silent))
    assert "No model was asked" in str(charts.answer_bars(silent))
    assert [part.label for part in charts.answer_figures(silent)] == ["Note"]


def test_one_system_on_two_benchmarks_has_a_bar_for_each(evaluation):
    other = evaluation.scores.with_columns(benchmark=pl.lit("vrdu"))
    both = [evaluation, type(evaluation)(**vars(evaluation) | {"scores": other})]
    chart = charts.answer_bars(both).to_dict()
    rows = pl.DataFrame(next(iter(chart["datasets"].values())))
    # Shares of one bar are shares of one whole; those of two would run to 200 %.
    assert (rows.group_by("row").agg(pl.col("share").sum())["share"] - 1).abs().max() < 1e-9
    assert rows["row"].str.contains("vrdu · ").any()
    assert chart["encoding"]["x"]["scale"]["domain"] == [0, 1]
