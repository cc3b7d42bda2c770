"""What a scanner, a photocopier and years in a folder do to a page."""

import math

import numpy as np
import pydantic
from PIL import Image, ImageFilter

from formlab_experiments.forms.content import STRICT
from formlab_experiments.forms.paper import Box, Paper

# Fewer grey levels than a scanner gives: noise in all 256 would not compress.
LEVELS = 16


@pydantic.dataclasses.dataclass(frozen=True, config=STRICT)
class Scan:
    """One way to scan a page; the defaults change nothing but the size.

    `skew` turns the page anticlockwise, in degrees. `blur` is a radius in page pixels, `noise` a
    standard deviation and `contrast` a distance between paper and ink, both in [0, 1] of the
    grey scale. `specks` and `holes` are the shares of pixels turned black and white. `fade` is
    how much of the ink the palest parts lose, `shadow` how dark the copier's edge is, `folds`
    the heights (share of the page) of its creases. `crisp` in [0, 1] goes from grey to almost
    black and white, as a photocopy of a photocopy.
    """

    skew: float = 0.0
    blur: float = 0.0
    noise: float = 0.0
    contrast: float = 1.0
    specks: float = 0.0
    holes: float = 0.0
    blots: int = 0
    fade: float = 0.0
    shadow: float = 0.0
    folds: tuple[float, ...] = ()
    crisp: float = 0.0


def scan_box(box: Box, scan: Scan, paper: Paper) -> tuple[int, int, int, int]:
    """Where a box of the page lies in its scan: the whole pixels that cover its turned corners.

    >>> scan_box((10.5, 20, 30, 40.2), Scan(), Paper(100, 100, seed=""))
    (10, 20, 30, 41)
    """
    cos, sin = math.cos(math.radians(scan.skew)), math.sin(math.radians(scan.skew))
    cx, cy = paper.width / 2, paper.height / 2
    xs, ys = [], []
    for x in (box[0] - cx, box[2] - cx):
        for y in (box[1] - cy, box[3] - cy):
            xs.append(cx + x * cos + y * sin)
            ys.append(cy - x * sin + y * cos)
    # Rounded first, so that the last bit of a product cannot move a box by a pixel.
    x0, y0, x1, y1 = (round(v, 6) for v in (min(xs), min(ys), max(xs), max(ys)))
    ends = min(paper.width, math.ceil(x1)), min(paper.height, math.ceil(y1))
    return max(0, math.floor(x0)), max(0, math.floor(y0)), *ends


def scan_page(paper: Paper, scan: Scan) -> Image.Image:
    """The scan of `paper`, a grey image of its size; the noise follows the paper's seed."""
    rng = np.random.default_rng(paper.random.getrandbits(64))
    turned = paper.image.rotate(scan.skew, Image.Resampling.BICUBIC, fillcolor=255)
    small = turned.reduce(paper.scale).filter(ImageFilter.GaussianBlur(scan.blur))
    dark = 1 - np.asarray(small, dtype=np.float64) / 255
    dark *= 1 - scan.fade * _cloud(rng, dark.shape, 90)
    for height in scan.folds:
        dark = _folded(dark, height, rng)
    if scan.shadow:
        dark = np.maximum(dark, _shadow(dark.shape, scan.shadow, rng))
    # Toner is mottled at the size of a few pixels, sensor noise at one; both trouble the ink most,
    # because a scanner sets its white point above the noise of bare paper.
    grain = rng.normal(size=dark.shape) + 2 * (_cloud(rng, dark.shape, 3) - 0.5)
    dark += scan.noise * grain * (0.2 + np.clip(1.5 * dark, 0, 0.8))
    if scan.crisp:
        cut = 1 / (1 + np.exp(-(dark - 0.42) * 22))
        dark = (1 - scan.crisp) * dark + scan.crisp * cut
    dark = scan.contrast * dark + 0.1 * (1 - scan.contrast)
    chance = rng.random(dark.shape)
    dark = np.where(chance < scan.specks, rng.uniform(0.5, 1, dark.shape), dark)
    dark[chance > 1 - scan.holes] = 0
    _blot(dark, scan.blots, rng)
    levels = np.round((1 - np.clip(dark, 0, 1)) * (LEVELS - 1))
    return Image.fromarray(np.uint8(levels * (255 // (LEVELS - 1))))


def _cloud(rng: np.random.Generator, shape: tuple[int, int], grain: int) -> np.ndarray:
    """Smooth noise in [0, 1] whose patches are about `grain` pixels wide."""
    size = (shape[1] // grain + 2, shape[0] // grain + 2)
    small = Image.fromarray(np.uint8(rng.integers(0, 256, size[::-1])))
    return np.asarray(small.resize(shape[::-1], Image.Resampling.BICUBIC)) / 255


def _folded(dark: np.ndarray, height: float, rng: np.random.Generator) -> np.ndarray:
    """A crease: ink is rubbed off along it, and it throws a thin shadow."""
    rows, columns = np.indices(dark.shape)
    slope, wave = rng.normal(0, 0.006), rng.uniform(0, 6)
    line = height * dark.shape[0] + slope * columns + 0.8 * np.sin(columns / 55 + wave)
    away = np.abs(rows - line)
    worn = 1 - 0.75 * np.exp(-((away / 2.2) ** 2)) * _cloud(rng, dark.shape, 14)
    return dark * worn + 0.22 * np.exp(-(((rows - line - 2) / 1.4) ** 2))


def _shadow(shape: tuple[int, int], depth: float, rng: np.random.Generator) -> np.ndarray:
    """The dark edge of a page that did not cover the glass: ragged on the right, soft on top."""
    rows, columns = np.indices(shape)
    ragged = np.cumsum(rng.normal(0, 0.5, shape[0]))
    ragged -= np.linspace(0, ragged[-1], shape[0])
    right = shape[1] - 9 - 5 * rows / shape[0] + np.clip(ragged, -6, 6)[:, None]
    edge = 1 / (1 + np.exp(-(columns - right) / 1.5))
    return depth * np.maximum(edge, 0.5 * np.exp(-rows / 16))


def _blot(dark: np.ndarray, count: int, rng: np.random.Generator) -> None:
    rows, columns = np.indices((9, 9)) - 4
    for _ in range(count):
        y, x = (int(rng.integers(0, side - 9)) for side in dark.shape)
        wide, tall = rng.uniform(0.5, 2.6, 2)
        spot = ((columns / wide) ** 2 + (rows / tall) ** 2 <= 1) * rng.uniform(0.5, 1)
        dark[y : y + 9, x : x + 9] = np.maximum(dark[y : y + 9, x : x + 9], spot)
