"""What a hand adds to a page beside words: rings, crosses, ticks, strikes, signatures."""

import math

from formlab_experiments.forms.paper import Box, Paper, Word, around


def ring(paper: Paper, box: Box) -> Box:
    """A hand-drawn ring around `box`, its ends not quite meeting."""
    x0, y0, x1, y1 = box
    cx, cy, start = (x0 + x1) / 2, (y0 + y1) / 2, paper.random.uniform(3.6, 4.6)
    rx, ry = (x1 - x0) / 2 + 6, (y1 - y0) / 2 + 5
    points = []
    for step in range(15):
        angle, grow = start + step * 0.48, 0.95 + step * 0.012 + paper.random.gauss(0, 0.02)
        points.append((cx + rx * grow * math.cos(angle), cy + ry * grow * math.sin(angle)))
    return paper.stroke(points)


def cross(paper: Paper, x: float, y: float, size: float) -> Word:
    """An x by hand, centred on (x, y)."""

    def jitter() -> float:
        return size * paper.random.uniform(0.38, 0.62)

    down = paper.stroke([(x - jitter(), y - jitter()), (x, y), (x + jitter(), y + jitter())])
    up = paper.stroke([(x + jitter(), y - jitter()), (x, y), (x - jitter(), y + jitter())])
    return Word("x", around([down, up]))


def strike(paper: Paper, box: Box) -> None:
    """Cross out what stands in `box`, twice, as a hand does."""
    x0, y0, x1, y1 = box
    for share in (0.42, 0.62):
        y = y0 + (y1 - y0) * share + paper.random.gauss(0, 0.8)
        xs = [x0 - 3 + (x1 - x0 + 6) * step / 4 for step in range(5)]
        paper.stroke([(x, y + paper.random.gauss(0, 1.1)) for x in xs])


def smudge(paper: Paper, box: Box) -> None:
    """Scribble over what stands in `box` until nobody can read it."""
    x0, y0, x1, y1 = box
    for shade in (35, 60):
        steps = max(8, round((x1 - x0) / 2.2))
        xs = [x0 - 2 + (x1 - x0 + 4) * step / steps for step in range(steps + 1)]
        ys = [(y0, y1)[step % 2] + paper.random.gauss(0, 1.5) for step in range(steps + 1)]
        paper.stroke(list(zip(xs, ys, strict=True)), width=2.4, shade=shade)


def signature(paper: Paper, x: float, y: float, width: float, height: float) -> Box:
    """A signature of no name: a tall start, loops that shrink along a line, a flourish."""
    rate, lean, shrink = (paper.random.uniform(*span) for span in ((0.05, 0.13), (-0.4, 1), (0, 1)))
    points, at = [(x, y - height * 0.2)], x
    while at < x + width * 0.85:
        along = (at - x) / width
        tall = height * (1.3 if at == x else paper.random.uniform(0.15, 0.9) * (1 - shrink * along))
        step = width * rate * paper.random.uniform(0.6, 1.6)
        points += [
            (at + step * 0.5 + tall * lean * 0.4, y - tall),
            (at + step * paper.random.uniform(0, 0.6), y - tall * 0.4),
            (at + step * 0.8, y + height * paper.random.uniform(-0.1, 0.15)),
        ]
        at += step
    points.append((x + width, y - height * paper.random.uniform(-0.2, 0.6)))
    name = paper.stroke(points, width=1.2)
    low, back = height * paper.random.uniform(0.2, 0.5), paper.random.uniform(0.05, 0.6)
    under = [(x + width, y), (x + width * 0.6, y + low), (x + width * back, y + low * 1.1)]
    return around([name, paper.stroke(under, width=1.1)])


def button(paper: Paper, x: float, y: float, radius: float) -> Box:
    """The printed ring of a radio button, centred on (x, y)."""
    turns = [step * math.tau / 16 for step in range(17)]
    points = [(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns]
    return paper.stroke(points, width=0.9, shade=30)


def dot(paper: Paper, x: float, y: float, radius: float) -> Box:
    """A button filled in by hand."""
    jitter = paper.random.gauss(0, radius * 0.3)
    turns = [step * 0.8 for step in range(10)]
    x, size = x + jitter, radius * 0.7
    points = [(x + size * math.cos(turn), y + size * math.sin(turn)) for turn in turns]
    return paper.stroke(points, width=radius * 1.1)


def tick(paper: Paper, x: float, y: float, size: float) -> Box:
    """A tick by hand, its long leg leaving the box."""
    tall = size * paper.random.uniform(0.7, 1.0)
    low = (x - size * 0.1, y + size * 0.4)
    return paper.stroke([(x - size * 0.45, y), low, (x + size * 0.6, y - tall)])
