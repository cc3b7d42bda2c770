"""Numbered frames on a screenshot, by which a model names what it acts on."""

from collections.abc import Iterable

from PIL import Image, ImageDraw

from formlab_arena.observation import Element

# Neighbours have different colours; all are dark enough for white letters.
_COLOURS = ((200, 0, 0), (0, 90, 200), (0, 120, 40), (150, 0, 160), (150, 80, 0), (0, 110, 120))
_SIZE = 11


def draw(image: Image.Image, elements: Iterable[Element], *, scale: float = 1.0) -> Image.Image:
    """A copy with a frame around each element in view, its id at the upper left corner.

    `scale` is the width of the image over that of the window.

    Examples
    --------
    >>> box = Element("name", None, "text", "", None, (), (10, 10, 90, 30), id="f1e1")
    >>> draw(Image.new("RGB", (100, 50), "white"), [box]).getpixel((10, 20))
    (200, 0, 0)
    """
    image = image.convert("RGB")
    pen = ImageDraw.Draw(image)
    for number, element in enumerate(elements):
        x0, y0, x1, y1 = (side * scale for side in element.box)
        if max(x0, 0) >= min(x1, image.width) or max(y0, 0) >= min(y1, image.height):
            continue
        colour = _COLOURS[number % len(_COLOURS)]
        pen.rectangle((x0, y0, x1, y1), outline=colour)
        # Above the frame, where there is room: what is written in it stays legible.
        top = y0 - _SIZE - 2 if y0 > _SIZE + 2 else y0
        left = max(0.0, x0)
        width = pen.textlength(element.id, font_size=_SIZE)
        pen.rectangle((left, top, left + width + 3, top + _SIZE + 2), fill=colour)
        pen.text((left + 2, top), element.id, fill="white", font_size=_SIZE)
    return image
