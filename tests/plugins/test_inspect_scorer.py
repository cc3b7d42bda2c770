"""formlab's scoring inside of Inspect: the same numbers as `formlab score LOG` makes of the log."""

import importlib.util
import sys
from pathlib import Path

import polars as pl
import pytest

import formlab
from formlab.errors import NotAvailable, UnknownName

sys.path.append(str(Path(__file__).parents[2] / "docs" / "plugins"))
from inspect_scorer import METRICS, inspect_scorer

ABSENT = importlib.util.find_spec("inspect_ai") is None
needs_inspect = pytest.mark.skipif(
    ABSENT, reason="inspect_ai is not installed: pip install 'formlab[inspect]'"
)
TYPES = {"total": "money", "date": "date", "answer": "text"}
# Target and answer of each sample; an error is what the solver raises.
CASES = {
    "same": ('{"total": "9.00", "date": "2024-05-01"}', '{"total": "9.00", "date": "2024-05-01"}'),
    "typed": ('{"total": "9.00", "date": "2024-05-01"}', '{"total": "$9", "date": "1 May 2024"}'),
    "half": ('{"total": "12.50", "date": "2024-06-02"}', '{"total": "12.80", "note": "x"}'),
    "plain": ("Ada Berg", "ada  berg"),
    "prose": ('{"total": "7"}', "I cannot read this."),
    "deep": ('{"total": "7"}', "[" * 5000),
    "cut": ("Ada Berg", ("Ada", "max_tokens")),
    "failed": ("Ada Berg", RuntimeError("the server closed the connection")),
    "scan_7/total": ("7.00", "7.00"),
    "scan_7/date": ("2024-05-01", "01.05.2024"),
}


def task(cases, **options):
    """A task of Inspect whose model answers as the cases say."""
    from inspect_ai import Task
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.solver import solver

    @solver
    def answers():
        async def solve(state, generate):
            answer = cases[state.sample_id][1]
            if isinstance(answer, Exception):
                raise answer
            text, stop = answer if isinstance(answer, tuple) else (answer, "stop")
            state.output = ModelOutput.from_content("mockllm/model", text, stop_reason=stop)
            return state

        return solve

    samples = []
    for name, (target, _) in cases.items():
        document, _, field = name.partition("/")
        place = {"doc_id": document, "path": f"/{field}"} if field else {}
        samples.append(Sample(id=name, input="?", target=target, metadata={"hand": "a"} | place))
    return Task(
        dataset=MemoryDataset(samples, name="forms"), solver=answers(),
        fail_on_error=False, **options,
    )  # fmt: skip


def run(cases, folder, scorer, **options):
    import inspect_ai

    (log,) = inspect_ai.eval(
        task(cases, scorer=scorer, **options), model="mockllm/model", log_dir=str(folder),
        display="none", log_level="error",
    )  # fmt: skip
    assert log.status == "success", log.error
    return log


def summary(evaluation, average="pooled"):
    rows = formlab.summarise(evaluation, by=(), average=average, resamples=0)
    rows = rows.filter(pl.col("slice_by").is_null(), level="field")
    return dict(rows.select("metric", "value").iter_rows())


@needs_inspect
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("types", "average"), [(TYPES, "pooled"), (None, "macro")])
def test_results_are_those_of_formlab_open(tmp_path, types, average):
    metrics = [*METRICS, "cer"]
    scorer = inspect_scorer(types, metrics, average)
    log = run(CASES, tmp_path, scorer, score_on_error=True)
    expected = summary(formlab.open_log(log.location, types=types), average)
    results = {name: metric.value for name, metric in log.results.scores[0].metrics.items()}
    assert list(results) == metrics
    assert results == pytest.approx({name: expected[name] for name in metrics}, nan_ok=True)
    # Three whole objects and ten values: the 9.00 of `typed` is right when parsed, and so on.
    assert 0 < results["exact_accuracy"] < results["normalised_accuracy"]
    assert results["normalised_accuracy"] < results["typed_accuracy"] < 1
    by_name = {sample.id: sample.scores["formlab"] for sample in log.samples}
    if types:
        assert by_name["typed"].value == dict(zip(metrics, (0, 0, 1, 1, 1, 1), strict=True))
        lines = by_name["half"].explanation.splitlines()
        assert lines[0] == "1 mismatch, 1 missing, 1 spurious of 3 fields"
        assert lines[1].startswith("/total: '12.50', answered '12.80' (")


def test_a_metric_that_is_unknown_is_an_error_with_the_nearest():
    with pytest.raises((UnknownName, NotAvailable), match="'exact_acuracy'|inspect"):
        inspect_scorer(metrics=["exact_acuracy"])


@pytest.mark.skipif(not ABSENT, reason="inspect_ai is installed")
def test_without_inspect_the_error_names_the_command_of_pip():
    with pytest.raises(NotAvailable, match=r"pip install 'formlab\[inspect\]'"):
        inspect_scorer()
