"""Pages on which one value is changed, to see what the answers follow.

Of a relation, such as a total that is the sum of its parts, five copies of the page are made, and
one as it was:

============= ================== ======================= ========================================
change        sources            dependent value         what there is to follow
============= ================== ======================= ========================================
original      as they were       as it was               evidence and ink (the same, if it holds)
source        one is changed     as it was               evidence against ink
dependent     as they were       another                 evidence against ink
contradicted  one is changed     another                 evidence, ink and prior, all different
blank         one is changed     none                    evidence against prior, no ink
consistent    one is changed     what follows from them  evidence and ink agree: the control
============= ================== ======================= ========================================

The *evidence* is what the sources imply, the *ink* what stands in the field, and the *prior* what
stood there on the original page and stands in no field of the copy. Any two of them differ in two
characters, if they are longer than two, so that one misread character does not turn one into the
other.
"""

import hashlib
import json
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import polars as pl
from PIL import Image

from formlab import files, tables
from formlab.benchmarks import formcraft
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus
from formlab_experiments.relations import (
    ITEMS,
    Relation,
    another,
    apart,
    relations_of,
    same,
)

CHANGES = ("original", "source", "dependent", "contradicted", "blank", "consistent")
_TRIES = 300
IMAGES, CORPUS, HEAD = "images", "corpus", "experiment.json"
# The ink that was replaced in scans.
REPLACED = "replaced.json"
Row = dict[str, Any]


class Changed(NamedTuple):
    """A changed page: what makes its images, their sizes, the rows of its fields, and new ink."""

    images: Callable[[], Sequence[Image.Image]]
    sizes: Sequence[tuple[int, int]]
    fields: Sequence[Row]
    replaced: Sequence[Row] = ()


class Pages(Protocol):
    """Pages whose values can be changed: `Templates`, or `Scans`."""

    corpus: Corpus

    def options(self, page_of: str, path: str) -> tuple[str, ...] | None:
        """What can stand at a path: anything (empty), some options, or nothing else (None)."""

    def can_be_blank(self, page_of: str, path: str) -> bool:
        """Whether a value can be left out."""

    def page(self, page_of: str, values: Mapping[str, str], legible: Collection[str]) -> Changed:
        """A page with other values at some paths; those `legible` are smudged nowhere."""


@dataclass(frozen=True)
class Variant:
    """A copy of a page: what was changed for which relation, and what an answer could follow.

    `values` are those that were changed, by path; `ink` and `prior` are None where there is no
    such value, and "" where the field is empty.
    """

    relation: Relation
    change: str
    values: dict[str, str]
    evidence: str | None
    ink: str | None
    prior: str | None

    @property
    def doc_id(self) -> str:
        """The name of the copy: the page, the item and the change."""
        item = re.sub(r"\W+", "-", self.relation.item.rpartition("/")[2])
        kind = {"vqa": "q", "alone": "a"}.get(self.relation.item.split("/")[1], "")
        return f"{self.relation.page_of}.{kind}{item}.{self.change}"


def variants(pages: Pages, relation: Relation, *, seed: int = 0) -> list[Variant]:
    """The copies of a page that are made for a relation; none if it cannot be changed.

    Which source is changed, and to what, follows the seed and the names alone.
    """
    generator = random.Random(f"{seed}/{relation.page_of}{relation.item}")
    page_of, dependent = relation.page_of, relation.dependent
    values = _values(pages.corpus, page_of)
    ink = None if dependent is None else values[dependent]
    original = Variant(relation, "original", {}, relation.expected, ink, ink)
    if relation.relation == "alone":
        return _alone(pages, replace(original, evidence=None), generator)
    if dependent is not None and pages.options(page_of, dependent) != ():
        return []
    sources = [
        p for p in relation.paths if p != dependent and pages.options(page_of, p) is not None
    ]
    taken = [relation.expected, *filter(None, [ink])]
    for _ in range(_TRIES if sources else 0):
        path = generator.choice(sources)
        try:
            new = _another(relation, values[path], pages.options(page_of, path), generator)
            evidence = relation.implied(values | {path: new})
        except DataBroken:
            continue
        likely = len(evidence) == len(relation.expected) and not evidence.startswith("-")
        if likely and new != values[path] and apart(evidence, taken):
            break
    else:
        return []
    source = Variant(relation, "source", {path: new}, evidence, ink, ink)
    if dependent is None:
        # The prior is the answer to the page as it was.
        return [replace(each, prior=relation.expected) for each in (original, source)]
    other = _other(ink, [evidence, *taken], generator)
    if other is None:
        return []
    changed = {dependent: other}
    both, blanked = ({**source.values, dependent: value} for value in (evidence, ""))
    copies = [
        original, source,
        Variant(relation, "dependent", changed, relation.expected, other, ink),
        Variant(relation, "contradicted", source.values | changed, evidence, other, ink),
        Variant(relation, "blank", blanked, evidence, "", ink),
        Variant(relation, "consistent", both, evidence, evidence, ink),
    ]  # fmt: skip
    copies = [_without_prior_elsewhere(each, values) for each in copies]
    blank = pages.can_be_blank(page_of, dependent)
    return [each for each in copies if each.change != "blank" or blank]


def _without_prior_elsewhere(variant: Variant, values: Mapping[str, str]) -> Variant:
    """No prior where another field of the copy still says it: such an answer follows the page."""
    rest = {path: value for path, value in (values | variant.values).items()
            if path != variant.relation.dependent}  # fmt: skip
    stated = any(same(value, variant.prior, variant.relation.kind) for value in rest.values())
    return replace(variant, prior=None) if stated and variant.change != "original" else variant


def _alone(pages: Pages, original: Variant, generator: random.Random) -> list[Variant]:
    """A value that follows from nothing: changed, and left out."""
    path, ink = original.relation.dependent, original.ink
    other = _other(ink, [ink], generator)
    if pages.options(original.relation.page_of, path) != () or other is None:
        return []
    changed = replace(original, change="dependent", values={path: other}, ink=other)
    blank = replace(original, change="blank", values={path: ""}, ink="")
    return [original, changed, blank]


def _another(
    relation: Relation, value: str, options: tuple[str, ...] | None, generator: random.Random
) -> str:
    """Another value of a source: one of its options, of one cell of its table, or any."""
    if options:
        return generator.choice(options)
    if relation.column is None:
        return another(value, generator)
    lines = [line.split("|") for line in value.split("\n")]
    place = [cell.strip() for cell in lines[0]].index(relation.column)
    row = generator.choice(
        [line for line in lines[1:] if len(line) > place and line[place].strip()]
    )
    row[place] = row[place].replace(row[place].strip(), another(row[place].strip(), generator))
    return "\n".join("|".join(line) for line in lines)


def _other(value: str, taken: Collection[str], generator: random.Random) -> str | None:
    """A value written as `value` is that is none of those taken, nor close to one."""
    for _ in range(_TRIES):
        try:
            other = another(value, generator)
        except DataBroken:
            return None
        if apart(other, taken):
            return other
    return None


def _values(corpus: Corpus, page_of: str) -> dict[str, str]:
    rows = corpus.records.filter(
        ~pl.col("task").is_in(ITEMS), pl.col("kind") != "group", doc_id=page_of
    )
    return {path: value or "" for path, value in rows.select("path", "value").iter_rows()}


def counterfactual_corpus(
    pages: Pages,
    *,
    out: str | Path,
    seed: int = 0,
    limit: int | None = None,
    each: int | None = None,
    changes: Sequence[str] = CHANGES,
    alone: Collection[str] = (),
    draw: bool = True,
) -> Corpus:
    """Copies of pages with changed values, as a corpus that any system can read.

    Parameters
    ----------
    pages
        `Templates`, which are drawn again, or `Scans`, in which the ink of a value is replaced.
    out
        The folder of the experiment: ``images``, ``corpus`` and ``experiment.json`` go there.
    seed
        Of the choice of sources and new values.
    limit
        Only the first so many pages that have a relation that can be changed.
    each
        Only so many relations of a page, drawn by the seed.
    changes
        Which copies are made: names of `CHANGES`.
    alone
        Kinds of fields that are changed without a relation.
    draw
        False makes the corpus alone; the images must be there from a call before.

    Returns
    -------
    Corpus
        A document for each copy, with the columns `page_of`, `relation`, `item`, `dependent` (a
        path), `change`, and `evidence`, `ink` and `prior`, the values that an answer can follow.
        The gold of a field is what stands on the page; that of the item is the evidence.

    Raises
    ------
    DataMissing
        If no relation of these pages can be changed.

    Examples
    --------
    >>> import tempfile
    >>> from formlab_experiments.forms.content import load_all
    >>> from formlab_experiments.forms.formcraft import Form
    >>> from formlab_experiments.redrawn import Templates
    >>> pages = Templates([load_all("formcraft", Form)[3]], seed=7)
    >>> with tempfile.TemporaryDirectory() as out:
    ...     corpus = counterfactual_corpus(pages, out=out, changes=["source"], draw=False)
    >>> corpus.documents.select("page_of", "relation", "change").row(0)
    ('event_booking', 'product', 'source')
    """
    out, gold = Path(out), pages.corpus.records.select("doc_id", "path", "value", *tables.BOX)
    head = {
        "kind": "counterfactual", "seed": seed, "changes": list(changes), "pages": limit,
        "each": each, "alone": sorted(alone), "version": files.version(),
        "gold": hashlib.sha256(repr(gold.rows()).encode()).hexdigest(),
    }  # fmt: skip
    if (out / HEAD).exists() and files.read_json(out / HEAD) == head:
        return replace(Corpus.load(out / CORPUS), root=out.resolve())
    of_pages = dict[str, list[list[Variant]]]()
    for relation in relations_of(pages.corpus, alone=alone):
        if len(of_pages) == limit and relation.page_of not in of_pages:
            break
        if copies := variants(pages, relation, seed=seed):
            of_pages.setdefault(relation.page_of, []).append(copies)
    chosen = []
    for page_of in of_pages:
        drawn, count = of_pages[page_of], len(of_pages[page_of])
        places = random.Random(f"{seed}/{page_of}").sample(range(count), min(each or count, count))
        chosen += [copy for place in sorted(places) for copy in drawn[place]]
    chosen = [copy for copy in chosen if copy.change in changes]
    if not chosen:
        raise DataMissing(
            "no value of these pages can be changed", where=pages.corpus.benchmark,
            remedy="relations need a formula, a column or a source of the same value",
        )  # fmt: skip
    documents, records, replaced = [], [], []
    for variant in chosen:
        document, rows, new = _copy(pages, variant, out, draw=draw)
        documents.append(document)
        records += rows
        replaced += new
    corpus = _corpus(pages, documents, records, out)
    corpus.save(out / CORPUS)
    if replaced:
        files.write_json(out / REPLACED, replaced)
    files.write_json(out / HEAD, head)
    return corpus


def _copy(
    pages: Pages, variant: Variant, out: Path, *, draw: bool
) -> tuple[Row, list[Row], list[Row]]:
    """The document of a copy, its gold and its new ink; its images are written if asked."""
    relation, doc_id = variant.relation, variant.doc_id
    changed = pages.page(relation.page_of, variant.values, relation.paths)
    numbers = range(2, len(changed.sizes) + 1)
    # The name of a page has no say over other folders.
    stem = f"{IMAGES}/" + re.sub(r"[^\w.-]", "_", doc_id)
    names = [f"{stem}.png", *(f"{stem}_{n}.png" for n in numbers)]
    for name, image in zip(names, changed.images() if draw else (), strict=False):
        with files.atomic(out / name) as file:
            image.save(file, format="PNG", optimize=True)
    items = _items(pages.corpus, variant)
    asked = [
        {"id": row["path"].rpartition("/")[2], "question": meta.question}
        | ({"options": list(meta.options)} if meta.options else {})
        for row in items
        if (meta := formcraft.item_meta(row)).question
    ]
    document = tables.only(pages.corpus.documents, doc_id=relation.page_of).row(0, named=True)
    meta = {"pages": names} | ({"questions": asked} if asked else {})
    width, height = changed.sizes[0]
    document |= {
        "doc_id": doc_id, "image": names[0], "width": width, "height": height,
        "meta": json.dumps(meta, ensure_ascii=False),
        "page_of": relation.page_of, "relation": relation.relation, "item": relation.item,
        "dependent": relation.dependent, "change": variant.change,
        "evidence": variant.evidence, "ink": variant.ink, "prior": variant.prior,
    }  # fmt: skip
    same = {"doc_id": doc_id, "origin": None}
    of_copy = {"doc_id": doc_id, "page_of": relation.page_of, "image": names[0]}
    replaced = [row | of_copy for row in changed.replaced]
    return document, [dict(row) | same for row in (*changed.fields, *items)], replaced


def _items(corpus: Corpus, variant: Variant) -> list[Row]:
    """The check or question of the relation, and others that say the same, with its answer now."""
    relation = variant.relation
    rows = corpus.records.filter(pl.col("task").is_in(ITEMS), doc_id=relation.page_of).to_dicts()
    own = next((row for row in rows if row["path"] == relation.item), None)
    derivation = formcraft.item_meta(own).derivation
    return [
        row | {"value": variant.evidence, "accepted": None}
        for row in rows
        if row is own or (derivation and formcraft.item_meta(row).derivation == derivation)
    ]


def _corpus(pages: Pages, documents: list[Row], records: list[Row], out: Path) -> Corpus:
    benchmark, split = pages.corpus.benchmark, pages.corpus.split
    same = {"benchmark": benchmark, "split": split}
    own = ("page_of", "relation", "item", "dependent", "change", "evidence", "ink", "prior")
    columns = pl.DataFrame(
        [{name: row.pop(name) for name in own} for row in documents],
        schema=dict.fromkeys(own, pl.String),
    )
    known = [{name: row[name] for name in tables.DOCUMENTS} for row in documents]
    gold = tables.table("records", records, **same | {"role": "gold", "status": "ok"})
    return Corpus(
        pl.concat([tables.table("documents", known), columns], how="horizontal"), gold,
        benchmark, split, out.resolve(),
    )  # fmt: skip
