"""Write the sample of arena tasks: two instances of three forms, and the letters that are PDFs.

The texts in prose are written by hand, in ``prose.yaml``; those with a `file` are drawn as PDF.
Run from the project's root: ``python -m data.sample.generate arena --out DIR``.
"""

import html
import io
import re
from pathlib import Path

import yaml
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer

from formlab import files
from formlab_arena import form, make

CODES = ("A12", "B12", "E12")
PROSE = Path(__file__).parents[1] / "arena" / "prose.yaml"


def write(out: Path) -> None:
    """Write the files below `out`."""
    tasks = [make(form(code), number) for code in CODES for number in (1, 2)]
    rows = [{"name": task.name, "text": task.text, "values": task.values} for task in tasks]
    text = yaml.safe_dump(rows, sort_keys=False, allow_unicode=True, width=96)
    files.write_text(out / "instances.yaml", text)
    for entry in yaml.safe_load(PROSE.read_text("utf-8")):
        if name := entry.get("file"):
            (out / name).write_bytes(pdf(entry["text"]))


def pdf(markdown: str) -> bytes:
    """A letter or résumé as PDF: headings, lists and paragraphs; the same bytes each time."""
    styles, story = getSampleStyleSheet(), []
    for block in re.split(r"\n\s*\n", markdown):
        heading = re.match(r"(#+) ", block)
        name = f"Heading{len(heading[1])}" if heading else "BodyText"
        for line in block.split("\n"):
            line = html.escape(line.removeprefix(heading[0] if heading else ""))
            story.append(Paragraph(re.sub("^- ", "• ", line), styles[name]))
        story.append(Spacer(1, 6))
    data = io.BytesIO()
    SimpleDocTemplate(data, pagesize=A4, invariant=1, pageCompression=1).build(story)
    return data.getvalue()
