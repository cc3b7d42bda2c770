"""Draws the pictures of the README from the reports of the samples: ``make pictures``."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

from formlab import browser
from formlab.errors import DataMissing

HERE = Path(__file__).parent
SIZE = (1120, 760)
# Which part of which report; nothing for the top of the page.
PICTURES = {
    "gallery": ("10_content_modality", '[data-kind="gallery"]'),
    "surface": ("40_form_filling", '[data-kind="plotly"]'),
    "report": ("10_content_modality", ""),
}
SAMPLE = "60_financial_facts"


def draw(report: Path, part: str) -> Image.Image:
    """The window of a report with `part` at its top, half a second after it came into view."""
    with browser.page(report.resolve().as_uri(), size=SIZE) as visit:
        if part:
            place = visit.page.locator(part).first
            place.scroll_into_view_if_needed()
            place.evaluate("node => window.scrollBy(0, node.getBoundingClientRect().top - 120)")
        visit.page.wait_for_timeout(1500)
        return Image.open(io.BytesIO(visit.page.screenshot())).convert("RGB")


def main(reports: Path) -> None:
    """Write the pictures and the sample report beside this file."""
    for name, (stem, part) in PICTURES.items():
        report = reports / f"{stem}.html"
        if not report.is_file():
            raise DataMissing("no report", where=report, remedy="make report")
        picture = draw(report, part)
        picture.save(HERE / "pictures" / f"{name}.webp", quality=80, method=6)
    sample = (reports / f"{SAMPLE}.html").read_bytes()
    (HERE / "sample_report.html").write_bytes(sample)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "reports"))
