"""Scans whose values can be changed, by new ink in their boxes, and the review of that."""

import base64
import io
from collections.abc import Collection, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
from PIL import Image

from formlab import decisions, files, pictures, tables
from formlab.benchmarks.corpus import page_images
from formlab.errors import DataBroken, DataMissing
from formlab.folders import Corpus
from formlab_experiments.counterfactual import HEAD, REPLACED, Changed
from formlab_experiments.ink import Replaced, replace_ink
from formlab_experiments.relations import ITEMS

REVIEW = "replaced.html"
_AROUND = (160, 24)
Row = dict[str, Any]


class Scans:
    """Pages of a corpus of FORMCRAFT, FUNSD and SROIE among them, changed by replacing ink.

    Parameters
    ----------
    corpus
        As from ``formlab.load("formcraft", root=…)``; documents without an image, or
        of several pages, are left out.
    """

    def __init__(self, corpus: Corpus) -> None:
        there = [
            row["doc_id"]
            for row in corpus.documents.drop_nulls("image").iter_rows(named=True)
            if corpus.root is not None
            and (corpus.root / row["image"]).is_file()
            and len(page_images(row)) < 2
        ]
        if not there:
            raise DataMissing(
                "no document of this corpus is one page with an image", where=corpus.root
            )
        chosen = pl.col("doc_id").is_in(there)
        self.corpus = Corpus(
            corpus.documents.filter(chosen), corpus.records.filter(chosen),
            corpus.benchmark, corpus.split, corpus.root,
        )  # fmt: skip
        fields = self.corpus.records.filter(~pl.col("task").is_in(ITEMS))
        self._fields = {
            key: rows.to_dicts() for (key,), rows in fields.group_by("doc_id", maintain_order=True)
        }
        self._image = lru_cache(4)(self._read)
        # The same replacement stands in several copies of a page.
        self._replaced = cache(self._replace)

    def options(self, page_of: str, path: str) -> tuple[str, ...] | None:
        """Anything (empty) where a font fits the ink at a path, else nothing (None)."""
        try:
            self._replaced(page_of, path, "")
        except DataBroken:
            return None
        return ()

    def can_be_blank(self, page_of: str, path: str) -> bool:
        """Whether a value can be left out: its ink is always taken away first."""
        return self.options(page_of, path) == ()

    def page(self, page_of: str, values: Mapping[str, str], legible: Collection[str]) -> Changed:  # noqa: ARG002
        """A page with other ink at some paths, grey."""
        image, rows, done = self._image(page_of), [], []
        image = image.copy()
        places = {}
        for path, value in values.items():
            new = self._replaced(page_of, path, value)
            field = next(row for row in self._fields[page_of] if row["path"] == path)
            area = _around([field[side] for side in tables.BOX], new.box, image.size)
            image.paste(new.image.crop(area), area[:2])
            places[path] = new
            shown = _around(new.box, area, image.size, _AROUND)
            row = {"path": path, "old": field["value"], "new": value, "area": shown}
            done.append(row | {"face": new.match.face, "fit": float(new.match.fit)})
        for field in self._fields[page_of]:
            row = dict(field)
            if field["path"] in places:
                box = dict(zip(tables.BOX, places[field["path"]].box, strict=True))
                row |= {"value": values[field["path"]], "accepted": None} | box
            rows.append(row)
        return Changed(lambda: [image], [image.size], rows, done)

    def _read(self, page_of: str) -> Image.Image:
        row = tables.only(self.corpus.documents, doc_id=page_of).row(0, named=True)
        return pictures.read_image(self.corpus.root / row["image"]).convert("L")

    def _replace(self, page_of: str, path: str, value: str) -> Replaced:
        fields = [row for row in self._fields.get(page_of, ()) if row["path"] == path]
        if not fields or not fields[0]["value"] or fields[0]["x0"] is None:
            raise DataBroken("a value without a place on the page", where=f"{page_of}{path}")
        box = tuple(fields[0][side] for side in tables.BOX)
        return replace_ink(self._image(page_of), box, fields[0]["value"], value)


def _around(
    box: Sequence[float], other: Sequence[float], size: tuple[int, int],
    pad: tuple[int, int] = (6, 6),
) -> tuple[int, int, int, int]:  # fmt: skip
    """The whole pixels around two boxes, within the page."""
    x0, y0, x1, y1 = (
        min(box[0], other[0]), min(box[1], other[1]), max(box[2], other[2]), max(box[3], other[3])
    )  # fmt: skip
    return (
        max(0, int(x0) - pad[0]), max(0, int(y0) - pad[1]),
        min(size[0], int(x1) + pad[0]), min(size[1], int(y1) + pad[1]),
    )  # fmt: skip


def review_page(corpus: Corpus, pages: Scans, out: str | Path) -> Path:
    """Write a page that shows each replacement before and after, to accept or reject it.

    The buttons make a file of decisions (`formlab.decisions`) in the browser, which `accepted`
    reads. A replacement that stands in several copies is shown once.

    Parameters
    ----------
    corpus
        As from `counterfactual_corpus`.
    pages
        What it was made of.
    out
        The folder of the experiment.

    Returns
    -------
    pathlib.Path
        ``out/replaced.html``.
    """
    out, rows, seen = Path(out), [], set()
    for row in files.read_json(out / REPLACED):
        if (key := (row["page_of"], row["path"], row["new"])) in seen:
            continue
        seen.add(key)
        before = pages.page(row["page_of"], {}, ()).images()[0]
        with Image.open(out / row["image"]) as image:
            after = image.convert("L")
        crops = {name: _png(image.crop(row["area"])) for name, image in
                 (("before", before), ("after", after))}  # fmt: skip
        decision = {"benchmark": corpus.benchmark, "split": corpus.split, "doc_id": row["doc_id"],
                    "task": "text", "path": row["path"], "label": row["new"]}  # fmt: skip
        rows.append(row | crops | {"decision": decision})
    folder = jinja2.PackageLoader("formlab_experiments", "assets")
    page = jinja2.Environment(loader=folder, autoescape=True).get_template(REVIEW)
    files.write_text(out / REVIEW, page.render(rows=rows))
    return out / REVIEW


def _png(image: Image.Image) -> str:
    data = io.BytesIO()
    image.save(data, format="PNG")
    return base64.b64encode(data.getvalue()).decode()


def accepted(corpus: Corpus, out: str | Path, decided: str | Path) -> Corpus:
    """The copies none of whose replacements was rejected.

    Parameters
    ----------
    corpus
        As from `counterfactual_corpus`.
    out
        The folder of the experiment.
    decided
        A file of decisions, or a folder of them; what one reviewer rejects is left out.

    Returns
    -------
    Corpus
        Without the copies in which a rejected replacement stands.

    Raises
    ------
    DataMissing, DataBroken
        If there are no decisions, or a line is none.
    """
    made = files.read_json(Path(out) / REPLACED)
    no = decisions.read(decided).filter(pl.col("decision").is_in(["reject", "wrong"]))
    keys = set(no.select("doc_id", "path").rows())
    of_key = {
        (row["doc_id"], row["path"]): (row["page_of"], row["path"], row["new"]) for row in made
    }
    if unknown := sorted(f"{doc}{path}" for doc, path in keys - of_key.keys()):
        raise DataBroken(
            f"decided on a replacement that is not there: {unknown[0]}", where=Path(out) / HEAD,
            remedy="decide on the page of this experiment",
        )  # fmt: skip
    rejected = {of_key[key] for key in keys}
    left_out = [row["doc_id"] for row in made if of_key[row["doc_id"], row["path"]] in rejected]
    kept = ~pl.col("doc_id").is_in(left_out)
    return Corpus(
        corpus.documents.filter(kept), corpus.records.filter(kept), corpus.benchmark, corpus.split,
        corpus.root, corpus.flaws | {"copies left out by decisions": len(set(left_out))},
    )  # fmt: skip
