"""Scores without the labels that people found wrong.

Scores are never patched: the gold is changed and everything is scored again. Matching looks at all
values of a document at once, so one label that changes may change what its neighbours match.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence

import polars as pl

from formlab import decisions as decided
from formlab import tables
from formlab.analysis.splits import merge_splits
from formlab.analysis.summarise import summarise
from formlab.errors import NotAvailable
from formlab.folders import Corpus, Evaluation
from formlab.scoring.evaluate import score_again

NOTE = "verdicts: "
_KEY = ["doc_id", "task", "path"]
# Their label stands in a page's markup or at its place in a form as well, which are not rewritten.
_ELSEWHERE = ("fact", "click")


def resolved_decisions(
    decisions: pl.DataFrame, *, words: Sequence[str] = decided.LABEL_AUDIT
) -> pl.DataFrame:
    """The columns of `decisions.KEY` and `label decision value parts n_reviewers`.

    Only `words` count, `decisions.LABEL_AUDIT` or `decisions.REVIEW`. `decision` is ``disputed``
    where reviewers differ in it, in what is right or in the label judged.
    """
    chosen = decisions.filter(pl.col("decision").is_in(list(words)))
    same = pl.struct("decision", "value", "parts", "label").n_unique() == 1
    decision = pl.when(same).then(pl.first("decision")).otherwise(pl.lit("disputed"))
    right, reviewers = pl.when(same).then(pl.first("value", "parts")), pl.len().cast(pl.Int64)
    groups = chosen.group_by(decided.KEY, maintain_order=True)
    return groups.agg(pl.first("label"), decision, right, n_reviewers=reviewers)


def corrected(corpus: Corpus, decisions: pl.DataFrame) -> tuple[Corpus, Counter[str]]:
    """A corpus without the label errors that verdicts found, and what was done, in counts.

    A label error gets the right value, which is then the only one accepted; without a right value,
    and where the label stands elsewhere too (facts, fields to fill in), it is no longer scored, of
    an entity with all its values in that document. A verdict on a label that reads otherwise by
    now, on which reviewers differ or of another benchmark or split changes nothing.
    """
    of_split = pl.col("split").fill_null(corpus.split) == corpus.split
    ruled = resolved_decisions(decisions).filter(of_split, benchmark=corpus.benchmark)
    # A verdict on this split is closer than one on every split.
    ruled = ruled.sort(pl.col("split").is_null()).unique(_KEY, keep="first", maintain_order=True)
    ruled = ruled.select(*_KEY, "label", "decision", right="value")
    gold = corpus.records.join(ruled, on=_KEY, how="left", maintain_order="left", nulls_equal=True)
    fresh = pl.col("label").eq_missing(pl.col("value"))
    error = fresh & (pl.col("decision") == "label_error")
    mended = error & pl.col("right").is_not_null() & ~pl.col("task").is_in(_ELSEWHERE)
    entity = pl.when(pl.col("task") == "entity").then(pl.col("path").str.extract("^/([^/]*)"))
    together = (error & ~mended).any().over("doc_id", entity.fill_null(pl.col("path")))
    marks = {"fresh": fresh, "mended": mended.fill_null(False), "out": together.fill_null(False)}
    gold = gold.with_columns(**marks)
    values = {"value": pl.when("mended").then("right").otherwise("value")}
    values |= {"accepted": pl.when(~pl.col("mended")).then("accepted")}
    values |= {"status": pl.when("out").then(pl.lit("unscored")).otherwise("status")}
    records = gold.with_columns(**values).select(corpus.records.columns)
    judged = gold.drop_nulls("decision")
    done = Counter(f"found {word}" for word in judged.filter("fresh")["decision"])
    done["on a label that has changed since"] = judged.height - done.total()
    done["labels corrected"] = judged["mended"].sum()
    done["labels left out"] = (records["status"] != corpus.records["status"]).sum()
    done["on nothing that is there"] = ruled.height - judged.height
    return dataclasses.replace(corpus, records=records), +done


def with_label_corrections(evaluation: Evaluation, decisions: pl.DataFrame) -> Evaluation:
    """The evaluation scored again as it would be had the labels been as the verdicts say.

    `decisions` are as from `formlab.decisions.read`; those of other benchmarks and splits have no
    say. `settings` of every score end in the version of the verdicts, `notes` tell what they did.

    Raises `NotAvailable` if the evaluation does not hold what was scored.
    """
    version = decided.version(decisions)
    again = score_again(evaluation, labels=version, gold=lambda gold: corrected(gold, decisions)[0])
    if again is None or evaluation.corpus is None:
        problem = f"the evaluation of {evaluation.system} does not hold what it scored"
        raise NotAvailable(problem, remedy="formlab score … --out, with this version of formlab")
    done = corrected(evaluation.corpus, decisions)[1]
    notes = {name: count for name, count in again.notes.items() if not name.startswith(NOTE)}
    notes |= {f"{NOTE}{name}": count for name, count in done.items()}
    return again.changed(notes=notes, made={})


def corrected_scores(
    evaluations: Sequence[Evaluation], decisions: pl.DataFrame, **draws: int
) -> tuple[pl.DataFrame, dict[str, int]]:
    """The scores as labelled and without the label errors; splits of one system are pooled.

    Returns a table of `of` (system, benchmark and split), `metric`, `level`; `value`, `ci_low`,
    `ci_high` and `n_cases` as labelled; `corrected` with its interval and `n_corrected` cases, and
    `change`; and what the verdicts did, in counts. `draws` are as for `summarise`.

    Raises `NotAvailable` if an evaluation does not hold what was scored.
    """
    groups: dict[tuple[str, ...], list[Evaluation]] = {}
    for split in evaluations:
        groups.setdefault((split.benchmark, split.system, split.mode), []).append(split)
    rows, counts, key = [], Counter[str](), ["metric", "level"]
    for splits in groups.values():
        mended = [with_label_corrections(split, decisions) for split in splits]
        pools = merge_splits(splits), merge_splits(mended)
        counts.update(pools[1].notes)
        summaries = (summarise(pool, by=(), average="pooled", **draws) for pool in pools)
        before, after = (tables.only(summary, slice_by=None) for summary in summaries)
        joined = before.join(after, on=key, how="left", maintain_order="left", suffix="_new")
        of = pl.lit(f"{pools[0].system} on {pools[0].benchmark}:{pools[0].split}")
        rows.append(joined.with_columns(of=of, change=pl.col("value_new") - pl.col("value")))
    names = {"corrected": "value_new", "corrected_low": "ci_low_new"}
    names |= {"corrected_high": "ci_high_new", "change": "change"}
    names |= {"n_cases": "n_cases", "n_corrected": "n_cases_new"}
    table = pl.concat(rows).select("of", *key, "value", "ci_low", "ci_high", **names)
    done = {n.removeprefix(NOTE): count for n, count in counts.items() if n.startswith(NOTE)}
    return table, done
