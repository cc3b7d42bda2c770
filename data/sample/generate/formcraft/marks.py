"""Round buttons and ticks, beside the marks of `data.sample.generate.hand`."""

from __future__ import annotations

import math

from data.sample.generate.paper import Box, Paper


def circle(paper: Paper, x: float, y: float, radius: float) -> Box:
    """The printed ring of a radio button, centred on (x, y)."""
    turns = [step * math.tau / 16 for step in range(17)]
    points = [(x + radius * math.cos(turn), y + radius * math.sin(turn)) for turn in turns]
    return paper.stroke(points, width=0.9, shade=30)


def dot(paper: Paper, x: float, y: float, radius: float) -> Box:
    """A button filled in by hand."""
    jitter = paper.random.gauss(0, radius * 0.3)
    turns = [step * 0.8 for step in range(10)]
    points = [
        (x + jitter + radius * 0.7 * math.cos(turn), y + radius * 0.7 * math.sin(turn))
        for turn in turns
    ]
    return paper.stroke(points, width=radius * 1.1)


def tick(paper: Paper, x: float, y: float, size: float) -> Box:
    """A tick by hand, its long leg leaving the box."""
    tall = size * paper.random.uniform(0.7, 1.0)
    return paper.stroke(
        [(x - size * 0.45, y), (x - size * 0.1, y + size * 0.4), (x + size * 0.6, y - tall)]
    )
