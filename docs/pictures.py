"""Draws the pictures of the documentation from the reports of the samples: ``make pictures``."""

from __future__ import annotations

import io
import sys
from pathlib import Path

from PIL import Image

from formlab import browser
from formlab.errors import DataMissing

HERE = Path(__file__).parent
SIZE = (1120, 760)
MOST = 60_000
# Of which report which part is drawn, at which address; the first one, at the top of the window.
PICTURES = {
    "report": ("10_content_modality", "", ""),
    "gallery": ("10_content_modality", "[data-kind=gallery]", ""),
    "cases": ("10_content_modality", "[data-kind=gallery]", "#finding=1"),
    "explorer": ("00_overview", "[data-kind=explorer]", ""),
    "surface": ("40_form_filling", "[data-kind=plotly]", ""),
}
SAMPLE = "30_semantic_relations"


def draw(report: Path, part: str, address: str) -> Image.Image:
    """The window of a report with `part` at its top, some time after it came into view."""
    with browser.page(report.resolve().as_uri() + address, size=SIZE) as visit:
        visit.page.wait_for_timeout(1500)
        if part:
            place = visit.page.locator(part).first
            place.scroll_into_view_if_needed()
            place.evaluate("node => window.scrollBy(0, node.getBoundingClientRect().top - 140)")
            visit.page.wait_for_timeout(2500)
        return Image.open(io.BytesIO(visit.page.screenshot())).convert("RGB")


def main(reports: Path) -> None:
    """Write the pictures, each as good as `MOST` bytes allow, and the sample report."""
    for name, (stem, part, address) in PICTURES.items():
        report = reports / f"{stem}.html"
        if not report.is_file():
            raise DataMissing("no report", where=report, remedy="make report")
        picture = draw(report, part, address)
        for quality in range(80, 20, -10):
            content = io.BytesIO()
            picture.save(content, "webp", quality=quality, method=6)
            if content.tell() <= MOST:
                break
        (HERE / "pictures" / f"{name}.webp").write_bytes(content.getvalue())
    sample = (reports / f"{SAMPLE}.html").read_bytes()
    (HERE / "sample_report.html").write_bytes(sample)


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "reports"))
