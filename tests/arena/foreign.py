"""A form that is not ours: other markup, labels around their fields, no names of formlab's."""

from tests.arena.web import Page

FORM = """<!doctype html><html><head><title>Camp</title><style>
body { font: 18px Arial, sans-serif; margin: 30px; max-width: 700px }
label { display: block; margin: 14px 0 } p { margin: 14px 0 0 }
input:not([type=radio]):not([type=checkbox]), select, textarea {
  font: inherit; padding: 6px; width: 320px }
button { font: inherit; padding: 8px 20px }
</style><link rel="stylesheet" href="https://cdn.example.com/look.css"></head>
<body><h1>Summer camp</h1><form method="post" action="/accept">
<label>Name of the child<br><input name="child" required></label>
<label>E-mail address<br><input type="email" name="mail"></label>
<label>Day of arrival (DD/MM/YYYY)<br><input name="arrival" placeholder="DD/MM/YYYY"></label>
<label>Tent<br><select name="tent"><option>Choose one</option><option>Small tent</option>
<option>Large tent</option></select></label>
<p>Food</p>
<div><label><input type="radio" name="food" value="veg"> Vegetarian</label>
<label><input type="radio" name="food" value="any"> Everything</label></div>
<label><input type="checkbox" name="swim"> My child can swim</label>
<label><input type="checkbox" name="photo"> You may take photographs</label>
<button>Send the form</button></form></body></html>"""
TEXT = """Hello! I would like to sign up my daughter. Name of the child: Ada Berg. You can write to
me at lena.berg@example.org. The day of arrival is 5 July 2027. Tent: Large tent, please. Food:
Vegetarian. My child can swim. You may not take photographs."""
RIGHT = {
    "child": "Ada Berg", "mail": "lena.berg@example.org", "arrival": "05/07/2027",
    "tent": "Large tent", "food": ["veg"], "swim": True, "photo": False,
}  # fmt: skip


def foreign_page(html=FORM):
    return Page("camp", html, {}, {})
