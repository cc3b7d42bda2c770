"""What all that is displayed shares: one class, one template, numbers and texts fit to read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import jinja2
from markupsafe import Markup

from formlab.charts import theme
from formlab.charts.harmless import clean, visible

__all__ = ["MISSING", "Shown", "cell", "clean", "number"]

MISSING = "–"


def number(value: float | None, digits: int = 3) -> str:
    """A number as a table shows it: fixed digits, ``–`` for null and NaN, thousands apart.

    Examples
    --------
    >>> number(0.5), number(None), number(float("nan")), number(12345, 0), number(-1.5)
    ('0.500', '–', '–', '12,345', '−1.500')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    return f"{value:,.{digits}f}".replace("-", "−")


def cell(value: object, digits: int | None = None) -> str:
    """A value of a table as it is shown, numbers with so many digits."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None or isinstance(value, int | float):
        return number(value, digits or 0)
    return str(value)


def _is_page(text: str) -> bool:
    """Whether it is the name of a page beside this one: no scheme, no folder."""
    return re.fullmatch(r"\w[\w-]*\.html", text) is not None


def _finalize(value: object) -> object:
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(Path(__file__).parent / "assets"),
    autoescape=True,
    finalize=_finalize,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
)
_TEMPLATES.filters["cell"] = cell
_TEMPLATES.tests["page"] = _is_page


class Shown:
    """What a notebook shows: a report has the data (`payload`), JupyterLab HTML that is escaped."""

    kind: ClassVar[str]

    def _data(self) -> Mapping[str, Any]:
        raise NotImplementedError

    @property
    def payload(self) -> Mapping[str, Any]:
        """What is shown as plain JSON."""
        return self._data()

    def _repr_mimebundle_(self, **_: object) -> dict[str, Any]:
        payload = self.payload
        outputs = {theme.MIME.format(self.kind): payload, "text/plain": str(self)}
        if not theme.in_report():
            template = _TEMPLATES.get_template("parts.html.j2")
            outputs["text/html"] = template.render(payload, kind=self.kind)
        return outputs
