"""Which labels of the gold to look at first: those that systems contradict."""

from collections.abc import Sequence

import polars as pl

from formlab import text
from formlab.folders import Evaluation
from formlab.tables import CASES
from formlab.text.normalise import LADDER_STEPS

_LABEL = ["benchmark", "doc_id", "task", "path", "gold"]
_ORDER = ("benchmark", "doc_id", "task", "path")


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
        A row a label with the value that most systems agree on: the columns of CASES, of the most
        confident system that gave it; `systems`, those that did; `n_agree` of `n_systems`; and
        `shared`, whether the document stands in several splits. Predictions are the same if they
        are after `text.normalise`. One that differs from the label in form alone, or that is
        empty, does not contradict it, nor does one that depends on formlab's own reading rule.
    """
    is_scored = pl.col("gold").is_not_null() & (pl.col("outcome") != "unscored")
    scored = pl.concat([each.fields for each in evaluations]).filter(is_scored)
    counts = scored.group_by(_LABEL).agg(n_systems=pl.col("system").n_unique().cast(pl.Int64))
    wrong = pl.col("outcome").is_in(["mismatch", "spurious"]) & ~pl.col("typed").fill_null(False)
    wrong &= pl.col("cause").ne_missing("reader")
    wrong &= pl.col("pred").fill_null("").str.strip_chars() != ""
    against = scored.filter(wrong)
    answers = [text.normalise(answer, LADDER_STEPS) for answer in against["pred"]]
    against = against.with_columns(answer=pl.Series(answers, dtype=pl.String))
    first = against.sort("confidence", "system", descending=[True, False], nulls_last=True)
    groups = first.group_by(*_LABEL, "answer", maintain_order=True).agg(
        pl.col([name for name in CASES if name not in _LABEL]).first(),
        systems=pl.col("system").unique().sort(),
        n_agree=pl.col("system").n_unique().cast(pl.Int64),
    )
    agreed = pl.col("n_agree") / pl.col("n_systems")
    proposed = groups.join(counts, on=_LABEL, nulls_equal=True).filter(agreed > share)
    proposed = proposed.join(_shared(evaluations), on=["benchmark", "doc_id"])
    order = [-agreed, -pl.col("n_agree"), -pl.col("confidence"), *_ORDER]
    proposed = proposed.sort(order, nulls_last=True)
    proposed = proposed.unique(_LABEL, keep="first", maintain_order=True)
    return proposed.select(*CASES, "systems", "n_agree", "n_systems", "shared")


def by_majority(proposed: pl.DataFrame) -> pl.DataFrame:
    """The proposals on which more than half of the systems agree."""
    return proposed.filter(pl.col("n_agree") * 2 > pl.col("n_systems"))


def _shared(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """By document, whether the same image stands in several splits: then it is one document."""
    every = pl.concat([each.documents for each in evaluations])
    splits, images = pl.col("split").n_unique(), pl.col("image")
    one_image = (images.n_unique() == 1) & (images.null_count() == 0)
    return every.group_by("benchmark", "doc_id").agg(shared=(splits > 1) & one_image)
