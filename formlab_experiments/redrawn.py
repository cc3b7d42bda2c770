"""Forms of templates, drawn again with other values and nothing else changed."""

import copy
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from formlab import tables
from formlab.benchmarks import formcraft
from formlab.errors import DataBroken
from formlab.folders import Corpus
from formlab.trees import escape
from formlab_experiments.counterfactual import Changed
from formlab_experiments.forms.blocks import Block, Elsewhere, Entry, Row, Section, Stack
from formlab_experiments.forms.formcraft import Form, annotation
from formlab_experiments.forms.marks import Rings
from formlab_experiments.forms.sheet import Sheet
from formlab_experiments.forms.tables import Table
from formlab_experiments.forms.template import draw

BENCHMARK, SPLIT = "formcraft", "test"


class Rewritten(Block):
    """A block in the place of another one, in which the rest of the page stays as it was.

    The place below it, and the random numbers from there on, are those of the block before, so
    that every other stroke is where it was.
    """

    before: Block
    block: Block

    def draw(self, sheet: Sheet, x: float, y: float, width: float) -> float:  # noqa: D102
        other = copy.deepcopy(sheet)
        bottom = self.before.draw(other, x, y, width)
        self.block.draw(sheet, x, y, width)
        sheet.paper.random.setstate(other.paper.random.getstate())
        return bottom


class Templates:
    """Pages of templates, whose values can be changed by drawing them again.

    Parameters
    ----------
    forms
        Templates with checks or questions, such as ``load_all("formcraft", Form)``.
    seed
        Of the drawing; each seed is another hand.
    """

    def __init__(self, forms: Sequence[Form], seed: int) -> None:
        self.forms, self.seed = {form.name: form for form in forms}, seed
        documents, records = [], []
        for form in forms:
            flaws: Counter[str] = Counter()
            content = annotation(form, draw(form, seed))
            read = formcraft.tidied(content)[0]
            fields = list(formcraft.field_rows(read, flaws))
            items = formcraft.item_rows(read, {row["path"] for row in fields}, flaws)
            records += [row | {"doc_id": form.name} for row in (*fields, *items)]
            real = [row["kind"] for row in fields if row["kind"] != "group"]
            documents.append(
                {"doc_id": form.name, "template": form.name, "domain": form.domain,
                 "n_fields": len(real), "n_kinds": len(set(real))}
            )  # fmt: skip
        same = {"benchmark": BENCHMARK, "split": SPLIT}
        self.corpus = Corpus(
            tables.table("documents", documents, **same),
            tables.table("records", records, role="gold", status="ok", **same),
            BENCHMARK, SPLIT,
        )  # fmt: skip

    def options(self, page_of: str, path: str) -> tuple[str, ...] | None:
        """What can stand at a path: anything (empty), some options, or nothing else (None)."""
        block = blocks_of(self.forms[page_of]).get(path)
        if isinstance(block, Rings):
            return block.options if len(block.ringed) == 1 else None
        return () if isinstance(block, (Entry, Table)) else None

    def can_be_blank(self, page_of: str, path: str) -> bool:
        """Whether a value can be left out."""
        return isinstance(blocks_of(self.forms[page_of]).get(path), Entry)

    def page(self, page_of: str, values: Mapping[str, str], legible: Collection[str]) -> Changed:
        """A form with other values; at the paths `legible` nothing is smudged or crossed out."""
        form = self.forms[page_of]
        drawing = draw(rewritten(form, values, legible), self.seed)
        read = formcraft.tidied(drawing.form)[0]
        sizes = [(sheet.paper.width, sheet.paper.height) for sheet in drawing.sheets]
        rows = list(formcraft.field_rows(read, Counter()))
        return Changed(lambda: drawing.images, sizes, rows)


def _inside(block: Block, path: str) -> tuple[str, tuple[Block, ...]]:
    """The path below which the blocks in a block stand, and these blocks."""
    if isinstance(block, Section):
        return f"{path}/{escape(block.label)}", block.blocks
    if isinstance(block, (Row, Stack)):
        return path, block.blocks
    return path, (block.block,) if isinstance(block, Elsewhere) else ()


def _path(block: Block, path: str) -> str | None:
    if isinstance(block, Entry):
        return f"{path}/{escape(block.label.rstrip(':'))}"
    if isinstance(block, Rings):
        return f"{path}/{escape(block.label.rstrip(':?'))}"
    return f"{path}/{escape(block.label)}" if isinstance(block, Table) and block.label else None


def blocks_of(form: Form) -> dict[str, Block]:
    """The blocks of a form that hold a value that can be changed, by the path of their field."""
    blocks: dict[str, Block] = {}

    def walk(block: Block, path: str) -> None:
        if own := _path(block, path):
            blocks[own] = block
        below, inner = _inside(block, path)
        for each in inner:
            walk(each, below)

    for page in form.pages:
        for block in page.blocks:
            walk(block, "")
    return blocks


def rewritten(form: Form, values: Mapping[str, str], legible: Collection[str]) -> Form:
    """A form with other values at some paths; at those that are `legible` nothing hides them."""
    unknown = [path for path in values if path not in blocks_of(form)]
    if unknown:
        raise DataBroken(f"there is no field {unknown[0]} that can be changed", where=form.name)

    def walk(block: Block, path: str) -> Block:
        own = _path(block, path)
        if own in values or own in legible:
            new = _with_value(block, values.get(own), clean=own in legible)
            # What is inside has been checked; a block of any kind may stand here.
            return Rewritten.model_construct(before=block, block=new)
        below, inner = _inside(block, path)
        if not inner:
            return block
        blocks = tuple(walk(each, below) for each in inner)
        update = {"block": blocks[0]} if isinstance(block, Elsewhere) else {"blocks": blocks}
        return block.model_copy(update=update)

    pages = tuple(
        page.model_copy(update={"blocks": tuple(walk(block, "") for block in page.blocks)})
        for page in form.pages
    )
    return form.model_copy(update={"pages": pages})


def _with_value(block: Block, value: str | None, *, clean: bool) -> Block:
    update: dict[str, Any] = {}
    if isinstance(block, Entry):
        update = {"smudge": "", "old": None} if clean else {}
        update |= {} if value is None else {"value": value or None}
    elif value is not None and isinstance(block, Rings):
        update = {"ringed": (value,)}
    elif value is not None and isinstance(block, Table):
        rows = (tuple(cell.strip() for cell in line.split("|")) for line in value.split("\n"))
        update = {"rows": tuple(rows)[1:]}
    return block.model_copy(update=update)
