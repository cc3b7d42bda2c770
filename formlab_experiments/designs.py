"""Forms drawn to a plan, in which no factor goes along with another one.

In a benchmark, forms with more fields have more kinds of them, smaller print and other authors, so
that a surface over two of these shows all of them. A plan has each combination as often as others.
"""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl

from formlab import benchmarks, files
from formlab.errors import DataBroken, DataMissing, NotAvailable, UnknownName
from formlab.folders import Corpus
from formlab.show import progress
from formlab.workers import LOST, each
from formlab_experiments.form_contents import CONTENTS, Cell, Field, filled, form_of
from formlab_experiments.forms import formcraft, funsd
from formlab_experiments.forms.formcraft import Form
from formlab_experiments.forms.template import Drawing, draw

Layout = Literal["funsd", "formcraft"]
# What can vary, and its levels where none are named: see `design_plan`.
FACTORS: dict[str, tuple[float, ...]] = {
    "fields": (5, 10, 20, 40), "kinds": (1, 2, 4), "nesting": (0, 1, 2), "print": (6, 8, 10, 12),
    "handwriting": (0, 1),
}  # fmt: skip
EXPERIMENT, PLAN, CORPUS, FORMS = "experiment.json", "plan.csv", "corpus", "forms"
# Random sets that a fraction is looked for from.
STARTS = 20


def design_plan(
    factors: Mapping[str, Sequence[float]],
    *,
    replicates: int = 1,
    runs: int | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """The forms to draw: all combinations of the factors' levels, or a balanced fraction of them.

    Parameters
    ----------
    factors
        The levels of each factor that varies: `fields` (how many the form has), `kinds` (of how
        many contents they are), `nesting` (0: no groups, 1: groups, 2: groups in groups), `print`
        (its size in points, at 200 dots an inch) and `handwriting` (1: values written by hand).
        A factor that is not named stays at 20 fields, 4 kinds, nesting 1, 10 points, no
        handwriting. No level of a factor: those of `FACTORS`.
    replicates
        How many forms of other contents each combination has.
    runs
        How many of the combinations are drawn, if not all: those in which the levels of each
        factor, and of each pair of factors, are as equally frequent as they can be. Effects of
        single factors keep apart; interactions may not (`effects` says which).
    seed
        Of the contents, and of a fraction.

    Returns
    -------
    polars.DataFrame
        A row for each form: `doc_id`, the factors, `replicate`, and `first`, the content that its
        fields begin with. Where a form has not all contents, they take turns: over the forms of a
        level each of them is as frequent as the others, whatever the number of kinds.

    Raises
    ------
    UnknownName, DataBroken
        If a factor is unknown, a level of it makes no form, or there are fewer combinations.

    Examples
    --------
    >>> design_plan({"fields": [5], "print": [6, 12]}, replicates=2)["doc_id"].to_list()
    ['f5-p6-r1', 'f5-p6-r2', 'f5-p12-r1', 'f5-p12-r2']
    >>> design_plan({"fields": [5, 10], "print": [6, 12], "handwriting": [0, 1]}, runs=4).height
    4
    """
    if unknown := [name for name in factors if name not in FACTORS]:
        raise UnknownName.of("factor", unknown[0], FACTORS)
    levels = {
        name: [size if name == "print" else _whole(name, size) for size in given or FACTORS[name]]
        for name, given in factors.items()
    }
    table = crossed(
        levels, Cell()._asdict(), len(CONTENTS), replicates=replicates, runs=runs, seed=seed
    )
    for row in table.iter_rows(named=True):
        _of(row).checked()
    return table.with_columns(pl.col("print").cast(pl.Float64))


def _whole(name: str, level: Any) -> int:
    if not float(level).is_integer():
        what = f"{name}={level}: its levels are whole numbers"
        raise DataBroken(what, remedy=f"{name}={','.join(map(str, FACTORS[name]))}")
    return int(level)


def crossed(
    levels: Mapping[str, Sequence[Any]], usual: Mapping[str, Any], contents: int, *,
    replicates: int, runs: int | None, seed: int, between: str = "-",
) -> pl.DataFrame:  # fmt: skip
    """The plan of `design_plan` for any factors: their levels, and what does not vary is `usual`.

    `contents` is how many there are, which `first` counts; forms are named by their levels.
    """
    cells = list(product(*levels.values()))
    if runs is not None:
        if not 0 < runs <= len(cells):
            what = f"a fraction of {runs} of {len(cells)} combinations"
            raise DataBroken(what, where="runs", remedy=f"from 1 to {len(cells)}")
        cells = [cells[place] for place in balanced(levels, cells, runs, seed)]
    rows = []
    for cell in cells:
        own = dict(zip(levels, cell, strict=True))
        marks = [f"{name[0]}{v if isinstance(v, str) else f'{v:g}'}" for name, v in own.items()]
        for replicate in range(1, replicates + 1):
            name = between.join([*marks, f"r{replicate}"])
            rows.append({"doc_id": name, **usual, **own, "replicate": replicate})
    table = pl.DataFrame(rows)
    rng = np.random.default_rng(seed)
    turns = pl.Series("first", np.zeros(table.height, int))
    for _, group in table.with_row_index("row").group_by("kinds", maintain_order=True):
        turns[group["row"].to_list()] = rng.permutation(np.arange(group.height) % contents)
    return table.with_columns(turns)


def balanced(
    levels: Mapping[str, Sequence[Any]], cells: list[tuple[Any, ...]], runs: int, seed: int
) -> list[int]:
    """The places of cells in which levels, and pairs of levels, are most equally frequent.

    From several random sets, the best exchange of two cells is made until none is better, as for
    D-optimal designs (V. V. Fedorov, Theory of Optimal Experiments, 1972).
    """
    rng = np.random.default_rng(seed)
    sets = [(n,) for n in range(len(levels))] + list(combinations(range(len(levels)), 2))
    keys = [[(names, *(cell[n] for n in names)) for names in sets] for cell in cells]
    known = {key: place for place, key in enumerate(dict.fromkeys(k for ks in keys for k in ks))}
    marks = np.zeros((len(cells), len(known)), dtype=int)
    for place, row in enumerate(keys):
        marks[place, [known[key] for key in row]] = 1
    # Levels of few weigh as much as those of many, in whole numbers: every machine finds the same.
    counts = marks.sum(0)
    alike, found = (marks * (math.lcm(*counts.tolist()) // counts)) @ marks.T, []
    own = np.diag(alike)
    for _ in range(STARTS):
        order = rng.permutation(len(cells))
        inside, outside = order[:runs], order[runs:]
        while outside.size:
            scores = alike[:, inside].sum(1)
            change = 2 * (scores[outside] - scores[inside, None] - alike[np.ix_(inside, outside)])
            change += own[outside] + own[inside, None]
            leaves, enters = np.unravel_index(change.argmin(), change.shape)
            if change[leaves, enters] >= 0:
                break
            inside[leaves], outside[enters] = outside[enters], inside[leaves]
        found.append((int(alike[np.ix_(inside, inside)].sum()), sorted(inside.tolist())))
    return min(found)[1]


def design(
    factors: Mapping[str, Sequence[float]],
    *,
    out: str | Path,
    replicates: int = 1,
    runs: int | None = None,
    seed: int = 0,
    layout: Layout = "funsd",
    workers: int | str = 1,
) -> Corpus:
    """Draw the forms of a plan, with their gold, below `out`; the same call draws none again.

    Parameters
    ----------
    factors, replicates, runs, seed
        As for `design_plan`.
    out
        The folder of the experiment: ``forms`` is a benchmark in the layout of FUNSD or FORMCRAFT,
        which `formlab.load` reads; ``plan.csv`` and ``corpus`` have the factors as well.
    layout
        ``funsd``: words, entities and links; ``formcraft``: a tree of fields, with a consistency
        check for each total. The pages are the same.
    workers
        As for `formlab.workers.each`: who draws.

    Returns
    -------
    Corpus
        Its documents have the factors and `page_of` as own columns, its fields `content`: the kind
        of value, one of text, date, amount, number, choice and total, or null for a label.

    Raises
    ------
    UnknownName, DataBroken
        As for `design_plan`; or if `out` has another experiment.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     corpus = design({"fields": [5]}, out=out, seed=1)
    >>> corpus.documents.select("doc_id", "fields", "print").rows()
    [('f5-r1', 5, 10.0)]
    """
    out, table = Path(out), design_plan(factors, replicates=replicates, runs=runs, seed=seed)
    head = {
        "kind": "design", "factors": {n: list(v) or list(FACTORS[n]) for n, v in factors.items()},
        "replicates": replicates, "runs": runs, "seed": seed, "layout": layout,
    }  # fmt: skip
    begin(out, head, table)
    draw_rows(out, out / FORMS, table["doc_id"].to_list(), workers=workers)
    corpus = designed(out)
    corpus.save(out / CORPUS)
    return corpus


def begin(out: Path, head: dict[str, Any], table: pl.DataFrame) -> None:
    """Write what an experiment is, and its plan; `DataBroken` if `out` has another one."""
    if (out / EXPERIMENT).is_file() and (there := files.read_json(out / EXPERIMENT)) != head:
        other = [name for name in head if there.get(name) != head[name]]
        what = f"the folder has an experiment of other {', '.join(other)}"
        raise DataBroken(what, where=out / EXPERIMENT, remedy="another folder for --out")
    files.write_json(out / EXPERIMENT, head)
    files.write_text(out / PLAN, table.write_csv())


def draw_rows(
    experiment: str | Path, out: str | Path, names: Sequence[str], *, workers: int | str = 1
) -> None:
    """Draw the forms of these names below `out`, by the plan in the folder of an experiment."""
    head, table = files.read_json(Path(experiment) / EXPERIMENT), _plan_in(Path(experiment))
    how = {"out": str(Path(out).resolve()), "seed": head["seed"], "layout": head["layout"]}
    jobs = [row | how for row in table.to_dicts() if row["doc_id"] in set(names)]
    with progress("forms drawn") as bars:
        bar = bars.add_task("design", total=len(jobs))
        for job, result in each(_draw_one, jobs, workers=workers):
            if result is LOST:
                remedy = "fewer --workers, so that each has more memory"
                raise NotAvailable(f"{job['doc_id']} is not drawn: {LOST}", remedy=remedy)
            bars.update(bar, advance=1)


def _plan_in(experiment: Path) -> pl.DataFrame:
    return pl.read_csv(experiment / PLAN, glob=False, schema_overrides={"print": pl.Float64})


def drawn(row: Mapping[str, Any], seed: int) -> tuple[Form, Drawing]:
    """The form of a row of a plan; its pages are drawn when they are asked for."""
    name, fields = f"{seed}/{row['doc_id']}", _fields(row, seed)
    form = form_of(_of(row), fields, row["doc_id"], name)
    return form, draw(form, seed)


def _of(row: Mapping[str, Any]) -> Cell:
    return Cell(*(row[name] for name in Cell._fields))


def _fields(row: Mapping[str, Any], seed: int) -> list[Field]:
    return filled(_of(row), f"{seed}/{row['doc_id']}", row["first"])


def _draw_one(job: dict[str, Any]) -> None:
    """Draw a form, unless its annotation, which is written last, is there."""
    out, name = Path(job["out"]), job["doc_id"]
    home = {"funsd": out / "testing_data" / "annotations", "formcraft": out / "test" / "forms"}
    if (home[job["layout"]] / f"{name}.json").is_file():
        return
    form, page = drawn(job, job["seed"])
    if job["layout"] == "funsd":
        funsd.write_form(out / "testing_data", name, page)
    else:
        formcraft.write_form(out, form, page)


def designed(out: str | Path) -> Corpus:
    """The forms that `design` drew below `out`, with what is known of them as own columns.

    Raises
    ------
    DataMissing
        If there is no such experiment.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     _ = design({"fields": [5], "kinds": [2]}, out=out, layout="formcraft", seed=2)
    ...     corpus = designed(out)
    >>> sorted(corpus.records["content"].drop_nulls().unique())
    ['date', 'text']
    """
    out = Path(out)
    if not (out / EXPERIMENT).is_file():
        remedy = "formlab design --out FOLDER makes one"
        raise DataMissing("no experiment", where=out / EXPERIMENT, remedy=remedy)
    head = files.read_json(out / EXPERIMENT)
    table = _plan_in(out)
    corpus = benchmarks.load(head["layout"], root=out / FORMS, split="test")
    own = table.select("doc_id", pl.col("doc_id").alias("page_of"), *FACTORS, "replicate")
    documents = corpus.documents.join(own, on="doc_id", how="inner", maintain_order="left")
    records = corpus.records.filter(pl.col("doc_id").is_in(documents["doc_id"].to_list()))
    rows = []
    for row in table.to_dicts():
        fields = _fields(row, head["seed"])
        rows += [(row["doc_id"], n, f.label, f.content) for n, f in enumerate(fields)]
    schema = {"doc_id": pl.String, "place": pl.UInt32, "label": pl.String, "content": pl.String}
    contents = pl.DataFrame(rows, schema=schema, orient="row")
    if head["layout"] == "funsd":
        # The answers of a page, in the order in which they were drawn.
        answers = records.filter(pl.col("kind") == "answer").select("doc_id", "path")
        answers = answers.with_columns(place=pl.int_range(pl.len(), dtype=pl.UInt32).over("doc_id"))
        contents = contents.join(answers, on=["doc_id", "place"])
    else:
        answers = records.filter(pl.col("modality").is_not_null() & pl.col("path").is_not_null())
        answers = answers.select("doc_id", "path", label=pl.col("path").str.split("/").list.last())
        contents = contents.join(answers, on=["doc_id", "label"])
    contents = contents.select("doc_id", "path", "content")
    records = records.join(contents, on=["doc_id", "path"], how="left", maintain_order="left")
    return dataclasses.replace(corpus, documents=documents, records=records)
