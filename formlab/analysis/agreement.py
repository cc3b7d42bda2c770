"""Which failures all systems share, and which one system has alone."""

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl

from formlab import tables
from formlab.analysis.comparability import KEY, common, named, of_gold, with_turns
from formlab.errors import DataBroken
from formlab.folders import Evaluation
from formlab.stats.draws import by_document, estimate

_OF_GOLD = ("level", "kind", "modality", "subtype", "field", "gold")
_SEVERAL = "some right"
_ROWS = tables.schema("group n_items:int share:number ci_low:number ci_high:number expected:number")
_ROWS |= tables.schema("excess:number excess_low:number excess_high:number n_docs:int")
_KAPPAS = tables.schema("raters kappa:number ci_low:number ci_high:number n_items:int n_same:int")


def item_difficulty(evaluations: Sequence[Evaluation]) -> pl.DataFrame:
    """How many systems have each value of the gold right.

    Returns a row for each value of the gold, with `right` (of each system in turn), `n_right`,
    `group` (``all right``, ``none right``, ``only … wrong``, ``only … right`` or ``some right``),
    `separates` (whether any two systems differ on it) and `difficulty` (the share that is wrong).

    Raises `DataBroken` if the evaluations cannot be compared, or have no field in common.
    """
    shared = common(evaluations).evaluations
    systems, right = [evaluation.system for evaluation in shared], pl.col("outcome") == "match"
    # The key may stand twice in the gold: its first value is compared.
    fields = (with_turns(evaluation.fields).filter(of_gold(), turn=1) for evaluation in shared)
    items = pl.concat(of.select(*KEY, *_OF_GOLD, right=right) for of in fields)
    items = items.group_by(KEY).agg(pl.col(_OF_GOLD).first(), "right")
    items = items.filter(pl.col("right").list.len() == len(systems)).sort(KEY).drop("turn")
    if not items.height:
        problem = "these evaluations have no field in common that was scored"
        raise DataBroken(problem, remedy="formlab score with the same gold for each")
    names = {tuple(row): name for name, row in _patterns(systems).items()}
    groups = [names.get(tuple(right), _SEVERAL) for right in items["right"]]
    n_right = pl.col("right").list.sum().cast(pl.Int64)
    columns = {"group": pl.Series(groups), "n_right": n_right}
    columns |= {"separates": n_right.is_between(1, len(systems) - 1)}
    return items.with_columns(**columns, difficulty=1 - n_right / len(systems))


def shared_failures(evaluations: Sequence[Evaluation], **draws: Any) -> pl.DataFrame:
    """Which share of fields all systems fail, and which one alone fails or gets right.

    Returns a row for each group of fields (see `item_difficulty`): its share, the share `expected`
    if systems with these shares of right fields failed independently of each other, and the
    `excess` of the one over the other, with intervals. `draws` are as for `summarise`.

    Raises what `item_difficulty` raises.
    """
    items = item_difficulty(evaluations)
    systems = [evaluation.system for evaluation in named(evaluations)]
    groups = _patterns(systems)
    names, patterns = [*groups, _SEVERAL], np.array([*groups.values()])
    sums = [(pl.col("group") == name).sum().alias(name) for name in names]
    sums += [pl.col("right").list.get(at).sum().alias(f"r{at}") for at in range(len(systems))]
    counts = items.group_by("doc_id").agg(sums).sort("doc_id").drop("doc_id").to_numpy()

    def score(sums: np.ndarray, at: int, less_chance: bool) -> np.ndarray:
        """The share of a group, or what it has above failures independent of each other."""
        counts, rights = np.split(sums, [len(names)], axis=-1)
        total = counts.sum(axis=-1, keepdims=True)
        right = (rights / total)[..., None, :]
        chances = np.where(patterns, right, 1 - right).prod(axis=-1)
        # What is left is of those that some have right.
        chances = np.append(chances, 1 - chances.sum(axis=-1, keepdims=True), axis=-1)
        return (counts / total - less_chance * chances)[..., at]

    rows = []
    for at, name in enumerate(names[: None if len(systems) > 3 else -1]):
        scores = (partial(score, at=at, less_chance=less) for less in (False, True))
        share, excess = (estimate(counts, of, **draws) for of in scores)
        n_items, n_docs = int(counts[:, at].sum()), int((counts[:, at] > 0).sum())
        rows.append((name, n_items, *share, share[0] - excess[0], *excess, n_docs))
    return pl.DataFrame(rows, schema=_ROWS, orient="row")


def _patterns(systems: Sequence[str]) -> dict[str, list[bool]]:
    """The groups of fields, but for the rest, by which of the systems are right on them."""
    count = len(systems)
    alone = {name: [other == at for other in range(count)] for at, name in enumerate(systems)}
    groups = {"none right": [False] * count}
    groups |= {f"only {name} wrong": [not bit for bit in row] for name, row in alone.items()}
    # Of two systems, only one wrong is only the other right.
    groups |= {f"only {name} right": row for name, row in alone.items()} if count > 2 else {}
    return groups | {"all right": [True] * count}


def rater_agreement(table: pl.DataFrame, raters: Sequence[str], **draws: Any) -> pl.DataFrame:
    """Cohen's kappa of each pair of raters and Fleiss' kappa of all, with bootstrap intervals.

    `table` has a row per item and a column per rater, null where it gave no answer. `draws` are as
    for `summarise`: items of a document are drawn together.

    Returns `raters kappa ci_low ci_high n_items n_same`, over the items that all of these raters
    answered; kappa is in [-1, 1], NaN where there are no items or all answers are the same.
    `n_same` items have one answer only.

    >>> table = pl.DataFrame({"doc_id": list("aabb"), "x": [1, 1, 0, 0], "y": [1, 0, 0, 0]})
    >>> rater_agreement(table, ["x", "y"], resamples=0)["kappa"].to_list()
    [0.5]
    """
    groups = [*itertools.combinations(raters, 2)] + [tuple(raters)] * (len(raters) > 2)
    rows = []
    for names in groups:
        rated = table.select("doc_id", pl.col(names).cast(pl.String)).drop_nulls()
        answers = rated.select(names).to_numpy().astype(str)
        # Items, raters and answers: who uses which.
        used = (answers[:, :, None] == np.unique(answers)).astype(float)
        totals, kappa = used.sum(axis=1), partial(_kappa, raters=len(names))
        same = (totals * (totals - 1)).sum(axis=1) / (len(names) * (len(names) - 1))
        uses = used.reshape(len(used), totals.shape[1] * len(names)).T
        number = rated["doc_id"].rank("dense").cast(pl.Int64).to_numpy() - 1
        sums = by_document(number, [np.ones(len(used)), same, *uses], rated["doc_id"].n_unique())
        n_same = int((totals.max(axis=1, initial=0) == len(names)).sum())
        value = estimate(sums, kappa, **draws)
        rows.append((" × ".join(names), *value, rated.height, n_same))
    return pl.DataFrame(rows, schema=_KAPPAS, orient="row")


def _kappa(sums: np.ndarray, raters: int) -> np.ndarray:
    """Kappa of each row of sums; undefined without items, or where there is one answer only."""
    items, same = sums[..., 0], sums[..., 1]
    uses = sums[..., 2:].reshape(*items.shape, raters, -1)
    # Of two raters each has uses of its own (Cohen), of several all together (Fleiss).
    alike = uses if raters == 2 else uses.mean(axis=-2, keepdims=True).repeat(2, axis=-2)
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = alike.prod(axis=-2).sum(axis=-1) / items**2
        kappa = (same / items - chance) / (1 - chance)
    return np.where((uses.sum(axis=-2) > 0).sum(axis=-1) < 2, np.nan, kappa)
