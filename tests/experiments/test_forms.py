"""Templates of forms: what is drawn from one, and what is said of a wrong one."""

import random
from pathlib import Path

import numpy as np
import pytest
import yaml
from pydantic import TypeAdapter

from formlab.errors import DataBroken, UnknownName
from formlab_experiments.forms import formcraft
from formlab_experiments.forms.blocks import Block
from formlab_experiments.forms.content import check
from formlab_experiments.forms.scan import scan_box
from formlab_experiments.forms.template import Template, draw
from formlab_experiments.forms.values import State, Total, Values, make

BLOCKS = Path(__file__).with_name("blocks.yml").read_text("utf-8")


def content(blocks, **more):
    return {
        "name": "club", "width": 680, "margin": 46, "top": 40, "gap": 6,
        "pens": {"face": "sans", "fill": {"face": "upright-hand", "size": 16, "wobble": 0.7}},
        "pages": [{"height": 1100, "scan": {"skew": 1.5, "blur": 0.4}, "blocks": blocks}],
    } | more  # fmt: skip


def template(blocks=BLOCKS, **more):
    return check(content(yaml.safe_load(blocks), **more), Template, where="here")


def fields(group):
    return group["fields"] + [field for inner in group["groups"] for field in fields(inner)]


def every(blocks):
    """Blocks, and those within them."""
    for block in blocks:
        yield block
        yield from every(getattr(block, "blocks", ()))
        yield from every([block.block] if hasattr(block, "block") else [])


def test_every_kind_of_block_is_drawn_and_its_gold_lies_on_ink():
    form = draw(template(), seed=1)
    (sheet,), (image,) = form.sheets, form.images
    kinds = {type(block) for block in every(template().pages[0].blocks)}
    # Those of the engine; a counterfactual copy has one of its own around a block.
    engine = "formlab_experiments.forms."
    assert kinds == {each for each in Block.__subclasses__() if each.__module__.startswith(engine)}
    light = np.asarray(image)
    for entity in sheet.entities:
        for word in entity.words:
            x0, y0, x1, y1 = scan_box(word.box, sheet.scan, sheet.paper)
            assert light[y0:y1, x0:x1].min() < 160, word
    for field in fields(form.form):
        x0, y0, x1, y1 = field["box"]
        assert light[y0:y1, x0:x1].min() < 160, field
    # 7 fields in the section and 10 below it.
    assert len(fields(form.form)) == 17
    # 2 entries, class, rules, 2 of the diet, 2 days, 2 of the visits, 2 of how, rating, 4 cells.
    answers = [entity for entity in sheet.entities if entity.label == "answer"]
    assert len(answers) == 17
    assert all(answer.links for answer in answers)


def test_one_seed_draws_one_page_and_another_seed_the_same_form_by_another_hand():
    first, again, other = (draw(template(), seed) for seed in (1, 1, 2))
    assert np.array_equal(first.images[0], again.images[0])
    assert first.form == again.form
    assert not np.array_equal(first.images[0], other.images[0])
    said = [
        [(field["label"], field["value"]) for field in fields(form.form)] for form in (first, other)
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize("formula", ["a **b", "a.b", "f(a)", "a +", "'x'", "c"])
def test_a_formula_is_arithmetic_over_known_names_and_nothing_else(formula):
    with pytest.raises(DataBroken):
        formcraft.compute(formula, {"a": 1, "b": 2})


def test_values_follow_from_each_other_in_their_order():
    makers = Path(__file__).with_name("values.yml").read_text("utf-8")
    state = State(random.Random(1), {"town": ("Ashmouth",)})
    for name, maker in TypeAdapter(Values).validate_python(yaml.safe_load(makers)).items():
        make(maker, state, name)
    # Two rows of 2 × 50 cents, and a third that takes 50 dollars back; the days are 5, 6 and 7.
    assert state.values["total"] == 100 + 100 - 5000
    assert state.values["text"] == "Ashmouth, 07 Jan: ($48.00)"
    with pytest.raises(UnknownName, match="city"):
        make("{city}", state, "x")
    with pytest.raises(UnknownName, match=r"lines\.price"):
        make(Total(sum="lines.price"), state, "x")
