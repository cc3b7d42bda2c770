"""Images and PDFs: what reads pages gives the page or one error."""

import shutil
from functools import partial
from pathlib import Path

from PIL import Image

from formlab import pictures, resources
from tests.fuzz.verdicts import Found, Target


def _image(name: str, folder: Path) -> None:
    picture = Image.radial_gradient("L").resize((40, 30))
    mode = {"16.png": "I;16", "p.png": "P", "a.png": "RGBA", "c.jpg": "CMYK"}.get(name, "RGB")
    picture = picture.convert("I").convert("I;16") if mode == "I;16" else picture.convert(mode)
    more = (
        {"save_all": True, "append_images": [picture] * 2} if name.endswith(("tiff", "gif")) else {}
    )
    if name == "exif.jpg":
        exif = Image.Exif()
        exif[0x0112] = 6
        more = {"exif": exif}
    picture.save(folder / name, **more)


def _pdf(folder: Path) -> None:
    source = sorted(resources.folder("data/sample/vrdu/ad-buy-form/main/pdfs").glob("*.pdf"))[0]
    shutil.copy(source, folder / "a.pdf")


def _read(name: str, folder: Path) -> Found:
    file = folder / name
    pages = pictures.page_count(file)
    if not name.endswith(".pdf"):
        pictures.image_size(file)
        pictures.image_sizes(file)
    for page in range(1, min(pages, 3) + 1):
        pictures.read_image(file, page=page, width=200 if name.endswith(".pdf") else None)
    return Found(frozenset(map(str, range(min(pages, 1)))))


NAMES = ("a.png", "16.png", "p.png", "exif.jpg", "c.jpg", "a.tiff", "a.gif", "a.webp", "a.bmp")
TARGETS = [
    *(Target(f"page/{name}", partial(_image, name), partial(_read, name)) for name in NAMES),
    Target("page/pdf", _pdf, partial(_read, "a.pdf")),
]
