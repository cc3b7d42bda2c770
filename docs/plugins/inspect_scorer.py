"""formlab's scoring inside of Inspect: copy this file beside your task and import it there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec
import polars as pl

from formlab import metrics as registry
from formlab import resources
from formlab.analysis.summarise import summarise
from formlab.errors import UnknownName
from formlab.folders import Evaluation
from formlab.readers import Source, logs
from formlab.readers.harnesses import inspect_sample
from formlab.readers.samples import runs_of, sample_rows
from formlab.readers.types import FieldTypes

__all__ = ["inspect_scorer"]

# The first is the one that `formlab score LOG` sets beside its own.
METRICS = ("normalised_accuracy", "exact_accuracy", "typed_accuracy", "fuzzy_accuracy", "match_f1")
# What of a sample's metadata formlab reads.
_PLACE = ("doc_id", "path")
# How many wrong values an explanation names.
_NAMED = 10


def inspect_scorer(
    types: str | Path | Mapping[str, Any] | None = None,
    metrics: Sequence[str] = METRICS,
    average: str = registry.POOLED,
) -> Any:
    """A scorer of Inspect, for ``Task(scorer=…)``, that judges answers as `formlab.open_log` does.

    A target that is a JSON object asks for its fields, and the answer is read as JSON; any other
    target is one value. A sample's value is a dict of `metrics` over its own fields; the results
    are those of `formlab.summarise` over all samples, an average over epochs. Samples of one
    document may name it and their field as `doc_id` and `path` in their metadata.

    Inspect shows no scorer the samples that failed, unless the task sets ``score_on_error``;
    `formlab score LOG` counts them as nothing found.

    Raises `NotAvailable` without `inspect_ai`; `UnknownName` if there is no such metric, or none of
    fields.

    `types`: a file or dict of types, as for `FieldTypes.read`; if left out they are inferred, for a
    sample's own value from its own target, for the results from all. `metrics`: names of metrics of
    fields; `average`: ``pooled`` or ``macro``, the mean over documents.

    Examples
    --------
    >>> from inspect_ai import Task  # doctest: +SKIP
    >>> Task(dataset=forms, scorer=inspect_scorer("types.yaml"))  # doctest: +SKIP
    """
    resources.need("inspect")
    from inspect_ai.scorer import Score, metric, scorer

    declared = None if types is None else msgspec.to_builtins(FieldTypes.read(types).fields)
    names = [registry.get(name).name for name in metrics]

    @metric(name="formlab", scores="unreduced")
    def over_all(types: dict[str, Any] | None, metrics: list[str], average: str) -> Any:
        def results(scores: Sequence[Any]) -> dict[str, float]:
            samples = [sample.score.metadata["formlab"] for sample in scores]
            epochs = [_values(of, metrics, average) for of in _evaluations(samples, types)]
            return {name: fmean(epoch[name] for epoch in epochs) for name in metrics}

        return results

    @scorer(metrics=[over_all(declared, names, average)], name="formlab")
    def fields_right(types: dict[str, Any] | None, metrics: list[str], average: str) -> Any:
        async def score(state: Any, target: Any) -> Any:
            sample = _sample(state, target)
            (evaluation,) = _evaluations([sample], types)
            return Score(
                value=_values(evaluation, metrics, average),
                answer=state.output.completion,
                explanation=_explained(evaluation),
                metadata={"formlab": sample},
            )

        return score

    return fields_right(declared, names, average)


def _sample(state: Any, target: Any) -> dict[str, Any]:
    """What formlab reads of a sample, as it stands in Inspect's logs."""
    output, texts = state.output, list(target)
    choices = [{"stop_reason": choice.stop_reason} for choice in output.choices[:1]]
    return {
        "id": state.sample_id,
        "epoch": state.epoch,
        "target": texts[0] if len(texts) == 1 else texts,
        "metadata": {name: state.metadata[name] for name in _PLACE if name in state.metadata},
        "output": {"completion": output.completion, "choices": choices},
    }


def _evaluations(samples: Sequence[dict[str, Any]], types: Any) -> list[Evaluation]:
    """An evaluation for each epoch."""
    source = Source(Path("samples"))
    rows = sample_rows(source, "samples", enumerate(samples), inspect_sample)
    return [logs.evaluation(run, None, types=types) for run in runs_of(rows, source)]


def _values(evaluation: Evaluation, metrics: Sequence[str], average: str) -> dict[str, float]:
    rows = summarise(evaluation, by=(), average=average, resamples=0)
    rows = rows.filter(pl.col("slice_by").is_null(), level="field")
    values = dict(rows.select("metric", "value").iter_rows())
    if unknown := [name for name in metrics if name not in values]:
        raise UnknownName.of("metric of fields", unknown[0], values)
    return {name: values[name] for name in metrics}


def _explained(evaluation: Evaluation) -> str:
    """The fields that are wrong, with what was read and why it is wrong."""
    wrong = evaluation.fields.filter(pl.col("outcome").is_in(["mismatch", "missing", "spurious"]))
    if not wrong.height:
        return "all right"
    counts = ", ".join(f"{n} {outcome}" for outcome, n in Counter(wrong["outcome"]).most_common())
    lines = [
        f"{row['path']}: {row['gold']!r}, answered {row['pred']!r} ({row['cause']})"
        for row in wrong.head(_NAMED).iter_rows(named=True)
    ]
    return "\n".join([f"{counts} of {evaluation.fields.height} fields", *lines])
