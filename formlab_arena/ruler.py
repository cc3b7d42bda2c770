"""Pixel axes on a screenshot, which help a model to name coordinates."""

from PIL import Image, ImageDraw

STEP, TICK = 100, 20
_INK, _PAPER = (200, 0, 0), (255, 255, 255)


def draw(image: Image.Image) -> Image.Image:
    """A copy with axes on its upper and left edge: a tick each 20 pixels, a number each 100.

    The axes lie on the image, so that its size and every coordinate stay as they are.

    Examples
    --------
    >>> draw(Image.new("RGB", (300, 200))).size
    (300, 200)
    """
    image = image.convert("RGB")
    pen = ImageDraw.Draw(image)
    width, height = image.size
    pen.rectangle((0, 0, width, 11), fill=_PAPER)
    pen.rectangle((0, 0, 11, height), fill=_PAPER)
    for x in range(0, width, TICK):
        pen.line((x, 0, x, 10 if x % STEP == 0 else 4), fill=_INK)
    for y in range(0, height, TICK):
        pen.line((0, y, 10 if y % STEP == 0 else 4, y), fill=_INK)
    for x in range(STEP, width, STEP):
        pen.text((x + 2, 0), str(x), fill=_INK, font_size=10)
    for y in range(STEP, height, STEP):
        pen.text((1, y + 1), str(y), fill=_INK, font_size=10)
    return image
