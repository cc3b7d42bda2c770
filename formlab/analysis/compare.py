"""Systems on the same corpus: by how much they differ, with tests, and on which values."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl

from formlab import metrics, tables
from formlab.analysis.comparability import KEY, common, fields, named, of_gold, scored_metrics
from formlab.analysis.finding import LABEL, OUTCOME, READER
from formlab.analysis.summarise import summarise
from formlab.errors import DataBroken, UnknownName
from formlab.folders import Evaluation
from formlab.metrics import ratio
from formlab.scoring.align import rights
from formlab.scoring.bands import BANDS, order, roots, sliced
from formlab.scoring.evaluate import THRESHOLD, score_again
from formlab.scoring.fields import READER as DEFAULT_RULE
from formlab.scoring.fields import others
from formlab.stats.draws import by_document
from formlab.stats.sums import SLICE, Row, document_sums
from formlab.stats.tests import Pair, compared, paired_differences
from formlab.tables import BOX, CASES, DOCUMENTS, LADDER, Settings, own_columns

COMPARISON: dict[str, Any] = {
    **dict.fromkeys(("benchmark", "split"), pl.String),
    **tables.SLICE,
    **dict.fromkeys(("mode", "metric", "average", "system_a", "system_b"), pl.String),
    **dict.fromkeys(("value_a", "value_b", "difference", "ci_low", "ci_high"), pl.Float64),
    "better": pl.String,
    **dict.fromkeys(("p", "p_holm", "least_difference"), pl.Float64),
    **dict.fromkeys(("n_docs", "n_cases", "n_undefined", "both_right", "only_a"), pl.Int64),
    **dict.fromkeys(("only_b", "both_wrong"), pl.Int64),
    "rules": pl.String,
    "settings": tables.SETTINGS,
}
# The columns of a case that come from the gold; the others differ by system.
OF_GOLD = ("task", "path", "kind", "modality", "subtype", "field", "page")
OF_GOLD += ("scope", "reference", "complexity", "modal", "gold")
OF_SYSTEM = ("certainty",)
ROW = ("metric", "average", *SLICE)
DRAWS = {"resamples": 1000, "permutations": 9999, "level": 0.95, "power": 0.8, "seed": 0}
# The metric, average and slice that a row is of.
Key = tuple[str | None, ...]
BEST, NEAR, WORSE = "best", "near", "worse"
FLIPS = ("both right", "only a", "only b", "both wrong")
# Columns of *cases* that are the system's: each is there once a side, as `pred_a`, `pred_b` …
SYSTEM = ("system", "pred_path", "pred", "pred_page", *(f"pred_{side}" for side in BOX))
SYSTEM += ("confidence", "status", "outcome", *LADDER, "similarity", "cause", "pred_origin")
SYSTEM += ("readings", "at", "ambiguous", "failed")
_RIGHT = ("right", "rights")
# What a test of values needs beside the columns that it slices by.
_TESTED = ("doc_id", "task", "path", "page", *BOX, "flip", "kind")
_TESTED += tuple(f"{name}_{side}" for name in ("system", "cause", *_RIGHT) for side in "ab")


def compare(
    evaluations: Sequence[Evaluation],
    *,
    metric: str | Sequence[str] | None = None,
    average: str | None = None,
    by: Sequence[str] = (),
    reference: str | None = None,
    workers: int | str = 1,
    **draws: Any,
) -> pl.DataFrame:
    """The difference of every metric between systems on the same documents.

    Documents are what is drawn and what is swapped: fields of one page are not independent.

    Returns a row for each pair of systems, metric and slice. `difference` is by how much system a
    is better: a less b, of error rates b less a, with its percentile interval. `p` is of the paired
    permutation test, `p_holm` adjusted over the pairs and slices of a metric, average and level:
    wholes, kinds and slices by other columns are families of their own. `better` names the system
    that is shown to do better: `p_holm` is at most 1 - `level`, the interval is clear of 0 and no
    reading rule says otherwise; null elsewhere. `rules` says of scores of fields read under boxes
    whether the verdict is the ``same`` under every rule of `fields.READERS` or ``depends`` on it.
    `least_difference` is what these documents would find with `power`, NaN where there are too few
    to show anything; `n_cases` the greater of both counts. Of the values right over all fields
    `p_holm` is of the greatest p with and without fields whose verdict depends on the reading rule
    or whose label may be wrong.

    Raises `DataBroken` if the evaluations cannot be compared, or a mean over documents is asked of
    the share of values right; `UnknownName` if there is no such metric or system, or `by` is a
    column of the system.

    Parameters
    ----------
    evaluations
        Two or more, of the same corpus, split, mode and threshold, cut to what all were scored on.
    metric
        Registered metrics; all that were scored if left out. ``outcome`` is the share of the gold's
        values right; its rows count how many both get right, one alone or none.
    average
        Only ``pooled`` or only ``macro``, the mean over documents; both if left out.
    by
        Columns of the gold, of *documents* or a user's own to slice the fields by.
    reference
        The system that every other is compared with, as `system_a`; all pairs if left out.
    workers
        As for `workers.each`: who scores large evaluations under the other reading rules.
    **draws
        `resamples` (1000), `permutations` (9999), `level` (0.95), `power` (0.8) and `seed` (0), as
        for `stats.tests.paired_differences`; the draws are those of `summarise`.

    References
    ----------
    P. Koehn, EMNLP 2004 (bootstrap). A. Yeh, COLING 2000 (permutation). Holm, Scand. J. Statist. 6,
    1979.
    """
    names = [metric] if isinstance(metric, str) else metric
    draws = DRAWS | draws
    if OUTCOME in (names or ()) and average == metrics.MACRO:
        what = f"{OUTCOME} is the share of all values right and has no mean over documents"
        raise DataBroken(what, remedy=f"average={metrics.POOLED!r}, or another metric")
    systems = common(evaluations).evaluations
    rows = [values_compared(systems, by, reference, **draws)] if OUTCOME in (names or ()) else []
    scores = None if names is None else [name for name in names if name != OUTCOME]
    if scores == [] and rows:
        return rows[0]
    _check_columns(systems, by)

    def tested(systems: Sequence[Evaluation]) -> list[dict[str, Any]]:
        return _tested(score_rows(systems, by, average), scores, reference, draws)

    found = tested(systems)
    # Scoring anew under the other rules takes most of the time: only where a rule has a say.
    by_rule = under_other_rules(evaluations) if any(row["settings"].read for row in found) else []
    with TemporaryDirectory(prefix="formlab-") as home:
        elsewhere = []
        for n, rule in enumerate(by_rule):
            saved = [_once(each, Path(home, f"{n}-{at}"), workers) for at, each in enumerate(rule)]
            elsewhere.append(tested(common(saved).evaluations))
    read = pl.col("settings").struct.field("read").is_not_null()
    options = {"has_rule": read, "level": draws["level"]}
    rows.append(compared(found, COMPARISON, by_other_rules=elsewhere, **options))
    return pl.concat(rows)


def values_compared(
    systems: Sequence[Evaluation],
    by: Sequence[str] = (),
    reference: str | None = None,
    **draws: Any,
) -> pl.DataFrame:
    """`compare` of the values right by systems of one `common(…)`."""
    _check_columns(systems, by)
    options = DRAWS | draws
    settings = Settings(rules="right", **settings_of_tests(**options))
    tested = [value_tests(*pair, by, options) for pair in evaluation_pairs(systems, reference)]
    # A pair on which the other reading rules have no say is the same under each of them.
    rows, *elsewhere = (
        [
            row | {"settings": settings, "average": metrics.POOLED}
            for rules in tested
            for row in rules[min(number, len(rules) - 1)]
        ]
        for number in range(max(map(len, tested), default=1))
    )
    return compared(rows, COMPARISON, by_other_rules=elsewhere, level=options["level"])


def _check_columns(evaluations: Sequence[Evaluation], by: Sequence[str]) -> None:
    """Every column is the same whichever system is looked at; a user's own are."""
    users = dict.fromkeys(name for each in evaluations for name in each.own)
    bands = [name for name in BANDS if name not in OF_SYSTEM]
    known = dict.fromkeys([*OF_GOLD, *DOCUMENTS, "position", *bands, *users])
    for column in by:
        if column not in known:
            raise UnknownName.of("column of the gold to compare by", column, known)


def _once(evaluation: Evaluation, folder: Path, workers: int | str) -> Evaluation:
    """The evaluation, of several parts saved in `folder`: each is scored once, not when read."""
    several = len(list(itertools.islice(evaluation.parts(), 2))) > 1
    return Evaluation.load(evaluation.save(folder, workers=workers)) if several else evaluation


def under_other_rules(evaluations: Sequence[Evaluation]) -> list[list[Evaluation]]:
    """The same evaluations under each other reading rule; none where no rule has a say.

    Nor are there any where one evaluation does not hold what was scored.
    """
    named = common(evaluations).evaluations
    if not any(part.cases["readings"].count() for each in named for part in each.parts()):
        return []
    # Scored is all that an evaluation holds, not only what it has in common with the others.
    whole = [
        each.changed(system=other.system) for each, other in zip(evaluations, named, strict=True)
    ]
    rules = others(named[0].settings.get("reader", DEFAULT_RULE))
    again = [[score_again(each, reader=rule) for each in whole] for rule in rules]
    return [] if any(None in row for row in again) else again


def _tested(
    rows: Mapping[str, Mapping[Key, Row]],
    names: Sequence[str] | None,
    reference: str | None,
    options: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """The test of every pair of systems by every metric and slice."""
    pairs = [pair for ab in system_pairs(rows, reference) for pair in score_pairs(rows, ab, names)]
    known = {pair.labels["metric"] for pair in pairs}
    for name in names or ():
        if name not in known:
            metrics.refuse_mean(name)
            scored = dict.fromkeys(key[0] for each in rows.values() for key in each)
            raise UnknownName.of("metric scored for all systems", name, scored)
    made = settings_of_tests(**options)
    tested = paired_differences(pairs, **options)
    return [row | {"settings": dataclasses.replace(row["settings"], **made)} for row in tested]


def settings_of_tests(
    *, resamples: int, permutations: int, level: float, power: float, seed: int
) -> dict[str, str]:
    """What of the settings says how differences were tested."""
    return {
        "interval": f"bootstrap,documents,paired,n={resamples},level={level:g},seed={seed}",
        "test": f"swap,documents,n={permutations},power={power:g}",
    }


def system_pairs(systems: Iterable[str], reference: str | None) -> list[tuple[str, str]]:
    """All pairs of systems in their order, or those of `reference` with every other."""
    names = list(systems)
    if not reference:
        return list(itertools.combinations(names, 2))
    if reference not in names:
        raise UnknownName.of("system to compare with", reference, names)
    return [(reference, name) for name in names if name != reference]


def evaluation_pairs(
    evaluations: Sequence[Evaluation], reference: str | None = None
) -> list[tuple[Evaluation, Evaluation]]:
    """The evaluations of `system_pairs`; `common` numbers systems of one name."""
    by_name = {each.system: each for each in evaluations}
    return [(by_name[a], by_name[b]) for a, b in system_pairs(by_name, reference)]


def score_rows(
    evaluations: Sequence[Evaluation], by: Sequence[str], average: str | None = None
) -> dict[str, dict[Key, Row]]:
    """By system, then metric, average and slice, the tallies of each document."""
    rows = {
        each.system: {
            tuple(row.labels[name] for name in ROW): row
            for row in document_sums(each, by, average=average)
        }
        for each in evaluations
    }
    # One slice that holds everything would only be tested once more.
    slices = {key[3:] for system in rows.values() for key in system}
    count = Counter(column for column, _ in slices)
    single = {(column, value) for column, value in slices if column in by and count[column] == 1}
    return {
        system: {key: row for key, row in own.items() if key[3:] not in single}
        for system, own in rows.items()
    }


def score_pairs(
    rows: Mapping[str, Mapping[Key, Row]], systems: tuple[str, str], names: Sequence[str] | None
) -> Iterable[Pair]:
    """Two systems by each score that either has: the tallies of both, as a pair to test."""
    first, second = (rows[name] for name in systems)
    keys = dict.fromkeys([*first, *second])
    names = list(dict.fromkeys(key[0] for key in keys) if names is None else names)
    keys = {k: (names.index(k[0]), k[1] == metrics.MACRO) for k in keys if k[0] in names}
    # All slices of a metric stand together.
    for key in sorted(keys, key=keys.get):
        both = first.get(key), second.get(key)
        scored = [row for row in both if row]
        base = scored[0]
        # A system without a case in the slice (of claims that only the other makes) adds nothing.
        parts = [row.tally if row else np.zeros(base.tally.shape) for row in both]
        labels = [row.labels for row in scored]
        up = metrics.get(base.labels["metric"]).direction == "up"
        known = {n: labels[0][n] for n in ("benchmark", "split", "task", "mode", *ROW)}
        known |= dict(zip(("system_a", "system_b"), systems, strict=True))
        known |= {n: max(x[n] for x in labels) for n in ("n_docs", "n_cases", "n_undefined")}
        known["settings"] = _together([label["settings"] for label in labels])
        yield Pair(*parts, base.score, up, known)


def _together(several: Sequence[Settings]) -> Settings:
    """The settings of both systems; where they differ, each after the other."""
    rows = [dataclasses.asdict(settings) for settings in several]
    values = {name: dict.fromkeys(row[name] or "none" for row in rows) for name in rows[0]}
    joined = {name: " / ".join(texts) for name, texts in values.items() if len(texts) > 1}
    return dataclasses.replace(several[0], **joined)


def side_by_side(
    evaluations: Sequence[Evaluation],
    scores: Sequence[str] | None = None,
    *,
    average: str | None = None,
    by: Sequence[str] = (),
    resamples: int = 1000,
    permutations: int = 9999,
    seed: int = 0,
) -> pl.DataFrame:
    """The scores of several systems, each marked by how it stands to the best of its column.

    Returns the rows of `summarise` for every system, and `mark`: ``best`` for the best value of its
    metric and slice; ``near`` where no difference from the best was shown by `compare`, adjusted
    for all comparisons; ``worse`` where one was; null where nothing could be tested, as without
    `resamples`. `p` is the adjusted p against the best.

    Raises `DataBroken` if evaluations with a metric in common are of different documents;
    `UnknownName` if a metric of `scores` is not registered.

    Parameters
    ----------
    evaluations
        One or more of the same documents. A task that only some were scored on stays: its scores
        are those of these systems. Systems of one name are numbered.
    scores
        Names of metrics; all that were scored if left out.
    average, by, resamples, permutations, seed
        As for `compare`.

    Examples
    --------
    >>> from formlab import analysis
    >>> systems = analysis.open_compared(benchmark="funsd")
    >>> table = side_by_side(systems, ["cer"], average="pooled", resamples=99, permutations=99)
    >>> table.filter(level="page").select("system", "mark").rows()
    [('ocr', 'best'), ('ocr(scale=2.0)', 'near')]
    """
    systems = named(evaluations)
    draws: dict[str, Any] = {"by": by, "average": average, "resamples": resamples, "seed": seed}
    rows = pl.concat([summarise(system, **draws) for system in systems])
    if scores is not None:
        rows = rows.filter(pl.col("metric").is_in([metrics.get(name).name for name in scores]))
    tested = [pl.DataFrame(schema=COMPARISON)]
    for alike, names in _scored_alike(systems, rows["metric"].unique().sort()):
        tested.append(compare(alike, metric=names, permutations=permutations, **draws))
    return _marked(rows, pl.concat(tested))


def _scored_alike(
    systems: Sequence[Evaluation], names: Iterable[str]
) -> Iterator[tuple[Sequence[Evaluation], list[str]]]:
    """The metrics that the same systems, two or more, were scored on in a task of all of them."""
    tasks: dict[str, dict[str, set[str]]] = {}
    for system in systems:
        scored = system.gathered(lambda part: part.scores.select("metric", "task").unique())
        for metric, task in scored.rows():
            tasks.setdefault(metric, {}).setdefault(system.system, set()).add(task)
    groups: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        of = tasks.get(name, {})
        if len(of) > 1 and set.intersection(*of.values()):
            groups.setdefault(tuple(of), []).append(name)
    for members, metric_names in groups.items():
        alike = common([system for system in systems if system.system in members]).evaluations
        shared = set.intersection(*map(scored_metrics, alike))
        if known := [name for name in metric_names if name in shared]:
            yield alike, known


def _marked(rows: pl.DataFrame, pairs: pl.DataFrame) -> pl.DataFrame:
    """Rows of summaries with `mark` and `p` against the best of each score, as from `compare`."""
    key = list(ROW)
    ups = [name for name in rows["metric"].unique() if metrics.get(name).direction == "up"]
    height = pl.when(pl.col("metric").is_in(ups)).then("value").otherwise(-pl.col("value"))
    height = height.fill_nan(None)
    best = (height == height.max().over(key)).fill_null(False) & (pl.len().over(key) > 1)
    rows = rows.with_columns(best=best)
    tops = rows.filter("best").select(*key, other="system").unique(key, keep="first")
    renamed = {"compared": "value", "system": "system"}
    pairs = pairs.with_columns(low="ci_low", p=pl.col("p_holm").fill_nan(None))
    sides = pl.concat(
        pairs.select(
            *(*key, "better", "low", "p"),
            *(pl.col(f"{name}_{side}").alias(new) for new, name in renamed.items()),
            other=f"system_{other}",
        )
        for side, other in ("ab", "ba")
    )
    tested = sides.join(tops, on=[*key, "other"], how="semi", nulls_equal=True).drop("other")
    on = [*key, "system"]
    rows = rows.join(tested, on=on, how="left", nulls_equal=True, maintain_order="left")
    # A test of only what both systems were scored on says nothing of another number.
    known = (pl.col("value") == pl.col("compared")) & pl.col("p").is_not_null()
    known &= pl.col("low").is_not_nan()
    told = pl.when(pl.col("better").is_null()).then(pl.lit(NEAR)).otherwise(pl.lit(WORSE))
    mark = pl.when("best").then(pl.lit(BEST)).when(known).then(told)
    return rows.select(*tables.SCHEMAS["summary"], mark.alias("mark"), "p")


def flips(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """Every field with what both systems made of it.

    Returns the gold's columns of *cases*; the systems' with the suffix ``_a`` and ``_b``;
    `right_a`, `right_b` and `flip`, one of `FLIPS`; `rights_a` and `rights_b`, whether a field is
    right as each other reading rule reads it, null where nothing was read under a box. Fields that
    could not be scored for one of the two are left out, and so is what no gold asks for, which
    `spurious_rate` counts.

    Raises `DataBroken` if the evaluations cannot be compared; the message says what differs.

    `first`, `second`: evaluations of the same corpus.
    """
    return flips_of_common(*common([first, second]).evaluations)


def flips_of_common(
    first: Evaluation, second: Evaluation, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """`flips` of two evaluations of one `common(…)`; `columns` that are nowhere are left out."""
    pair = first, second
    ids = [[part.documents["doc_id"].to_list() for part in each.parts()] for each in pair]
    # Parts that hold other documents are looked at together.
    parts = zip(*(each.parts() for each in pair), strict=True) if ids[0] == ids[1] else [pair]
    found = []
    for both in parts:
        table = _flipped(*both).with_columns(_flip())
        names = table.columns if columns is None else columns
        found.append(table.select(name for name in names if name in table.columns))
    return pl.concat(found, how="diagonal_relaxed")


def _flipped(first: Evaluation, second: Evaluation) -> pl.DataFrame:
    """The fields of two evaluations beside each other."""
    pair = first, second
    users = list(dict.fromkeys(n for each in pair for n in own_columns("cases", each.cases)))
    gold = [name for name in [*CASES, *users] if name not in SYSTEM and name not in KEY]
    named = [*SYSTEM, *_RIGHT]
    a, b = (_side(each, users).select(*KEY, *gold, *named) for each in pair)
    joined = a.join(b, on=KEY, nulls_equal=True, suffix="_b", maintain_order="left")
    joined = joined.with_columns(pl.coalesce(name, f"{name}_b") for name in gold)
    return joined.drop(f"{name}_b" for name in gold).rename({name: f"{name}_a" for name in named})


def _side(evaluation: Evaluation, users: Sequence[str]) -> pl.DataFrame:
    """The fields of one system, whether each is right, and right by each other reading rule."""
    cases = fields(evaluation).filter(of_gold())
    cases = cases.with_columns(pl.lit(None).alias(n) for n in users if n not in cases.columns)
    is_right = (pl.col("outcome") == "match").fill_null(False)
    cases = cases.with_columns(is_right.alias("right"))
    threshold = evaluation.settings.get("threshold", THRESHOLD)
    return cases.with_columns(rights(cases, "normalised", threshold=threshold))


def _flip() -> pl.Expr:
    place = 3 - 2 * pl.col("right_a").cast(pl.Int8) - pl.col("right_b").cast(pl.Int8)
    return place.replace_strict(dict(enumerate(FLIPS)), return_dtype=pl.Enum(FLIPS)).alias("flip")


def side(flipped: pl.DataFrame, which: str) -> pl.DataFrame:
    """The cases (schema CASES) of system ``a`` or ``b``, row for row: two tables to compare."""
    columns = [
        pl.col(f"{name}_{which}" if name in SYSTEM else name).cast(kind).alias(name)
        for name, kind in CASES.items()
    ]
    of_both = {f"{name}_{side}" for name in (*SYSTEM, *_RIGHT) for side in "ab"}
    of_both |= {*CASES, "turn", "flip"}
    users = [name for name in flipped.columns if name not in of_both]
    return tables.check("cases", flipped.select(*columns, *users))


def value_tests(
    first: Evaluation, second: Evaluation, by: Sequence[str], options: Mapping[str, Any]
) -> list[list[dict[str, Any]]]:
    """The tests of the values right of two systems, under their own and each other reading rule.

    All fields come first, with the greatest p (`surest`) with and without those that no claim may
    rest on. The slices are by columns of the gold, of documents or a user's own.
    """
    needed = dict.fromkeys([*_TESTED, *by, *(root for name in by for root in roots(name))])
    table = flips_of_common(first, second, columns=list(needed))
    codes = {name: number for number, name in enumerate(first.document_names)}
    labels = {name: getattr(first, name) for name in ("benchmark", "split", "mode")}
    labels |= {"system_a": first.system, "system_b": second.system}
    tested = []
    for flipped in (table, *_by_other_rules(table)):
        slices = _slices(flipped, first.documents, by) if flipped.height else ()
        pairs = [_pair(rows, codes, labels | of) for of, rows in slices]
        tested.append(paired_differences(pairs, **options))
    if tested[0]:
        tested[0][0]["surest"] = _surest_p(table, tested[0][0], codes, options)
    return tested


def _by_other_rules(table: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The flips as each other reading rule makes them; none where nothing was read under boxes."""
    counts = [table[f"rights_{which}"].list.len().max() or 0 for which in "ab"]
    for rule in range(max(counts)):
        right = {n: pl.col(f"rights_{n}").list.get(rule, null_on_oob=True) for n in "ab"}
        yield table.with_columns(
            value.fill_null(pl.col(f"right_{n}")).alias(f"right_{n}") for n, value in right.items()
        ).with_columns(_flip())


def _surest_p(
    table: pl.DataFrame, row: dict[str, Any], codes: dict[str, int], options: Mapping[str, Any]
) -> float:
    """The greatest p with and without what no claim may rest on; 1 where the sign changes."""
    p, count = row["p"], table.height
    for causes in ((READER,), (READER, LABEL)):
        odd = pl.any_horizontal(pl.col(f"cause_{side}").is_in(causes) for side in "ab")
        rest = table.filter(~odd.fill_null(False))
        if rest.height == count:
            continue
        if not rest.height:
            return 1.0
        count = rest.height
        (tested,) = paired_differences([_pair(rest, codes, {})], **{**options, "resamples": 0})
        same = np.sign(tested["difference"]) == np.sign(row["difference"])
        p = max(p, tested["p"]) if same else 1.0
    return p


def _slices(
    table: pl.DataFrame, documents: pl.DataFrame, by: Sequence[str]
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:
    yield {"slice_by": None, "slice_value": None}, table
    for column in by:
        values = sliced(table, documents, column)
        groups = table.with_columns(values.alias("_slice")).group_by("_slice", maintain_order=True)
        for (value,), rows in sorted(groups, key=lambda item: order(values, item[0][0])):
            # One slice that holds everything would only be tested once more.
            if rows.height < table.height:
                text = "none" if value is None else str(value)
                yield {"slice_by": column, "slice_value": text}, rows


def _pair(rows: pl.DataFrame, codes: dict[str, int], labels: dict[str, Any]) -> Pair:
    number = rows["doc_id"].replace_strict(codes, return_dtype=pl.Int64).to_numpy()
    total = np.ones(rows.height)
    counts = [by_document(number, [rows[f"right_{side}"], total], len(codes)) for side in "ab"]
    flipped = dict(rows["flip"].value_counts().iter_rows())
    labels = labels | {flip.replace(" ", "_"): flipped.get(flip, 0) for flip in FLIPS}
    labels |= {"metric": OUTCOME, "level": "field", "n_cases": rows.height}
    labels["task"] = rows["task"].first() if rows["task"].n_unique() == 1 else None
    labels["n_docs"] = rows["doc_id"].n_unique()
    return Pair(*counts, ratio, labels=labels)
