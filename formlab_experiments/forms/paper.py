"""A sheet of paper to print, type, write and stamp on; it knows where each word's ink is."""

import math
import random
from dataclasses import dataclass, replace
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Literal

import pydantic
from PIL import Image, ImageChops, ImageDraw, ImageFont

from formlab.errors import NotAvailable
from formlab_experiments.forms.content import STRICT

Box = tuple[float, float, float, float]
Point = tuple[float, float]

# Each face: the package that ships it, its file, and whether it has a weight axis.
FACES = {
    "sans": ("fontpkg_arimo", "Arimo[wght].ttf", True),
    "narrow": ("fontpkg_roboto_condensed", "RobotoCondensed[wght].ttf", True),
    "serif": ("fontpkg_pt_serif", "PT_Serif-Web-Regular.ttf", False),
    "serif-bold": ("fontpkg_pt_serif", "PT_Serif-Web-Bold.ttf", False),
    "mono": ("fontpkg_ibm_plex_mono", "IBMPlexMono-Regular.ttf", False),
    "mono-bold": ("fontpkg_ibm_plex_mono", "IBMPlexMono-SemiBold.ttf", False),
    "upright-hand": ("fontpkg_kalam", "Kalam-Light.ttf", False),
    "round-hand": ("fontpkg_indie_flower", "IndieFlower-Regular.ttf", False),
    "quick-hand": ("fontpkg_caveat", "Caveat[wght].ttf", True),
    "scrawl": ("fontpkg_zeyada", "Zeyada.ttf", False),
}
# Below this darkness of 255 a pixel is the soft rim of a glyph, not its ink.
RIM = 80


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Pen:
    """How text is put on paper.

    `size` is the em in page pixels; `shade` the ink's grey (0 black); `wobble` scales how much
    each glyph strays in place, angle and ink: 0 is print, about 0.2 a typewriter, 1 a hand.
    """

    face: Literal[*FACES]
    size: float
    weight: int = 400
    shade: int = 20
    wobble: float = 0.0
    leading: float = 1.35


@dataclass(frozen=True)
class Word:
    """A word and the box of its ink in page pixels: x0, y0, x1, y1."""

    text: str
    box: Box


@dataclass(frozen=True)
class Printed:
    """The words a call put on the paper, and the y below its last line."""

    words: tuple[Word, ...]
    bottom: float


def around(boxes: list[Box]) -> Box:
    """The smallest box that covers all `boxes`.

    >>> around([(0, 5, 2, 9), (1, 1, 3, 8)])
    (0, 1, 3, 9)
    """
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


@lru_cache
def _font(face: str, pixels: int, weight: int) -> ImageFont.FreeTypeFont:
    package, file, variable = FACES[face]
    try:
        path = resources.files(package) / "files" / file
        # Basic layout: the other engine is not in every build of Pillow, and places differently.
        font = ImageFont.truetype(str(path), pixels, layout_engine=ImageFont.Layout.BASIC)
    except (ModuleNotFoundError, OSError) as error:
        name = package.replace("_", "-")
        raise NotAvailable(
            f"the font package {name} is not installed", remedy=f"pip install {name}"
        ) from error
    if variable:
        font.set_variation_by_axes([weight])
    return font


class Paper:
    """A white page, drawn at `scale` times its size so that a scan can tilt it cleanly.

    All coordinates are page pixels with the origin top left. Everything random comes from
    `seed`, through Python's own generator, whose stream is the same in every version.

    >>> paper = Paper(200, 100, seed="1")
    >>> printed = paper.text("Name of firm", 10, 20, Pen("sans", 12))
    >>> [word.text for word in printed.words]
    ['Name', 'of', 'firm']
    """

    def __init__(self, width: int, height: int, *, seed: str, scale: int = 2) -> None:
        self.width, self.height, self.scale = width, height, scale
        self.random = random.Random(seed)
        self.image = Image.new("L", (width * scale, height * scale), 255)

    def length(self, text: str, pen: Pen) -> float:
        """The width that `text` takes on one line."""
        return self._face(pen).getlength(text) / self.scale

    def wrap(self, text: str, pen: Pen, width: float | None = None) -> list[str]:
        """The lines of `text`: broken at its newlines, and where a line would pass `width`."""
        lines = []
        for paragraph in text.split("\n"):
            line = ""
            for word in paragraph.split():
                longer = f"{line} {word}".strip()
                if line and width is not None and self.length(longer, pen) > width:
                    lines.append(line)
                    longer = word
                line = longer
            lines.append(line)
        return lines

    def text(
        self, text: str, x: float, y: float, pen: Pen, *, width: float | None = None,
        align: str = "left",
    ) -> Printed:  # fmt: skip
        """Put `text` with its first line's top at `y`; `align` (left, centre, right) in `width`."""
        words = []
        space = self.length(" ", pen)
        for line in self.wrap(text, pen, width):
            room = (width or 0) - self.length(line, pen)
            at = x + {"left": 0.0, "centre": room / 2, "right": room}[align]
            # A hand neither keeps to the line nor starts where the last one did.
            at += self.random.gauss(0, 1.2 * pen.wobble)
            base = y + pen.size + self.random.gauss(0, 0.6 * pen.wobble)
            slope = self.random.gauss(0, 0.008 * pen.wobble)
            start = at
            for word in line.split():
                tile, left, top, end = self._written(word, at, base + slope * (at - start), pen)
                words.append(Word(word, self._ink(tile, left, top, pen.shade)))
                at = end + space * (1 + self.random.gauss(0, 0.1 * pen.wobble))
            y += pen.size * pen.leading
        return Printed(tuple(words), y)

    def rule(self, x0: float, y0: float, x1: float, y1: float, *, width: float = 1) -> None:
        """A printed straight line."""
        ends = [round(v * self.scale) for v in (x0, y0, x1, y1)]
        ImageDraw.Draw(self.image).line(ends, fill=30, width=round(width * self.scale))

    def frame(self, box: Box, *, width: float = 1) -> None:
        """A printed rectangle."""
        x0, y0, x1, y1 = box
        for line in ((x0, y0, x1, y0), (x1, y0, x1, y1), (x1, y1, x0, y1), (x0, y1, x0, y0)):
            self.rule(*line, width=width)

    def fill(self, box: Box, *, shade: int) -> None:
        """Tint a rectangle, as behind a table's head."""
        left, top, right, bottom = (round(v * self.scale) for v in box)
        self._ink(Image.new("L", (right - left, bottom - top), 255), left, top, shade)

    def stroke(self, points: list[Point], *, width: float = 1.3, shade: int = 40) -> Box:
        """A pen stroke, smooth through `points`; the box of its ink."""
        path = [(x * self.scale, y * self.scale) for x, y in _smooth(points)]
        pad = math.ceil(width * self.scale) + 1
        left, top, right, bottom = (round(v) for v in around([(*p, *p) for p in path]))
        left, top = left - pad, top - pad
        tile = Image.new("L", (right - left + pad, bottom - top + pad), 0)
        draw = ImageDraw.Draw(tile)
        for (ax, ay), (bx, by) in pairwise(path):
            thick = width * self.scale * self.random.uniform(0.8, 1.15)
            line = [ax - left, ay - top, bx - left, by - top]
            draw.line(line, fill=self.random.randint(215, 255), width=max(1, round(thick)))
        return self._ink(tile, left, top, shade)

    def stamp(self, text: str, x: float, y: float, pen: Pen, *, angle: float) -> Printed:
        """A framed rubber stamp centred on (x, y), turned by `angle` degrees, inked unevenly."""
        lines = text.split("\n")
        width = max(self.length(line, pen) for line in lines) + pen.size
        height = pen.size * (pen.leading * len(lines) + 0.7)
        die = Paper(math.ceil(width), math.ceil(height), seed="", scale=self.scale)
        die.random = self.random
        black = replace(pen, shade=0)
        inked = die.text(text, 0, pen.size * 0.3, black, width=width, align="centre")
        die.frame((2, 2, width - 3, height - 3), width=2)
        tile = ImageChops.multiply(ImageChops.invert(die.image), self._patches(die.image.size))
        tile = tile.rotate(angle, Image.Resampling.BICUBIC, expand=True)
        left = round(x * self.scale - tile.width / 2)
        top = round(y * self.scale - tile.height / 2)
        self._ink(tile, left, top, pen.shade)
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        words = []
        for word in inked.words:
            x0, y0, x1, y1 = word.box
            turned = []
            for px, py in ((x0, y0), (x1, y0), (x0, y1), (x1, y1)):
                dx, dy = px - width / 2, py - height / 2
                turned.append((x + dx * cos + dy * sin, y - dx * sin + dy * cos))
            words.append(Word(word.text, around([(*point, *point) for point in turned])))
        return Printed(tuple(words), y)

    def _face(self, pen: Pen) -> ImageFont.FreeTypeFont:
        return _font(pen.face, round(pen.size * self.scale), pen.weight)

    def _written(
        self, word: str, x: float, base: float, pen: Pen
    ) -> tuple[Image.Image, int, int, float]:
        """The mask of a word, its place on the image, and the x where the word ends."""
        font, pad = self._face(pen), round(pen.size * self.scale)
        length = font.getlength(word)
        tile = Image.new("L", (math.ceil(length * 1.15) + 2 * pad, 3 * pad), 0)
        left, top = round(x * self.scale) - pad, round(base * self.scale) - 2 * pad
        if not pen.wobble:
            ImageDraw.Draw(tile).text((pad, 2 * pad), word, font=font, fill=255, anchor="ls")
            return tile, left, top, x + length / self.scale
        at, drift = float(pad), 0.0
        for glyph in word:
            drift = 0.7 * drift + self.random.gauss(0, 0.022 * pad * pen.wobble)
            ink = 255 - min(110, round(abs(self.random.gauss(0, 45 * pen.wobble))))
            letter = Image.new("L", (3 * pad, 3 * pad), 0)
            ImageDraw.Draw(letter).text((pad, 2 * pad), glyph, font=font, fill=ink, anchor="ls")
            turn = self.random.gauss(0, 3.2 * pen.wobble)
            letter = letter.rotate(turn, Image.Resampling.BICUBIC, center=(pad, 2 * pad))
            place = (round(at) - pad, round(drift))
            tile.paste(ImageChops.lighter(letter, _crop(tile, place, letter.size)), place)
            at += font.getlength(glyph) * (1 + self.random.gauss(0.06, 0.035) * pen.wobble)
        return tile, left, top, x + (at - pad) / self.scale

    def _ink(self, tile: Image.Image, left: int, top: int, shade: int) -> Box:
        """Lay a mask of ink on the page, darkening what is there; the box of the ink."""
        under = _crop(self.image, (left, top), tile.size)
        ink = tile.point([255 - v * (255 - shade) // 255 for v in range(256)])
        self.image.paste(ImageChops.multiply(under, ink), (left, top))
        x0, y0, x1, y1 = tile.point([255 * (v > RIM) for v in range(256)]).getbbox() or (0, 0, 1, 1)
        places = (left + x0, top + y0, left + x1, top + y1)
        return tuple(place / self.scale for place in places)

    def _patches(self, size: tuple[int, int]) -> Image.Image:
        """Patchy grey, as a dry stamp leaves it."""
        small = Image.new("L", (max(2, size[0] // 12), max(2, size[1] // 12)))
        grey = [self.random.randint(90, 255) for _ in range(small.width * small.height)]
        small.putdata(grey)
        return small.resize(size, Image.Resampling.BICUBIC)


def _crop(image: Image.Image, place: tuple[int, int], size: tuple[int, int]) -> Image.Image:
    return image.crop((*place, place[0] + size[0], place[1] + size[1]))


# What the four points around each step of a Catmull-Rom spline weigh.
_STEPS = tuple(
    (
        -0.5 * t + t**2 - 0.5 * t**3,
        1 - 2.5 * t**2 + 1.5 * t**3,
        0.5 * t + 2 * t**2 - 1.5 * t**3,
        -0.5 * t**2 + 0.5 * t**3,
    )
    for t in (step / 8 for step in range(8))
)


def _smooth(points: list[Point]) -> list[Point]:
    """Points along the Catmull-Rom spline through `points`."""
    ends = [points[0], *points, points[-1]]
    path = [
        (
            wa * a[0] + wb * b[0] + wc * c[0] + wd * d[0],
            wa * a[1] + wb * b[1] + wc * c[1] + wd * d[1],
        )
        for a, b, c, d in zip(ends, ends[1:], ends[2:], ends[3:], strict=False)
        for wa, wb, wc, wd in _STEPS
    ]
    return [*path, points[-1]]
