"""Small forms with relations, for the tests of counterfactual pages."""

from pathlib import Path

import yaml

from formlab_experiments.forms.content import check
from formlab_experiments.forms.formcraft import Form

BILL = (Path(__file__).parent / "experiments" / "bill.yml").read_text("utf-8")


def content(name="bill", **more):
    """The template of a bill; see `bill.yml`."""
    return {"name": name} | yaml.safe_load(BILL) | more


def form(name="bill", **more):
    return check(content(name, **more), Form, where="here")
