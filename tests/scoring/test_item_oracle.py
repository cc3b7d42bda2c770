"""Items of lists beside an oracle of their own: the best assignment of any, in plain Python."""

import json
import random

import numpy as np
import polars as pl
import pytest
from scipy.optimize import linear_sum_assignment

import formlab
from tests.seeds import seeds


def agreeing(gold, answer):
    """The most values that can agree, the items of each list being assigned to each other."""
    if isinstance(gold, list) or isinstance(answer, list):
        # A value where the other side has a list is a list of one; an object is none.
        sides = [side if isinstance(side, list) else [side] for side in (gold, answer)]
        if any(isinstance(side, dict) for side in (gold, answer)) or not all(sides):
            return 0
        pairs = [[agreeing(one, other) for other in sides[1]] for one in sides[0]]
        return sum(np.array(pairs)[linear_sum_assignment(pairs, maximize=True)])
    if isinstance(gold, dict) and isinstance(answer, dict):
        return sum(agreeing(gold[key], answer[key]) for key in gold.keys() & answer.keys())
    return int(not isinstance(gold, dict) and not isinstance(answer, dict) and gold == answer)


def texts(value):
    """A copy of nested values with their texts alone: of values without any, nothing."""
    if isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else enumerate(value)
        inner = {key: texts(below) for key, below in pairs}
        inner = {key: below for key, below in inner.items() if below not in (None, "", [], {})}
        return inner if isinstance(value, dict) else list(inner.values())
    return None if value is None else " ".join(str(value).split()).casefold()


def changed(value, draw, share, *, shuffled):
    """Nested values with lists in another order, items dropped and invented, texts changed."""
    if isinstance(value, dict):
        return {key: changed(item, draw, share, shuffled=shuffled) for key, item in value.items()}
    if isinstance(value, list):
        items = [item for item in value if draw.random() >= share / 2]
        items += [item for item in value if draw.random() < share / 2]
        if shuffled:
            draw.shuffle(items)
        return [changed(item, draw, share, shuffled=shuffled) for item in items]
    if shuffled and draw.random() < share / 4:
        return ["other", value]
    return draw.choice(["other", f"{value}q"]) if draw.random() < share else value


def fields(value, path=""):
    """The paths of all values, each list by its first item."""
    if not isinstance(value, dict | list):
        return {path[1:]}
    pairs = value.items() if isinstance(value, dict) else ((0, item) for item in value)
    return {name for key, below in pairs for name in fields(below, f"{path}/{key}")}


def check(golds, answers):
    """The values of each document that match are as many as any assignment can have."""
    golds, answers = texts(golds), texts(answers)
    named = set().union(*(fields(side) for side in (*golds.values(), *answers.values())))
    types = {name: {"type": "string"} for name in named}
    cases = formlab.evaluate(golds, answers, types=types).fields
    right = (pl.col("outcome") == "match").sum()
    found = dict(cases.group_by("doc_id").agg(right).rows())
    best = {name: agreeing(gold, answers.get(name, {})) for name, gold in golds.items()}
    assert {name: found[name] for name in golds} == best
    # No value of either side stands in two cases.
    for side in ("path", "pred_path"):
        assert not cases.drop_nulls(side).select("doc_id", side).is_duplicated().any()


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("kind", ["resume", "swimming"])
def test_no_assignment_of_real_nested_values_agrees_more(shared, kind, shuffled):
    files = sorted((shared / "data" / "extract-bench" / kind / "gold").glob("*.json"))
    golds = {file.stem: json.loads(file.read_text("utf-8")) for file in files}
    draw = random.Random(0)
    check(golds, {n: changed(gold, draw, 0.1, shuffled=shuffled) for n, gold in golds.items()})


def shape_of(draw, depth):
    """A random shape of values: objects and lists of shapes, at last values alone."""
    kind = draw.choice(["object", "list", "value"]) if depth else "value"
    if kind == "object":
        return {key: shape_of(draw, depth - 1) for key in draw.sample("abcd", draw.randint(1, 3))}
    return [shape_of(draw, depth - 1)] if kind == "list" else "value"


def drawn(shape, draw):
    """Values of a shape, few different ones; a list of one may be a value alone."""
    if isinstance(shape, dict):
        return {key: drawn(inner, draw) for key, inner in shape.items() if draw.random() < 0.9}
    if isinstance(shape, list):
        items = [drawn(shape[0], draw) for _ in range(draw.randint(0, 4))]
        return items[0] if len(items) == 1 and isinstance(items[0], str) else items
    return draw.choice(["tea", "rye", "oat", "fig"])


@pytest.mark.parametrize("seed", seeds(20))
def test_no_assignment_of_random_nested_values_agrees_more(seed):
    draw = random.Random(seed)
    shape = [shape_of(draw, 3)]
    golds = {f"d{n}": {"x": drawn(shape, draw), "no": str(n)} for n in range(4)}
    check(golds, {n: changed(gold, draw, 0.3, shuffled=True) for n, gold in golds.items()})
