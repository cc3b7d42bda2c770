"""A form as data, and the drawing of it: a template and a seed make pages and their gold.

The content of a template is what a YAML file or a program says: titles, fields, values, pens, the
scan. One seed draws the same page every time, another one the same form by another hand.
"""

from dataclasses import dataclass, replace
from functools import cached_property

from PIL import Image
from pydantic import Field

from formlab.errors import DataBroken
from formlab_experiments.forms import blocks, marks, pictures, tables  # noqa: F401, their blocks
from formlab_experiments.forms.blocks import Block
from formlab_experiments.forms.content import Content, one_of
from formlab_experiments.forms.paper import Paper, Pen
from formlab_experiments.forms.scan import Scan, scan_page
from formlab_experiments.forms.sheet import Json, Sheet, Style, empty_form

AnyBlock = one_of(Block)
Blocks = tuple[AnyBlock, ...]
for _container in (blocks.Row, blocks.Stack, blocks.Section, blocks.Elsewhere):
    _container.model_rebuild(_types_namespace={"AnyBlock": AnyBlock, "Blocks": Blocks})


class Pens(Content):
    """What is written with what: print and headings in `face`, values in `fill`, `more` by name."""

    face: str
    size: float = 12
    bold: str | None = None
    fill: Pen
    more: dict[str, Pen] = Field(default_factory=dict)

    def by_name(self) -> dict[str, Pen]:
        """Every pen of the form."""
        plain = Pen(self.face, self.size)
        return {
            "print": plain,
            "head": replace(plain, face=self.bold or self.face, weight=700),
            "fill": self.fill,
            "stamp": Pen("narrow", 17, weight=700, shade=105, leading=1.2),
        } | self.more


class Page(Content):
    """One page: its blocks from top to bottom, how it was scanned, its height in pixels."""

    blocks: Blocks
    scan: Scan = Field(default_factory=Scan)
    height: int


class Template(Content):
    """A form. Lengths are in page pixels; `gap` lies between the blocks of a page.

    Everything random on a page follows the text `seed`, in which the names of the seed, of the
    form and of the page are filled in.
    """

    name: str
    width: int
    margin: float
    top: float
    gap: float
    style: Style = Field(default_factory=Style)
    seed: str = "{seed}/{name}/{page}"
    pens: Pens
    pages: tuple[Page, ...]


@dataclass
class Drawing:
    """A form that was filled in: a sheet for each page, with its entities, and all fields."""

    sheets: list[Sheet]
    form: Json

    @cached_property
    def images(self) -> list[Image.Image]:
        """The scans of the pages, grey."""
        return [scan_page(sheet.paper, sheet.scan) for sheet in self.sheets]


def draw(template: Template, seed: int) -> Drawing:
    """Fill in a form.

    `DataBroken` if a page is too short for its blocks; `UnknownName` if a block writes in a pen
    that the form does not have.

    >>> from formlab_experiments.forms.content import check
    >>> content = {
    ...     "name": "note", "width": 300, "margin": 20, "top": 20, "gap": 3,
    ...     "pens": {"face": "sans", "fill": {"face": "mono", "size": 12}},
    ...     "pages": [{"height": 80, "blocks": [{"field": "Name:", "value": "Ada"}]}],
    ... }
    >>> form = draw(check(content, Template, where="here"), seed=1)
    >>> [(entity.label, entity.words[0].text) for entity in form.sheets[0].entities]
    [('question', 'Name:'), ('answer', 'Ada')]
    >>> form.form["fields"][0]["label"], form.form["fields"][0]["value"]
    ('Name', 'Ada')
    """
    form, pens, sheets = empty_form(), template.pens.by_name(), []
    for number, page in enumerate(template.pages, start=1):
        stream = template.seed.format(seed=seed, name=template.name, page=number)
        paper = Paper(template.width, page.height, seed=stream)
        sheet = Sheet(paper, pens, page.scan, template.style, number, form)
        y, width = template.top, paper.width - 2 * template.margin
        for block in page.blocks:
            y = block.draw(sheet, template.margin, y, width) + template.gap
        if y > page.height:
            raise DataBroken(
                f"the blocks end at {y:.0f}, below the page's height of {page.height}",
                where=f"{template.name}: pages/{number - 1}/height",
                remedy="make the page higher, or take a block out",
            )
        sheets.append(sheet)
    return Drawing(sheets, form)
