"""The ink in a box of a scan, taken away and replaced by other text in a matching font."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from formlab import resources
from formlab.errors import DataBroken
from formlab_experiments.forms.paper import FACES, _font

Box = tuple[float, float, float, float]
# Faces are tried at this em in pixels and then fitted to the ink.
_EM = 64
_WEIGHTS = (400, 700)
_BLURS = (0.0, 0.5, 0.9, 1.4)
# Ink is at least so much darker than its paper, of 255.
_LEAST = 30


# Below this the box holds something else, or only a part of the text.
LEAST_FIT = 0.55


class Match(NamedTuple):
    """The font that fits the ink best: `fit` is the correlation with it, at most 1."""

    face: str
    weight: int
    blur: float
    shade: float
    fit: float


@dataclass(frozen=True)
class Replaced:
    """A page on which the ink of a box was replaced; `box` is around the new ink."""

    image: Image.Image
    box: Box
    match: Match


def replace_ink(image: Image.Image, box: Box, old: str, new: str, *, seed: int = 0) -> Replaced:
    """Take the ink in `box` away, and put `new` in its place.

    The paper below is filled in from around the ink, with the grain of the paper nearby. Of all
    faces, two weights and four degrees of blur that one is taken in which `old` is most like the
    ink that was there; height, width and shade are its own. Lines that cross the box stay.

    Parameters
    ----------
    image
        The page, grey.
    box
        Around the old ink, in pixels: x0, y0, x1, y1.
    old, new
        What stood there, and what shall stand there; nothing if `new` is empty.
    seed
        Of the grain.

    Returns
    -------
    Replaced
        The page, the box of the new ink (that of the old one if there is none), and the match.

    Raises
    ------
    DataBroken
        If there is no ink in the box, or no font fits it.
    NotAvailable
        If the extra `experiments` is not installed.

    Examples
    --------
    >>> page = Image.new("L", (200, 60), 250)
    >>> ImageDraw.Draw(page).text((20, 20), "12.50", fill=20, font=_font("sans", 20, 400))
    >>> done = replace_ink(page, (15, 15, 80, 45), "12.50", "97.30")
    >>> done.match.face, done.image.size
    ('sans', (200, 60))
    """
    cv2 = resources.optional("cv2", extra="experiments")
    page = np.asarray(image.convert("L")).copy()
    x0, y0 = (max(0, round(side) - 2) for side in box[:2])
    x1, y1 = min(page.shape[1], round(box[2]) + 2), min(page.shape[0], round(box[3]) + 2)
    crop = page[y0:y1, x0:x1]
    mask = _ink_mask(crop, cv2)
    if not mask.any():
        raise DataBroken("no ink in the box", where=f"{x0},{y0},{x1},{y1}")
    # The soft rim of a stroke goes as well.
    grown = cv2.dilate(mask, np.ones((5, 5), np.uint8))
    paper = cv2.inpaint(crop, grown, 3, cv2.INPAINT_TELEA).astype(float)
    bare = crop[grown == 0].astype(float)
    grain = np.std(bare - np.median(bare)) if bare.size > 20 else 0.0
    rng = np.random.default_rng(seed)
    paper[grown > 0] += rng.normal(0, min(grain, 6.0), int((grown > 0).sum()))
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    ink = (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)
    match, across, down = _matched(paper - crop, ink, old)
    if match.fit < LEAST_FIT:
        raise DataBroken(
            f"no font fits what stands there: correlation {match.fit:.2f} below {LEAST_FIT}",
            where=f"{x0},{y0},{x1},{y1}",
        )
    place = (x0 + ink[0], y0 + ink[1], x0 + ink[2], y0 + ink[3])
    if new:
        tile, left, top = _tile(new, old, match, across, down)
        paper, place = _laid(
            page, (x0, y0, x1, y1), paper, tile, (ink[0] + left, ink[1] + top), match
        )
        page[place[1] : place[3], place[0] : place[2]] = paper
        dark = np.argwhere(tile > 80)
        begin, end = dark.min(0), dark.max(0) + 1
        ox, oy = x0 + ink[0] + left, y0 + ink[1] + top
        place = (ox + begin[1], oy + begin[0], ox + end[1], oy + end[0])
    else:
        page[y0:y1, x0:x1] = np.clip(paper, 0, 255)
    return Replaced(Image.fromarray(page), tuple(float(side) for side in place), match)


def _ink_mask(crop: np.ndarray, cv2: object) -> np.ndarray:
    """Where ink is, 0 or 1, without the lines of the form."""
    level, _ = cv2.threshold(crop, 0, 255, cv2.THRESH_BINARY_INV + cv2.THRESH_OTSU)
    if np.median(crop) - crop.min() < _LEAST:
        return np.zeros_like(crop)
    mask = (crop <= level).astype(np.uint8)
    lines = np.zeros_like(mask)
    for size in ((max(25, crop.shape[1] * 7 // 10), 1), (1, max(25, crop.shape[0] * 9 // 10))):
        kernel = np.ones(size[::-1], np.uint8)
        lines |= cv2.morphologyEx(mask, cv2.MORPH_OPEN, kernel)
    return mask & (1 - lines)


def _written(text: str, face: str, weight: int) -> tuple[Image.Image, tuple[int, int, int, int]]:
    """A text on one line with the baseline at two em, and the box of its ink."""
    font = _font(face, _EM, weight)
    tile = Image.new("L", (round(font.getlength(text)) + 2 * _EM, 3 * _EM), 0)
    ImageDraw.Draw(tile).text((_EM, 2 * _EM), text, font=font, fill=255, anchor="ls")
    return tile, tile.getbbox() or (0, 0, 1, 1)


def _matched(dark: np.ndarray, ink: tuple[int, ...], old: str) -> tuple[Match, float, float]:
    """The best match, and how much smaller than drawn the ink is across and down."""
    wide, tall = ink[2] - ink[0], ink[3] - ink[1]
    there = np.clip(dark[ink[1] : ink[3], ink[0] : ink[2]], 0, 255).astype(float)
    best: tuple[Match, float, float] | None = None
    for face, (_, _, variable) in FACES.items():
        for weight in _WEIGHTS if variable else _WEIGHTS[:1]:
            tile, box = _written(old, face, weight)
            across, down = wide / (box[2] - box[0]), tall / (box[3] - box[1])
            drawn = tile.crop(box).resize((wide, tall), Image.Resampling.LANCZOS)
            # A font that has to be stretched is another one.
            stretch = abs(np.log(across / down))
            for blur in _BLURS:
                shape = np.asarray(drawn.filter(ImageFilter.GaussianBlur(blur)), float) / 255
                fit = _correlation(there, shape) - 0.15 * stretch
                if best is None or fit > best[0].fit:
                    # Of the darkest strokes on both sides, whether or not they lie on each other.
                    shade = np.percentile(there, 90) / max(np.percentile(shape, 90), 0.2)
                    best = Match(face, weight, blur, min(float(shade), 255.0), fit), across, down
    return best


def _correlation(first: np.ndarray, second: np.ndarray) -> float:
    first, second = first - first.mean(), second - second.mean()
    norm = np.sqrt((first**2).sum() * (second**2).sum())
    return float((first * second).sum() / norm) if norm else 0.0


def _tile(
    new: str, old: str, match: Match, across: float, down: float
) -> tuple[np.ndarray, int, int]:
    """The new text as ink, and where its tile stands from the top left of the old ink."""
    _, before = _written(old, match.face, match.weight)
    tile, box = _written(new, match.face, match.weight)
    size = (max(1, round(tile.width * across)), max(1, round(tile.height * down)))
    small = tile.resize(size, Image.Resampling.LANCZOS).filter(ImageFilter.GaussianBlur(match.blur))
    # Figures that end at one edge, as amounts do, go on ending there.
    shift = (before[2] - before[0]) - (box[2] - box[0]) if _ends_right(old, new) else 0
    left = round((shift - box[0]) * across)
    return np.asarray(small, float), left, round(-before[1] * down)


def _ends_right(old: str, new: str) -> bool:
    return len(old) != len(new) and old[-1:].isdigit() and "." in old


def _laid(
    page: np.ndarray, place: tuple[int, int, int, int], paper: np.ndarray, tile: np.ndarray,
    at: tuple[int, int], match: Match,
) -> tuple[np.ndarray, tuple[int, int, int, int]]:  # fmt: skip
    """The filled-in crop with the tile on it, on as much of the page as both need."""
    x0, y0, x1, y1 = place
    left, top = x0 + at[0], y0 + at[1]
    dark = np.argwhere(tile > 4)
    begin, end = dark.min(0), dark.max(0) + 1
    whole = (
        max(0, min(x0, left + begin[1])), max(0, min(y0, top + begin[0])),
        min(page.shape[1], max(x1, left + end[1])), min(page.shape[0], max(y1, top + end[0])),
    )  # fmt: skip
    under = page[whole[1] : whole[3], whole[0] : whole[2]].astype(float)
    under[y0 - whole[1] : y1 - whole[1], x0 - whole[0] : x1 - whole[0]] = paper
    ink = np.zeros_like(under)
    for row in range(max(whole[1], top), min(whole[3], top + tile.shape[0])):
        first, last = max(whole[0], left), min(whole[2], left + tile.shape[1])
        ink[row - whole[1], first - whole[0] : last - whole[0]] = tile[
            row - top, first - left : last - left
        ]
    return np.clip(under - match.shade * ink / 255, 0, 255), whole
