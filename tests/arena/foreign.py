"""A form that is not ours: other markup, labels around their fields, no names of formlab's."""

from pathlib import Path

from tests.arena.web import Page

TEXT = """Hello! I would like to sign up my daughter. Name of the child: Ada Berg. You can write to
me at lena.berg@example.org. The day of arrival is 5 July 2027. Tent: Large tent, please. Food:
Vegetarian. My child can swim. You may not take photographs."""
RIGHT = {
    "child": "Ada Berg", "mail": "lena.berg@example.org", "arrival": "05/07/2027",
    "tent": "Large tent", "food": ["veg"], "swim": True, "photo": False,
}  # fmt: skip


def page(name):
    """A page of the folder `observed`, of which nothing is asked."""
    return Page(
        "camp", (Path(__file__).with_name("observed") / f"{name}.html").read_text("utf-8"), {}, {}
    )


def foreign_page():
    return page("foreign")
