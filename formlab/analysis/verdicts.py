"""The court of labels: what to judge first, and scores without the labels found wrong.

Scores are never patched: the gold is changed and everything is scored again. Matching looks at all
values of a document at once, so one label that changes may change what its neighbours match.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence

import polars as pl

from formlab import decisions as decided
from formlab import text
from formlab.benchmarks.formfactory import with_value
from formlab.errors import NotAvailable
from formlab.scoring import part
from formlab.scoring.evaluate import evaluate
from formlab.scoring.fields import READER
from formlab.tables import CASES, Corpus, Evaluation, with_settings
from formlab.text.normalise import LADDER_STEPS

_CASE = ("benchmark", "split", "doc_id", "task", "path")
_THING = ["benchmark", "doc_id", "task", "path", "gold"]
NOTE = "verdicts: "
# The label of a fact stands within its page's markup as well, which is never rewritten.
_IN_PAGE = "fact"
# What is to be entered stands beside its place as well. Another option would have another place.
_ENTERED, _OPTIONS = "click", ("checkbox", "radio", "choice")


def proposals(evaluations: Sequence[Evaluation], *, share: float = 0.0) -> pl.DataFrame:
    """The labels that systems contradict, first those on which most of them give the same value.

    Parameters
    ----------
    evaluations
        Of several systems on the same documents.
    share
        A label is proposed where more than this share of the systems scored on it agree against
        it, in [0, 1); 0.5 asks for a majority.

    Returns
    -------
    polars.DataFrame
        A row a label with the value that most agree on: the columns of CASES, of the surest
        system that gave it; `systems`, those that did; `n_agree` of `n_systems`; and `shared`,
        whether the document stands in several splits. Predictions are the same if they are after
        `text.normalise`. One that differs from the label in form alone, or that is empty, says
        nothing against it, nor does one that depends on formlab's own reading rule.
    """
    asked = pl.concat([_asked(one) for one in evaluations], how="diagonal")
    counts = asked.group_by(_THING).agg(n_systems=pl.col("system").n_unique().cast(pl.Int64))
    against = pl.col("outcome").is_in(["mismatch", "spurious"]) & ~pl.col("typed").fill_null(False)
    against &= pl.col("cause").ne_missing("reader")
    wrong = asked.filter(against & (pl.col("pred").fill_null("").str.strip_chars() != ""))
    wrong = wrong.with_columns(
        answer=pl.Series([text.normalise(p, LADDER_STEPS) for p in wrong["pred"]], dtype=pl.String)
    )
    first = wrong.sort("confidence", "system", descending=[True, False], nulls_last=True)
    groups = first.group_by(*_THING, "answer", maintain_order=True).agg(
        pl.col([name for name in CASES if name not in _THING]).first(),
        systems=pl.col("system").unique().sort(),
        n_agree=pl.col("system").n_unique().cast(pl.Int64),
    )
    found = groups.join(counts, on=_THING, nulls_equal=True)
    agreed = pl.col("n_agree") / pl.col("n_systems")
    found = found.filter(agreed > share).join(_shared(evaluations), on=["benchmark", "doc_id"])
    order = [-agreed, -pl.col("n_agree"), -pl.col("confidence"), *_CASE[:1], *_CASE[2:]]
    found = found.sort(order, nulls_last=True).unique(_THING, keep="first", maintain_order=True)
    return found.select(*CASES, "systems", "n_agree", "n_systems", "shared")


def _asked(evaluation: Evaluation) -> pl.DataFrame:
    return evaluation.fields.filter(pl.col("gold").is_not_null(), pl.col("outcome") != "unscored")


def _shared(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """By document, whether the same image stands in several splits: then it is one document."""
    every = pl.concat([one.documents for one in evaluations])
    splits, images = pl.col("split").n_unique(), pl.col("image")
    one_image = (images.n_unique() == 1) & (images.null_count() == 0)
    return every.group_by("benchmark", "doc_id").agg(shared=(splits > 1) & one_image)


def rulings(decisions: pl.DataFrame, *, words: Sequence[str] = decided.COURT) -> pl.DataFrame:
    """What is held of each thing: one decision where all its reviewers agree.

    Parameters
    ----------
    decisions
        As from `formlab.decisions.read`.
    words
        The decisions that count, `decisions.COURT` or `decisions.REVIEW`.

    Returns
    -------
    polars.DataFrame
        `benchmark split doc_id task path label decision value parts n_reviewers`; `decision` is
        ``disputed`` where reviewers differ in the decision, in what is right or in the label
        judged.
    """
    court = decisions.filter(pl.col("decision").is_in(list(words)))
    same = pl.struct("decision", "value", "parts", "label").n_unique() == 1
    return court.group_by(decided.KEY, maintain_order=True).agg(
        pl.col("label").first(),
        decision=pl.when(same).then(pl.col("decision").first()).otherwise(pl.lit("disputed")),
        value=pl.when(same).then(pl.col("value").first()),
        parts=pl.when(same).then(pl.col("parts").first()),
        n_reviewers=pl.len().cast(pl.Int64),
    )


def corrected(
    corpus: Corpus, decisions: pl.DataFrame, *, ambiguous: bool = False
) -> tuple[Corpus, dict[str, int]]:
    """A corpus without the label errors that verdicts found, and what was done, in counts.

    A label error gets the right value, which is then the only one accepted; without a right value
    the label is no longer scored. A fact of a page is never scored again, for its label is part
    of the page as well; nor is an option to be clicked, for where the right one stands is not
    known. Of an entity all values in that document are left out together: which
    prediction was for which of them is not known. A verdict on a label that reads otherwise by
    now, or on which reviewers differ, changes nothing.

    Parameters
    ----------
    corpus
        The gold.
    decisions
        As from `formlab.decisions.read`; those of other benchmarks and splits are ignored.
    ambiguous
        Whether labels found ambiguous are left out too.
    """
    here = pl.col("split").is_null() | (pl.col("split") == corpus.split)
    ruled = rulings(decisions).filter(pl.col("benchmark") == corpus.benchmark, here)
    # A verdict on this split is closer than one on every split.
    ruled = ruled.sort(pl.col("split").is_null()).unique(
        ["doc_id", "task", "path"], keep="first", maintain_order=True
    )
    key = ["doc_id", "task", "path"]
    theirs = ruled.select(*key, "label", "decision", right="value")
    gold = corpus.records.join(theirs, on=key, how="left", maintain_order="left", nulls_equal=True)
    known = gold.filter(pl.col("decision").is_not_null())
    fresh = pl.col("label").eq_missing(pl.col("value"))
    error = fresh & (pl.col("decision") == "label_error")
    mended = error & pl.col("right").is_not_null() & (pl.col("task") != _IN_PAGE) & ~_elsewhere()
    out = (error & ~mended) | (fresh & (pl.col("decision") == "ambiguous") & ambiguous)
    entity = pl.when(pl.col("task") == "entity").then(pl.col("path").str.extract("^/([^/]*)"))
    together = out.any().over("doc_id", entity.fill_null(pl.col("path"))).fill_null(False)
    metas = [
        with_value(meta, right) if anew else meta
        for meta, right, anew in gold.select(
            "meta", "right", mended & (pl.col("task") == _ENTERED)
        ).iter_rows()
    ]
    gold = gold.with_columns(
        pl.Series("meta", metas, dtype=pl.String),
        pl.when(mended).then("right").otherwise("value").alias("value"),
        pl.when(mended).then(None).otherwise("accepted").alias("accepted"),
        pl.when(together | out.fill_null(False))
        .then(pl.lit("unscored"))
        .otherwise("status")
        .alias("status"),
    )
    counts = Counter(known.filter(fresh)["decision"].to_list())
    done = {
        "labels corrected": known.filter(mended).height,
        "labels left out": gold.filter(gold["status"] != corpus.records["status"]).height,
        **{f"found {name}": counts[name] for name in (*decided.COURT, "disputed")},
        "on a label that has changed since": known.filter(~fresh).height,
        "on nothing that is there": ruled.height - known.height,
    }
    return dataclasses.replace(corpus, records=gold.select(corpus.records.columns)), done


def _elsewhere() -> pl.Expr:
    """Whether another value than the label would be entered in another place, or in several."""
    first, second = (pl.col("meta").str.json_path_match(f"$.items[{at}]") for at in (0, 1))
    one = first.is_not_null() & second.is_null()
    options = pl.col("kind").is_in(_OPTIONS).fill_null(False)
    return (pl.col("task") == _ENTERED) & (options | ~one.fill_null(False))


def with_verdicts(
    evaluation: Evaluation, decisions: pl.DataFrame, *, ambiguous: bool = False
) -> Evaluation:
    """The evaluation as it would be had the labels been as the verdicts say.

    Parameters
    ----------
    evaluation
        As from `evaluate`, or saved by it.
    decisions, ambiguous
        As for `corrected`.

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
    if evaluation.corpus is None or evaluation.predictions is None:
        what = f"the evaluation of {evaluation.system} does not hold what it scored"
        raise NotAvailable(what, remedy="formlab score … --out, with this version of formlab")
    corpus, done = corrected(evaluation.corpus, decisions, ambiguous=ambiguous)
    again = evaluate(
        corpus, evaluation.predictions,
        mode=evaluation.mode, threshold=evaluation.settings["threshold"],
        reader=evaluation.settings.get("reader", READER),
    )  # fmt: skip
    # The corpus was cut before: which documents it holds is to be said as before.
    before = {name: n for name, n in evaluation.notes.items() if name in part.NOTES}
    again = part.marked(again, evaluation.settings.get("documents", part.ALL), before)
    gone = corpus.records.filter(
        pl.col("status") == "unscored", evaluation.corpus.records["status"] != "unscored"
    )
    still = again.cases.filter(pl.col("outcome") != "unscored", pl.col("gold").is_not_null())
    still = still.join(gone, on=["doc_id", "task", "path"], how="semi", nulls_equal=True).height
    done["labels to be left out that this task's scorer counts nonetheless"] = still
    labels = decided.version(decisions) + (",ambiguous=out" if ambiguous else "")
    notes = {f"{NOTE}{name}": count for name, count in done.items() if count}
    return dataclasses.replace(
        again,
        scores=with_settings(again.scores, labels=labels),
        notes=again.notes | notes,
    )
