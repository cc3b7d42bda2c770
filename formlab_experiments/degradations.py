"""Pages made worse by known amounts; where each point of the page comes to lie is known exactly."""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from PIL import Image

from formlab import resources
from formlab.errors import DataBroken, UnknownName

cv2 = resources.optional("cv2", extra="experiments")

# Points on each side of a box that are followed: a fold bends the sides.
_POINTS = 9
# How far from upright the camera looks at a folded page: the tangent of about nine degrees.
_TILT = 0.15
# A letter is folded twice.
_PANELS = 3
Points = Callable[[np.ndarray], np.ndarray]
# Pixels (height, width, channels) as floats, the amount and a generator in, pixels out, with the
# new places of points (n, 2) where these change.
Change = Callable[[np.ndarray, float, np.random.Generator], tuple[np.ndarray, Points | None]]


@dataclass(frozen=True)
class Degradation:
    """One way to make a page worse.

    `unit` is that of the amount, of which `neutral` changes nothing; further from it is worse, up
    to `most`. `levels` are the amounts by default, as ``from:to:number``.
    """

    name: str
    title: str
    unit: str
    neutral: float
    most: float
    levels: str
    change: Change


@dataclass(frozen=True)
class Degraded:
    """A page made worse, and where its points have gone.

    `points` takes points (n, 2) of the page before, in pixels from the upper left corner, to those
    of `image`.
    """

    image: Image.Image
    points: Points

    def boxes(self, boxes: np.ndarray) -> np.ndarray:
        """The upright boxes (n, 4) around what stood in `boxes`: x0, y0, x1, y1 in pixels."""
        boxes = np.asarray(boxes, float).reshape(-1, 4)
        share = np.linspace(0, 1, _POINTS)
        x0, y0, x1, y1 = boxes.T[:, :, None]
        across, down = x0 + share * (x1 - x0), y0 + share * (y1 - y0)
        still_x, still_y = np.ones_like(across), np.ones_like(down)
        xs = np.concatenate([across, across, x0 * still_y, x1 * still_y], axis=1)
        ys = np.concatenate([y0 * still_x, y1 * still_x, down, down], axis=1)
        moved = self.points(np.stack([xs, ys], axis=-1).reshape(-1, 2)).reshape(len(boxes), -1, 2)
        return np.concatenate([moved.min(axis=1), moved.max(axis=1)], axis=1)


def degrade(
    image: Image.Image, name: str, amount: float, *, seed: int = 0, page: str = ""
) -> Degraded:
    """A page made worse by one of `DEGRADATIONS`.

    What is random (grains of noise, places of stains) depends on `seed`, `page` and the name alone:
    the amounts of one page differ in nothing else, and the same call gives the same bytes.

    Parameters
    ----------
    image
        The page; a page in grey stays in grey.
    name
        A key of `DEGRADATIONS`.
    amount
        In the unit of the degradation, between its `neutral` and its `most`.

    Raises
    ------
    UnknownName
        If there is no such degradation.
    DataBroken
        If the amount is out of range.

    Examples
    --------
    >>> page = Image.new("L", (200, 100), 255)
    >>> small = degrade(page, "scale", 0.5)
    >>> small.image.size, small.boxes([[20, 10, 60, 30]]).tolist()
    ((100, 50), [[10.0, 5.0, 30.0, 15.0]])
    """
    degradation = find(name)
    ends = sorted((degradation.neutral, degradation.most))
    if not ends[0] <= amount <= ends[1]:
        what = f"{name} of {amount:g} is not between {ends[0]:g} and {ends[1]:g}"
        raise DataBroken(what, remedy=f"--vary {name}={degradation.levels}")
    grey = image.mode in ("1", "L", "LA", "I", "I;16", "F")
    plain = image.convert("L" if grey else "RGB")
    if amount == degradation.neutral:
        return Degraded(plain, partial(np.array, dtype=float))
    rng = np.random.default_rng([seed, zlib.crc32(page.encode()), zlib.crc32(name.encode())])
    pixels = np.asarray(plain, np.float32)
    pixels, points = degradation.change(np.atleast_3d(pixels), float(amount), rng)
    pixels = np.uint8(np.clip(np.rint(pixels), 0, 255))
    made = Image.fromarray(pixels.reshape(pixels.shape[:2]) if grey else pixels)
    return Degraded(made, points or partial(np.array, dtype=float))


def find(name: str) -> Degradation:
    """The degradation of that name; `UnknownName` if there is none."""
    if name not in DEGRADATIONS:
        raise UnknownName.of("degradation", name, DEGRADATIONS)
    return DEGRADATIONS[name]


def _paper(pixels: np.ndarray) -> np.ndarray:
    """The colour that most of the page has."""
    return np.median(pixels.reshape(-1, pixels.shape[2]), axis=0)


def _clouds(shape: tuple[int, ...], grain: float, rng: np.random.Generator) -> np.ndarray:
    """Smooth noise (height, width) whose patches are about `grain` pixels wide."""
    small = [max(2, math.ceil(side / grain) + 1) for side in shape[:2]]
    noise = rng.standard_normal(small).astype(np.float32)
    return cv2.resize(noise, shape[1::-1], interpolation=cv2.INTER_CUBIC)


def _covering(clouds: np.ndarray, share: float) -> np.ndarray:
    """Where the clouds are thickest, on this share of the page: from 0 to 1, with soft edges."""
    return np.clip((clouds - np.quantile(clouds, 1 - share)) / 0.1, 0, 1)[..., None]


def _blur(pixels: np.ndarray, amount: float, _: np.random.Generator) -> tuple:
    return np.atleast_3d(cv2.GaussianBlur(pixels, (0, 0), amount)), None


def _noise(pixels: np.ndarray, amount: float, rng: np.random.Generator) -> tuple:
    return pixels + amount * rng.standard_normal(pixels.shape[:2])[..., None], None


def _skew(pixels: np.ndarray, amount: float, _: np.random.Generator) -> tuple:
    height, width = pixels.shape[:2]
    cos, sin = math.cos(math.radians(amount)), math.sin(math.radians(amount))
    turn = np.array([[cos, -sin], [sin, cos]])
    corners = np.array([[0, 0], [width, 0], [0, height], [width, height]]) @ turn.T
    # A larger sheet, so that no corner is cut off.
    least = np.floor(corners.min(axis=0))
    size = np.ceil(corners.max(axis=0) - least).astype(int)
    # The library counts from the middle of the first pixel, boxes from its edge.
    shift = turn @ (0.5, 0.5) - least - 0.5
    turned = cv2.warpAffine(
        pixels, np.column_stack([turn, shift]), size.tolist(), flags=cv2.INTER_CUBIC,
        borderValue=_paper(pixels).tolist(),
    )  # fmt: skip
    return np.atleast_3d(turned), lambda points: np.asarray(points, float) @ turn.T - least


def _scale(pixels: np.ndarray, amount: float, _: np.random.Generator) -> tuple:
    height, width = pixels.shape[:2]
    size = max(1, round(width * amount)), max(1, round(height * amount))
    factors = np.array(size) / (width, height)
    small = np.atleast_3d(cv2.resize(pixels, size, interpolation=cv2.INTER_AREA))
    return small, lambda points: np.asarray(points, float) * factors


def _jpeg(pixels: np.ndarray, amount: float, _: np.random.Generator) -> tuple:
    quality = [cv2.IMWRITE_JPEG_QUALITY, round(amount)]
    # Red and blue change places twice: the library packs blue first.
    _, packed = cv2.imencode(".jpg", np.uint8(pixels[..., ::-1]), quality)
    unpacked = cv2.imdecode(packed, cv2.IMREAD_UNCHANGED)
    return np.atleast_3d(unpacked)[..., ::-1].astype(np.float32), None


def _contrast(pixels: np.ndarray, amount: float, _: np.random.Generator) -> tuple:
    paper = _paper(pixels)
    return paper + amount * (pixels - paper), None


def _fold(pixels: np.ndarray, amount: float, rng: np.random.Generator) -> tuple:
    """A letter that was folded in zigzag and does not lie flat, seen slightly from the side."""
    height, width = pixels.shape[:2]
    low, flat = math.sin(math.radians(amount)), math.cos(math.radians(amount))
    places = np.arange(1, _PANELS) / _PANELS + rng.uniform(-0.04, 0.04, _PANELS - 1)
    edges = np.array([0, *(height * places), height])
    # How high the paper stands at the creases, which moves what is there to the right.
    rise = np.concatenate([[0], np.cumsum(np.diff(edges) * [1, -1, 1][:_PANELS])]) * low * _TILT
    rise -= rise.min()
    size = math.ceil(width + rise.max()), max(1, math.ceil(height * flat))
    down, across = np.indices(size[::-1], dtype=np.float32) + 0.5
    down /= flat
    source = across - np.interp(down, edges, rise).astype(np.float32), down
    paper = _paper(pixels)
    bent = cv2.remap(
        pixels, *(side - 0.5 for side in source), cv2.INTER_CUBIC, borderValue=paper.tolist()
    )
    bent = np.atleast_3d(bent)
    # Every second panel turns away from the light; along a crease the ink is worn off.
    panel = np.clip(np.searchsorted(edges, down[:, 0]) - 1, 0, _PANELS - 1)
    light = np.where(panel % 2, 1 - 0.6 * low, 1.0)[:, None, None]
    away = np.abs(down[:, :1] - edges[1:-1]).min(axis=1)
    worn = low * np.exp(-((away / 2.5) ** 2))[:, None, None]
    shadow = 1 - 0.5 * low * np.exp(-(((away - 3) / 2) ** 2))[:, None, None]

    def points(places: np.ndarray) -> np.ndarray:
        x, y = np.asarray(places, float).T
        return np.column_stack([x + np.interp(y, edges, rise), y * flat])

    return (bent + worn * (paper - bent)) * light * shadow, points


def _stain(pixels: np.ndarray, amount: float, rng: np.random.Generator) -> tuple:
    clouds = _clouds(pixels.shape, max(pixels.shape[:2]) / 8, rng)
    wet = _covering(clouds, amount)
    # Spilt coffee is darkest at its rim; ink below it is seen, on darker paper.
    rim = wet * (1 - _covering(clouds, 0.85 * amount))
    return pixels * (1 - 0.45 * wet - 0.3 * rim), None


def _ink(pixels: np.ndarray, amount: float, rng: np.random.Generator) -> tuple:
    # Specks of the size of a stroke, more of them where the ribbon or the toner was thin.
    specks = rng.standard_normal(pixels.shape[:2]).astype(np.float32)
    specks = cv2.GaussianBlur(specks, (0, 0), 0.8)
    patches = _clouds(pixels.shape, max(pixels.shape[:2]) / 12, rng)
    lost = _covering(specks / specks.std() + 0.5 * patches, amount)
    return pixels + lost * (_paper(pixels) - pixels), None


DEGRADATIONS: dict[str, Degradation] = {
    each.name: each
    for each in (
        Degradation("blur", "out of focus", "px, sigma", 0, 20, "0:3:5", _blur),
        Degradation("noise", "noise", "grey levels, sd", 0, 255, "0:120:5", _noise),
        Degradation("skew", "turned page", "degrees", 0, 45, "0:4:5", _skew),
        Degradation("scale", "fewer pixels", "share of the width", 1, 0.05, "1:0.2:5", _scale),
        Degradation("jpeg", "packed as JPEG", "quality", 100, 1, "100:4:5", _jpeg),
        Degradation("contrast", "faded", "share of the contrast", 1, 0.01, "1:0.04:5", _contrast),
        Degradation("fold", "folded", "degrees off the table", 0, 60, "0:40:5", _fold),
        Degradation("stain", "stained", "share of the page", 0, 0.95, "0:0.6:5", _stain),
        Degradation("ink", "ink lost", "share of the ink", 0, 0.95, "0:0.8:5", _ink),
    )
}
