"""Charts of any text: it breaks no drawing, and none of it is an expression."""

import json
import subprocess
import sys

import polars as pl

from formlab import charts
from formlab.charts import escaping
from formlab.files import storable
from tests.hostile import STRINGS

INHERITED = ("constructor", "toString", "hasOwnProperty", "valueOf", "__proto__")
# In a process of its own: what vl-convert cannot draw aborts the whole process.
DRAWS = """
import json, sys
import vl_convert
from formlab.reports import figures
for spec in json.load(sys.stdin):
    drawing = vl_convert.vegalite_to_svg(spec, allowed_base_urls=[])
    vl_convert.svg_to_png(figures.inert(drawing))
    assert "known" in drawing
"""


def drawn(*specs):
    """What a process says that draws these to SVG and PNG; nothing if all is well."""
    text = json.dumps(specs).encode()
    done = subprocess.run([sys.executable, "-c", DRAWS], input=text, capture_output=True)
    return done.stderr.decode(errors="replace")[-500:]


def bars(names, **titles):
    frame = pl.DataFrame({"kind": [*names, "known"], "value": range(len(names) + 1)})
    return charts.bars(frame, "kind", titles=titles).to_dict()


def test_every_hostile_string_is_drawn_as_a_name_and_as_a_title_and_any_column():
    texts = [storable(text)[:60] for text in STRINGS if text]
    specs = [bars(sorted(set(texts)))]
    # What once ended a title, an expression or the process.
    special = ["\x00", "\x1b[31m", "\uffff", 'a\\" + 1', "a\nb", "\u2028", "\\u", *INHERITED]
    specs += [bars([text], value=text) for text in special]
    for column in ('a"b', "a\\", "a'b.c[0]", "a\nb", "constructor", "\x00"):
        frame = pl.DataFrame({column: ["known", "b"], "value": [0.5, 0.25], "ci_low": [0.1, 0.1]})
        frame = frame.with_columns(ci_high=pl.col("value"))
        specs.append(charts.dots(frame, column, colour=column).to_dict())
    assert drawn(*map(escaping.specification, specs)) == ""


def test_a_long_text_of_a_figure_is_cut_and_packed_numbers_are_not():
    packed = {"dtype": "f8", "bdata": "A" * 40_000}
    shown = escaping.figure({"data": [{"x": packed, "text": ["<" * 5_000, "a " * 20_000]}]})
    (trace,) = shown["data"]
    assert trace["x"] == packed
    ends = ["… (4000 more characters)", "… (39000 more characters)"]
    assert trace["text"] == ["&lt;" * 1_000 + ends[0], "a " * 500 + ends[1]]
