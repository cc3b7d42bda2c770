"""Scores without the labels that people found wrong.

Scores are never patched: the gold is changed and everything is scored again. Matching looks at all
values of a document at once, so one label that changes may change what its neighbours match.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import polars as pl

from formlab import decisions as decided
from formlab import metrics, tables
from formlab.analysis.splits import merge_splits
from formlab.analysis.summarise import summarise
from formlab.benchmarks.formfactory import with_value
from formlab.errors import NotAvailable
from formlab.folders import Corpus, Evaluation
from formlab.scoring.evaluate import score_again

NOTE = "verdicts: "
_KEY = ["doc_id", "task", "path"]
_NOWHERE = "on nothing that is there"
_STILL = "labels to be left out that this task's scorer counts nonetheless"
# The label of a fact stands within its page's markup as well, which is never rewritten.
_IN_PAGE = "fact"
# What is to be entered stands beside its place as well. Another option would have another place.
_ENTERED, _OPTIONS = "click", ("checkbox", "radio", "choice")


def resolved_decisions(
    decisions: pl.DataFrame, *, words: Sequence[str] = decided.LABEL_AUDIT
) -> pl.DataFrame:
    """The columns of `decisions.KEY` and `label decision value parts n_reviewers`.

    Only `words` count, `decisions.LABEL_AUDIT` or `decisions.REVIEW`. `decision` is ``disputed``
    where reviewers differ in it, in what is right or in the label judged.
    """
    chosen = decisions.filter(pl.col("decision").is_in(list(words)))
    same = pl.struct("decision", "value", "parts", "label").n_unique() == 1
    return chosen.group_by(decided.KEY, maintain_order=True).agg(
        pl.col("label").first(),
        decision=pl.when(same).then(pl.col("decision").first()).otherwise(pl.lit("disputed")),
        value=pl.when(same).then(pl.col("value").first()),
        parts=pl.when(same).then(pl.col("parts").first()),
        n_reviewers=pl.len().cast(pl.Int64),
    )


def corrected(
    corpus: Corpus, decisions: pl.DataFrame, *, ambiguous: bool = False
) -> tuple[Corpus, Counter[str]]:
    """A corpus without the label errors that verdicts found, and what was done, in counts.

    A label error gets the right value, which is then the only one accepted; without a right value
    the label is no longer scored. So is a fact of a page, for its label is part of the page as
    well, and an option to be clicked, for where the right one stands is not known. Of an entity all
    values in that document are left out together: which prediction was for which of them is not
    known. A verdict on a label that reads otherwise by now, on which reviewers differ or of another
    benchmark or split changes nothing. Labels found `ambiguous` are left out where asked.
    """
    ruled = _ruled(corpus, decisions).select(*_KEY, "label", "decision", right="value")
    gold = corpus.records.join(ruled, on=_KEY, how="left", maintain_order="left", nulls_equal=True)
    fresh = pl.col("label").eq_missing(pl.col("value"))
    error = fresh & (pl.col("decision") == "label_error")
    mended = error & pl.col("right").is_not_null() & (pl.col("task") != _IN_PAGE) & ~_elsewhere()
    out = (error & ~mended) | (fresh & (pl.col("decision") == "ambiguous") & ambiguous)
    entity = pl.when(pl.col("task") == "entity").then(pl.col("path").str.extract("^/([^/]*)"))
    together = out.any().over("doc_id", entity.fill_null(pl.col("path")))
    gold = gold.with_columns(
        judged=pl.col("decision").is_not_null(),
        fresh=fresh,
        mended=mended.fill_null(False),
        out=(together | out).fill_null(False),
    )
    rewritten = pl.col("mended") & (pl.col("task") == _ENTERED)
    metas = [
        with_value(meta, right) if anew else meta
        for meta, right, anew in gold.select("meta", "right", rewritten).iter_rows()
    ]
    records = gold.with_columns(
        pl.Series("meta", metas, dtype=pl.String),
        value=pl.when("mended").then("right").otherwise("value"),
        accepted=pl.when("mended").then(None).otherwise("accepted"),
        status=pl.when("out").then(pl.lit("unscored")).otherwise("status"),
    ).select(corpus.records.columns)
    judged = gold.filter("judged")
    done = Counter[str]()
    done["labels corrected"] = judged["mended"].sum()
    done["labels left out"] = (records["status"] != corpus.records["status"]).sum()
    found = Counter(judged.filter("fresh")["decision"])
    done |= {f"found {name}": found[name] for name in (*decided.LABEL_AUDIT, "disputed")}
    done["on a label that has changed since"] = (~judged["fresh"]).sum()
    done[_NOWHERE] = ruled.height - judged.height
    return dataclasses.replace(corpus, records=records), done


def _ruled(source: Corpus | Evaluation, decisions: pl.DataFrame) -> pl.DataFrame:
    """The verdicts on a benchmark and split, one for each label."""
    here = pl.col("split").is_null() | (pl.col("split") == source.split)
    ruled = resolved_decisions(decisions).filter(pl.col("benchmark") == source.benchmark, here)
    # A verdict on this split is closer than one on every split.
    closest = ruled.sort(pl.col("split").is_null())
    return closest.unique(_KEY, keep="first", maintain_order=True)


def _elsewhere() -> pl.Expr:
    """Whether correcting the label would also change its target box, or is of several boxes."""
    first, second = (pl.col("meta").str.json_path_match(f"$.items[{at}]") for at in (0, 1))
    single = first.is_not_null() & second.is_null()
    options = pl.col("kind").is_in(_OPTIONS).fill_null(False)
    return (pl.col("task") == _ENTERED) & (options | ~single)


def with_label_corrections(
    evaluation: Evaluation, decisions: pl.DataFrame, *, ambiguous: bool = False
) -> Evaluation:
    """The evaluation as it would be had the labels been as the verdicts say.

    Parameters
    ----------
    evaluation
        As from `evaluate`, or saved by it.
    decisions
        As from `formlab.decisions.read`; those of other benchmarks and splits are ignored.
    ambiguous
        Whether labels found ambiguous are left out too.

    Returns
    -------
    Evaluation
        Scored again; `settings` of every score end in the version of the verdicts, and `notes`
        tell what they did.

    Raises
    ------
    NotAvailable
        If the evaluation does not hold what was scored.
    """
    again = score_again(
        evaluation,
        labels=decided.version(decisions) + (",ambiguous=out" if ambiguous else ""),
        gold=lambda corpus: corrected(corpus, decisions, ambiguous=ambiguous)[0],
    )
    if again is None:
        what = f"the evaluation of {evaluation.system} does not hold what it scored"
        raise NotAvailable(what, remedy="formlab score … --out, with this version of formlab")
    ruled, done = _ruled(evaluation, decisions).height, Counter[str]()
    for part, fresh in zip(evaluation.parts(), again.parts(), strict=True):
        done.update(corrected(part.corpus, decisions, ambiguous=ambiguous)[1])
        # Every verdict is on nothing that is in the other parts.
        done[_NOWHERE] -= ruled
        done[_STILL] += _counted(part, fresh)
    done[_NOWHERE] += ruled
    notes = {f"{NOTE}{name}": count for name, count in done.items() if count}
    return again.changed(notes=again.notes | notes, made={})


def _counted(part: Evaluation, again: Evaluation) -> int:
    """How many labels that were left out have scored cases nonetheless."""
    gone = again.corpus.records.filter(
        pl.col("status") == "unscored", part.corpus.records["status"] != "unscored"
    )
    still = again.cases.filter(pl.col("outcome") != "unscored", pl.col("gold").is_not_null())
    return still.join(gone, on=_KEY, how="semi", nulls_equal=True).height


def corrected_scores(
    evaluations: Sequence[Evaluation],
    decisions: pl.DataFrame,
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> tuple[pl.DataFrame, dict[str, int]]:
    """The scores as labelled, without the label errors, and without ambiguous labels too.

    Parameters
    ----------
    evaluations
        The splits of one system on one benchmark are pooled.
    decisions
        As for `with_label_corrections`.
    resamples, seed
        Of the intervals.

    Returns
    -------
    polars.DataFrame
        `of` (system, benchmark and split), `metric`, `level`; `value`, `ci_low`, `ci_high` and
        `n_cases` as labelled; `corrected` with its interval and `n_corrected` cases, `change`
        against the value as labelled, and `unambiguous`.
    dict of str to int
        What the verdicts did, in counts.

    Raises
    ------
    NotAvailable
        If an evaluation does not hold what was scored.
    """
    groups: dict[tuple[str, ...], list[Evaluation]] = {}
    for each in evaluations:
        groups.setdefault((each.benchmark, each.system, each.mode), []).append(each)
    frames, counts = [], Counter[str]()
    key = ["metric", "level"]
    for splits in groups.values():
        mended = [with_label_corrections(split, decisions) for split in splits]
        clear = [with_label_corrections(split, decisions, ambiguous=True) for split in splits]
        for note, count in (item for split in mended for item in split.notes.items()):
            if note.startswith(NOTE):
                counts[note.removeprefix(NOTE)] += count
        whole = merge_splits(splits)
        before, after, without = (
            _summary(merge_splits(group), resamples, seed) for group in (splits, mended, clear)
        )
        names = {"value": "corrected", "ci_low": "corrected_low", "ci_high": "corrected_high"}
        after = after.rename(names | {"n_cases": "n_corrected"})
        joined = before.join(after, on=key, how="left", maintain_order="left")
        unambiguous = without.select(*key, unambiguous="value")
        joined = joined.join(unambiguous, on=key, how="left", maintain_order="left")
        of = pl.lit(f"{whole.system} on {whole.benchmark}:{whole.split}").alias("of")
        change = pl.col("corrected").sub(pl.col("value")).alias("change")
        values = ["value", "ci_low", "ci_high", *names.values(), change, "unambiguous"]
        frames.append(joined.select(of, *key, *values, "n_cases", "n_corrected"))
    return pl.concat(frames), dict(counts)


def _summary(evaluation: Evaluation, resamples: int, seed: int) -> pl.DataFrame:
    rows = summarise(evaluation, by=(), resamples=resamples, seed=seed)
    rows = tables.only(rows, slice_by=None)
    rows = rows.filter(not metrics.is_mean(name) for name in rows["metric"])
    return rows.select("metric", "level", "value", "ci_low", "ci_high", "n_cases")
