"""The pages of a benchmark, each made worse by known amounts: a corpus of pages in pairs."""

import dataclasses
import json
import random
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from formlab import files
from formlab.benchmarks.corpus import meta_of, page_images
from formlab.errors import DataBroken
from formlab.folders import MANIFEST, Corpus
from formlab.show import progress
from formlab.systems.pages import document_pages
from formlab.systems.runs import first
from formlab.tables import BOX
from formlab_experiments.degradations import DEGRADATIONS, degrade, find

# The degradation of the pages as they are, of which there is one for all.
NONE = "none"
HEAD, CORPUS, IMAGES = "experiment.json", "corpus", "images"
# Of one page with one degradation: its amount, and the step towards the worst one, from 1.
Level = tuple[str, float, int]


def plan(vary: str | Sequence[str]) -> list[Level]:
    """The levels of an experiment, the pages as they are first.

    Parameters
    ----------
    vary
        Degradations with their amounts, ``blur=0:3:4`` (from, to, number), ``blur=2`` (a single
        one) or ``blur`` (its own range), as a list or with commas between. The amount that changes
        nothing stands there once for all and is left out of each.

    Returns
    -------
    list of (str, float, int)
        Degradation, amount and step; step 0 is the page as it is, of ``none``.

    Raises
    ------
    UnknownName
        If there is no such degradation.
    DataBroken
        If amounts cannot be read, are out of range, or a degradation is named twice.

    Examples
    --------
    >>> plan("blur=0:3:4,scale=0.5")
    [('none', 0.0, 0), ('blur', 1.0, 1), ('blur', 2.0, 2), ('blur', 3.0, 3), ('scale', 0.5, 1)]
    """
    texts = ([vary] if isinstance(vary, str) else list(vary)) or list(DEGRADATIONS)
    levels: list[Level] = [(NONE, 0.0, 0)]
    for text in (word.strip() for each in texts for word in each.split(",")):
        name, _, amounts = text.partition("=")
        degradation = find(name)
        if any(name == known for known, *_ in levels):
            raise DataBroken(f"{name} is there twice", where=text, remedy="one range for each")
        values = _amounts(amounts or degradation.levels, text)
        ends = sorted((degradation.neutral, degradation.most))
        if out := [value for value in values if not ends[0] <= value <= ends[1]]:
            what = f"{name} of {out[0]:g} is not between {ends[0]:g} and {ends[1]:g}"
            raise DataBroken(what, where=text, remedy=f"{name}={degradation.levels}")
        values = [value for value in values if value != degradation.neutral]
        values.sort(key=lambda value, neutral=degradation.neutral: abs(value - neutral))
        levels += [(name, value, step) for step, value in enumerate(values, start=1)]
    return levels


def _amounts(text: str, where: str) -> list[float]:
    parts = text.split(":")
    try:
        if len(parts) == 1:
            return [float(text)]
        begin, end, number = float(parts[0]), float(parts[1]), int(parts[2])
        if len(parts) == 3 and 1 < number <= 100 and begin != end:
            # Seven digits are enough for a name, and 0.30000000000000004 is none.
            return [float(f"{value:.7g}") for value in np.linspace(begin, end, number)]
    except (ValueError, IndexError):
        pass
    remedy = "from:to:number, as in blur=0:3:4, or one amount"
    raise DataBroken(f"no amounts: {text!r}", where=where, remedy=remedy)


def stress_corpus(
    corpus: Corpus, vary: str | Sequence[str] = (), *, out: str | Path, pages: int | None = None,
    seed: int = 0,
) -> Corpus:  # fmt: skip
    """The same documents of `corpus` at every level of every degradation, with their gold.

    Parameters
    ----------
    corpus
        Documents with images.
    vary
        As for `plan`; all degradations, if left out.
    out
        The folder of the experiment. Pages go into ``out/images``, the corpus into ``out/corpus``;
        the same call again draws nothing that is there.
    pages
        How many documents, drawn by `seed`; all, if left out.
    seed
        Of the draw, and of what is random in the degradations.

    Returns
    -------
    Corpus
        With the columns `page_of` (the document it was made from), `degradation`, `amount` and
        `step` of documents, and `print` of records: the height of the gold's words in pixels of
        the page as it is. All boxes are where the degraded page has what was in them.

    Raises
    ------
    DataBroken
        If `out` holds another experiment, or as `plan`.
    DataMissing
        If no document has an image.

    Examples
    --------
    >>> import formlab, tempfile
    >>> with tempfile.TemporaryDirectory() as out:
    ...     made = stress_corpus(formlab.load("funsd"), "skew=3", out=out, pages=1)
    >>> made.documents.select("degradation", "amount", "step").rows()
    [('none', 0.0, 0), ('skew', 3.0, 1)]
    """
    out, levels = Path(out).absolute(), plan(vary)
    chosen = _drawn(corpus, pages, seed)
    head = {
        "kind": "stress", "benchmark": corpus.benchmark, "split": corpus.split, "seed": seed,
        "plan": [list(level) for level in levels], "pages": chosen["doc_id"].to_list(),
    }  # fmt: skip
    begin(out, head)
    if (made := _there(out)) is not None:
        return made
    gold = with_print(corpus.records.filter(pl.col("doc_id").is_in(head["pages"])))
    parts = gold.partition_by("doc_id", as_dict=True)
    documents, records = [], []
    with progress("pages drawn") as bars:
        bar = bars.add_task("stress", total=chosen.height * len(levels))
        for document in chosen.to_dicts():
            own = parts.get((document["doc_id"],), gold.clear())
            for row, rows in _versions(document, own, corpus.root, levels, out, seed):
                documents.append(row)
                records.append(rows)
                bars.update(bar, advance=1)
    # By level, so that a run that is stopped has whole levels.
    frame = pl.DataFrame(documents, schema=_schema(corpus.documents), orient="row")
    order = {(name, step): place for place, (name, _, step) in enumerate(levels)}
    place = [order[key] for key in frame.select("degradation", "step").rows()]
    frame = frame.with_columns(pl.Series("place", place)).sort("place", maintain_order=True)
    made = dataclasses.replace(
        corpus, documents=frame.drop("place"), records=pl.concat(records), root=out
    )
    made.check().save(out / CORPUS)
    return made


def _there(out: Path) -> Corpus | None:
    """The corpus of an experiment whose pages have all been drawn."""
    if not (out / CORPUS / MANIFEST).is_file():
        return None
    made = dataclasses.replace(Corpus.load(out / CORPUS), root=out)
    images = (file for row in made.documents.to_dicts() for file in page_images(row))
    return made if all((out / file).is_file() for file in images) else None


def begin(out: Path, head: dict[str, Any]) -> None:
    """Write what the experiment in `out` is; `DataBroken` if another one is there."""
    file, head = out / HEAD, json.loads(json.dumps(head | {"version": files.version()}))
    before = files.read_json(file) if file.is_file() else head
    changed = [name for name in head if before.get(name) != head[name] and name != "version"]
    if changed:
        what = f"another experiment is in this folder: {', '.join(changed)} differ"
        raise DataBroken(what, where=out, remedy="--out with another folder")
    files.write_json(file, head)


def with_print(records: pl.DataFrame) -> pl.DataFrame:
    """Gold records with the column `print`: the height in pixels of each value's words.

    It is the median height of the words below the value, where gold has words, else that of its
    own box; null without a box.

    Examples
    --------
    >>> rows = [("a", "/n", "answer", 0.0, 30.0), ("a", "/n/words/0", "word", 0.0, 12.0)]
    >>> schema = ["doc_id", "path", "kind", "y0", "y1"]
    >>> with_print(pl.DataFrame(rows, schema=schema, orient="row"))["print"].to_list()
    [12.0, 12.0]
    """
    height = pl.col("y1") - pl.col("y0")
    words = records.filter(kind="word").group_by(
        "doc_id", pl.col("path").str.replace(r"/words/[0-9]+$", "").alias("path")
    ).agg(height.median().alias("print"))  # fmt: skip
    joined = records.join(words, on=["doc_id", "path"], how="left", maintain_order="left")
    return joined.with_columns(pl.coalesce("print", height).alias("print"))


def _drawn(corpus: Corpus, pages: int | None, seed: int) -> pl.DataFrame:
    """So many documents with an image, in the order of the corpus."""
    there = first(corpus, corpus.documents.height)[0]
    names = sorted(there["doc_id"])
    random.Random(seed).shuffle(names)
    return there.filter(pl.col("doc_id").is_in(names[:pages]))


def _schema(documents: pl.DataFrame) -> dict[str, Any]:
    more = {"page_of": pl.String, "degradation": pl.String, "amount": pl.Float64, "step": pl.Int64}
    return dict(documents.schema) | more


def _versions(
    document: dict[str, Any], gold: pl.DataFrame, root: Path | None, levels: Sequence[Level],
    out: Path, seed: int,
) -> Iterator[tuple[dict[str, Any], pl.DataFrame]]:  # fmt: skip
    """A document and its gold at each level."""
    pictures = document_pages(document, root)
    images = [picture.image() for picture in pictures]
    for name, amount, step in levels:
        doc_id = f"{document['doc_id']}~{name}" + (f"={amount:g}" if step else "")
        places, sizes, rows = [], [], gold
        for picture, image in zip(pictures, images, strict=True):
            page = f"{document['doc_id']}#{picture.number}"
            # Without a change nothing of the pixels is touched.
            key = name if step else "blur"
            made = degrade(image, key, amount if step else find(key).neutral, seed=seed, page=page)
            rows = _moved(rows, picture.number, picture.zoom, made.boxes)
            number = f"-{picture.number}" if len(images) > 1 else ""
            places.append(f"{IMAGES}/{_file_name(doc_id)}{number}.png")
            sizes.append(made.image.size)
            if not (out / places[-1]).is_file():
                with files.atomic(out / places[-1]) as file:
                    made.image.save(file, format="PNG", compress_level=1)
        own = {"page_of": document["doc_id"], "degradation": name, "amount": amount, "step": step}
        own |= {"doc_id": doc_id, "image": places[0], "width": sizes[0][0], "height": sizes[0][1]}
        if len(places) > 1:
            listed = meta_of(document) | {"images": places, "pages": places}
            own["meta"] = json.dumps(listed)
        yield document | own, rows.with_columns(doc_id=pl.lit(doc_id))


def _file_name(doc_id: str) -> str:
    """A name that any file system takes, another one for each document."""
    plain = re.sub(r"[^\w.=~-]", "_", doc_id)[:150]
    return plain if plain == doc_id else f"{plain}-{zlib.crc32(doc_id.encode()):08x}"


def _moved(rows: pl.DataFrame, page: int, zoom: float, boxes: Any) -> pl.DataFrame:
    """The gold with the boxes of one page where they are now."""
    mine = (pl.col("page").fill_null(1) == page) & pl.all_horizontal(pl.col(BOX).is_not_null())
    is_mine = rows.select(mine).to_series().to_numpy()
    values = rows.select(pl.col(BOX).cast(pl.Float64)).to_numpy().copy()
    values[is_mine] = boxes(values[is_mine] * zoom)
    own = [pl.Series(side, values[:, n]).fill_nan(None) for n, side in enumerate(BOX)]
    return rows.with_columns(own)
