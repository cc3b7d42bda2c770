"""Small forms with relations, for the tests of counterfactual pages."""

from formlab_experiments.forms.content import check
from formlab_experiments.forms.formcraft import Form

RELATION = ["intra-group", "constraint", "simple"]


def form(name="bill", **more):
    """A form with a sum, a date that follows from another, a number repeated, and a question."""
    return check(content(name, **more), Form, where="here")


def content(name="bill", **more):
    """The template of `form`."""
    blocks = [
        {"section": "Bill", "blocks": [
            {"field": "Parts:", "value": "12.50", "kind": "money"},
            {"field": "Work:", "value": "18.00", "kind": "money"},
            {"field": "Total:", "value": "30.50", "kind": "money", "old": "31.00"},
        ]},
        {"field": "Drawn:", "value": "4 May 2019", "kind": "date"},
        {"field": "Due:", "value": "14 May 2019", "kind": "date"},
        {"field": "No.:", "value": "A-4711", "pen": "print"},
        {"field": "Once more, no.:", "value": "A-4711", "smudge": "A-4711"},
        {"rings": "Copies", "options": "1 | 2 | 3", "ringed": "2", "at": 60, "step": 40},
    ]  # fmt: skip
    sources = {"parts": "/Bill/Parts", "work": "/Bill/Work"}
    checks = [
        {"source": "/Bill/Parts", "dependent": "/Bill/Total", "formula": "parts + work",
         "fields": sources, "kind": "money", "relation": RELATION},
        {"source": "/Drawn", "dependent": "/Due", "formula": "drawn + 10", "kind": "date",
         "format": "{:%d %B %Y}", "fields": {"drawn": "/Drawn"}, "relation": RELATION},
        {"source": "/No.", "dependent": "/Once more, no.", "expected": "A-4711",
         "relation": RELATION},
    ]  # fmt: skip
    questions = [
        {"question": "What do all copies cost?", "formula": "work * copies",
         "fields": {"work": "/Bill/Work", "copies": "/Copies"}, "kind": "money",
         "relation": RELATION},
    ]  # fmt: skip
    return {
        "name": name, "domain": "test", "width": 300, "margin": 20, "top": 15, "gap": 3,
        "pens": {"face": "sans", "fill": {"face": "upright-hand", "size": 15, "wobble": 0.7}},
        "pages": [{"height": 300, "scan": {"skew": 0.5, "noise": 0.03}, "blocks": blocks}],
        "checks": checks, "questions": questions,
    } | more  # fmt: skip
