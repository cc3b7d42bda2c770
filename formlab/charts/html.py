"""The one renderer: what is displayed is data, and one template makes HTML of it everywhere."""

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import jinja2
from markupsafe import Markup

from formlab.charts.escaping import clean, data, visible

MISSING = "–"
_LONGEST = 2_000
# The data of what formlab displays, by its kind, beside HTML and plain text.
MIME = "application/vnd.formlab+json"
# What the template makes HTML of.
KINDS = ("cards", "caption", "table")
ASSETS = Path(__file__).with_name("assets")


def number(value: float | None, digits: int = 3) -> str:
    """A number as a table shows it: fixed digits, ``–`` for null and NaN, thousands apart.

    >>> number(0.5), number(None), number(float("nan")), number(12345, 0), number(-1.5)
    ('0.500', '–', '–', '12,345', '−1.500')
    """
    if value is None or math.isnan(value):
        return MISSING
    text = f"{value:,.{digits}f}" if math.isfinite(value) else f"{value}".replace("inf", "∞")
    return text.replace("-", "−")


def cell(value: object, digits: int | None = None) -> str:
    """A value as it is shown: a float with so many digits, 3 where none are given."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, int | float):
        usual = 3 if isinstance(value, float) else 0
        return number(value, min(max(digits if isinstance(digits, int) else usual, 0), 12))
    return str(value)


def _visible(value: Any) -> Any:
    """What a reader may see of a text that anybody wrote, signs for what has none."""
    return visible(clean(value, limit=None)).replace("\r", "␍") if type(value) is str else value


# The style sheet that an object brings along where it stands alone. Nested, a rule of one class is
# stronger than what undoes those of JupyterLab.
_SHEETS = ((ASSETS / f"{name}.css").read_text("utf-8") for name in ("tokens", "lab", "parts"))
_STYLE = "{}{}.fl-lab.fl-lab.fl-lab {{ {} }}".format(*_SHEETS).replace(":root", ".fl-lab")
TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader([ASSETS, ASSETS.parents[1] / "reports" / "assets"]),
    autoescape=jinja2.select_autoescape(disabled_extensions=["txt.j2"], default=True),
    finalize=_visible,
    undefined=jinja2.StrictUndefined,
)
TEMPLATES.filters["cell"] = cell
# The name of a page beside this one has no scheme and no folder.
TEMPLATES.tests["page"] = re.compile(r"\w[\w-]*\.html").fullmatch


def render(kind: str, payload: Mapping[str, Any], *, in_report: bool) -> Markup:
    """The HTML of an object of one of `KINDS`; in a report it leads to cases of that report."""
    parts = TEMPLATES.get_template("parts.html.j2").make_module({"in_report": in_report})
    return getattr(parts, kind)(payload)


class Shown:
    """What a notebook displays: HTML, its `payload` as JSON, and plain text, the same everywhere.

    A report makes its HTML of the payload once more, with links to the cases it shows.
    """

    kind: ClassVar[str] = ""

    @property
    def payload(self) -> dict[str, Any]:
        """What is shown as plain JSON, its texts cut where nobody would read on."""
        shown = getattr(self, "data", vars(self))
        return data(shown, text=lambda text, _: clean(text, limit=_LONGEST))

    def __str__(self) -> str:
        return str(getattr(TEMPLATES.get_template("parts.txt.j2").module, self.kind)(self.payload))

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        payload = self.payload
        shown = render(self.kind, payload, in_report=False)
        page = f'<style>{_STYLE}</style><div class="fl-lab">{shown}</div>'
        return {"text/html": page, MIME: {self.kind: payload}, "text/plain": str(self)}
