import contextlib
import dataclasses
import json

import polars as pl
import pytest
import yaml

import formlab_arena
from formlab import analysis, benchmarks, registry, tables
from formlab.folders import Predictions
from formlab_arena import page_reading, page_tasks
from formlab_arena.actions import Click
from formlab_arena.driver import PageLeft
from formlab_arena.episode import RunSettings, open_session
from formlab_arena.evaluation import read_run
from formlab_arena.oracle import Oracle
from formlab_arena.page_observer import MOST_ALIKE, PageObserver
from formlab_arena.page_reading import PageValues
from formlab_arena.run import fill
from tests.states import until_seen

from .web.hosting import OBSERVED, Host, Page

PAGES = Page("", "", folder=OBSERVED)
EXPECTED = yaml.safe_load((OBSERVED / "expected.yml").read_text("utf-8"))


@pytest.fixture(scope="module")
def visit(tmp_path_factory):
    """A browser on the server of many kinds of pages, and that server."""
    folder, settings = tmp_path_factory.mktemp("visit"), RunSettings("tests")
    with (
        Host(PAGES).running() as other,
        Host(PAGES, other).running() as host,
        open_session(f"{host.root}/page/all", folder, "", settings, allow=[other.root]) as session,
    ):
        yield host, other, session.page


@pytest.fixture
def observer(visit, tmp_path):
    """Opens a page by its path and observes it."""

    def open_page(path):
        visit[2].goto(f"{visit[0].root}/page/{path}")
        return PageObserver(visit[2], tmp_path)

    return open_page


@pytest.mark.browser
def test_fields_of_all_kinds_are_listed_as_people_read_them(observer):
    elements = observer("all").elements()
    read = {}
    for element in elements:
        if element.field and element.role != "option":
            texts = [element.name] if element.checked is not None else element.options
            label, role, *choices = read.setdefault(element.field, [element.label, element.role])
            read[element.field] = [label, role, *choices, *texts]
    assert read == EXPECTED["read"]
    assert [[e.role, e.name] for e in elements if not e.field] == EXPECTED["others"]
    by_field = {element.field: element for element in elements}
    assert {e.field for e in elements if e.required} == {"first", "size"}
    assert {e.field for e in elements if e.disabled} == {"shut"}
    assert {e.field for e in elements if e.many} == {"langs", "Toppings"}
    hints = {"mail": "you@example.org; We never share it.", "arrival": "YYYY-MM-DD; 2027-01-01…"}
    assert {name: by_field[name].hint for name in hints} == hints
    assert by_field["first"].group == ("Native", "Contact")
    # What stands above all fields of a table distinguishes none.
    assert by_field["a1"].group[-1] == "Amount"
    assert by_field["card#2"].group == ("frame Abroad", "frame")
    # Each button of a group of hidden ticks has the box of its own label.
    boxes = [element.box for element in elements if element.field == "room"]
    assert len(set(boxes)) == 3
    # The frame's border of 3 and padding of 5 pixels, and margins, count.
    frame = by_field["card"].box
    assert frame[0] > 8 + 3 + 5 + 20


@pytest.mark.browser
def test_labels_of_other_styles_and_widgets_that_stand_for_hidden_lists(observer):
    page = observer("styles")
    fields = {}
    for element in page.elements():
        fields.setdefault(element.field, []).append(element)
    read = {
        field: (f"{own[0].label}: " * (own[0].label not in (own[0].name, field)))
        + " ".join(element.name for element in own)
        for field, own in fields.items()
        if field
    }
    assert read == EXPECTED["styled"]
    # A click on the text of a label counts, also within something that can have the focus.
    code = "(w.scrollIntoView(), Object.values(w.getBoundingClientRect().toJSON()))"
    x, y, *_ = page.page.evaluate(code)
    assert page.shown(page.at(x + 4, y + 4))["field"] == "children"
    assert fields["birth"][0].options == ("Pick", "Oslo", "Bergen")
    assert (fields["birth"][0].value, fields["age"][0].value) == ("Bergen", "Ten")
    page.look()
    contents = page.contents()
    assert (contents["birth"], contents["age"]) == ("BGO", "10")


def choose(observer, name, option=None):
    """Click an element by its field, or by its name where it has none."""
    element = next(
        e for e in observer.elements()
        if name in (e.field or e.name, e.name) and option in (None, e.option)
    )  # fmt: skip
    x0, y0, x1, y1 = observer.reach(element.id)
    observer.page.mouse.click((x0 + x1) / 2, (y0 + y1) / 2)


def sent(contents, *fields):
    """The contents as a form sends them: by name, texts in order; a tick that is off not at all."""
    texts = {}
    for field in fields:
        content = contents[field]
        content = content if isinstance(content, list) else [content]
        texts.setdefault(field.partition("#")[0], []).extend(content)
    return {name: list(map(str, values)) for name, values in texts.items() if values}


def is_gone(page, ids):
    """Whether another page stands in the frame that some elements were in."""
    with contextlib.suppress(PageLeft):  # Just now it is between two.
        return not ids <= {element.id for element in page.elements()}


@pytest.mark.browser
def test_contents_equal_what_the_server_got_and_every_click_hits(visit, observer, tmp_path):
    (tmp_path / "pass.pdf").write_text("%PDF")
    page = observer("all")
    page.look()
    # The banner lies over what is at the window's lower edge, and only there.
    covered = {element.field for element in page.elements() if element.covered}
    assert {"country", "room"} <= covered
    assert "first" not in covered
    choose(page, "Accept")
    elements = page.elements()
    assert not any(element.covered for element in elements)
    for element in elements:
        x0, y0, x1, y1 = page.reach(element.id)
        hit = page.shown(page.at((x0 + x1) / 2, (y0 + y1) / 2))
        if element.field and not element.disabled and element.kind != "listbox":
            assert (hit["field"], hit["option"]) == (element.field, element.option)
            assert hit["box"] == pytest.approx((x0, y0, x1, y1), abs=0.2)
    ids = {element.field: element.id for element in elements}
    for field, text in EXPECTED["typed"].items():
        page.handle(ids[field]).fill(text)
    for field, option in EXPECTED["clicked"]:
        choose(page, field, option)
    page.handle(ids["langs"]).select_option(["en", "de"])
    page.handle(ids["country"]).select_option("NO")
    page.handle(ids["passport"]).set_input_files(tmp_path / "pass.pdf")
    choose(page, "town")
    page.page.keyboard.type("B")
    suggestions = [e.name for e in page.elements() if e.role == "option" and not e.field]
    assert suggestions == ["Bergen", "Bodø"]
    choose(page, "Bodø")
    # Ids last while elements do.
    assert ids.items() <= {element.field: element.id for element in page.elements()}.items()
    changed = {(field, option): after for field, option, _, after in page.look()[1]}
    assert changed["langs", None] == "en, de"
    assert changed["room", "3"] is True
    contents = page.contents()
    for name in ("Pay", "Pay", "Send"):
        before = {element.id for element in page.elements() if element.name == name}
        choose(page, name)
        until_seen(page.page, lambda old=before: is_gone(page, old))
    posts = {post["path"]: post["values"] for host in visit[:2] for post in host.sent}
    assert posts["/inner"] == {"card": ["4111"], "first": ["Ada B"]}
    assert posts["/inner"] == sent(contents, "card", "first#2")
    assert posts["/deep"] == sent(contents, "card#2", "first#3")
    framed = ("card", "first#2", "card#2", "first#3")
    on = {"terms": ["0", "1"], "sea": ["on"], "quiet": ["on"], "Gift wrap": ["true"]}
    on["Express"] = ["true"]
    assert all(contents[field] is True for field in on)
    texts = sent(contents, *(EXPECTED["read"].keys() - {"shut", *framed} - on.keys()))
    posted = posts["/send"]
    posted["Other"] += posted.pop("Other#2")
    posted["Stage name"] = posted.pop("stage")
    # What nobody can see or use is sent all the same, and is no field of the account.
    assert posted.pop("folded") == [""]
    assert {name: sorted(values) for name, values in posted.items()} == {
        name: sorted(values) for name, values in (texts | on).items()
    }
    assert (posted["currency"], posted["leave"], posted["size"]) == (["EUR"], ["2027-06-17"], ["l"])


@pytest.mark.browser
def test_page_that_moves_or_is_drawn_anew_keeps_its_names_and_few_screens(observer):
    page = observer("moving")
    screens = [page.look() for _ in range(MOST_ALIKE + 4)]
    assert sum(event is not None for _, _, event in screens) == MOST_ALIKE
    assert screens[-1][0].screen == MOST_ALIKE
    page = observer("redrawn")
    (field,) = page.elements()
    page.handle(field.id).fill("Ada")
    page.look()
    page.page.evaluate("draw()")
    (again,) = page.elements()
    assert (again.field, again.value) == (field.field, "") == ("name", "")
    # An id never names another element.
    assert again.id != field.id
    assert page.handle(field.id) is page.reach(field.id) is None
    assert page.look()[1] == [["name", None, "Ada", ""]]
    page.page.reload()
    assert page.handle(again.id) is page.handle("f9e9") is page.handle("name") is None


def reading_of(folder, values=(), words=()):
    """A reading of a page without a fault, but for these values of paths and words under boxes."""
    records = benchmarks.load("formcraft").records.filter(doc_id="blood_report")
    rows = []
    for row in records.filter(pl.col("task").is_in(page_reading.WRITTEN)).to_dicts():
        path, own = row["path"], row | {"role": "prediction", "system": "made"}
        seen = {"task": "layout", "kind": "line", "path": f"/ocr{path}"}
        rows.append(own | {"value": dict(values).get(path, row["value"])})
        rows.append(own | seen | {"value": dict(words).get(path, row["value"])})
    answered = [{key: rows[0][key] for key in ("benchmark", "split", "doc_id", "system", "task")}]
    responses = tables.table("responses", [row | {"status": "ok"} for row in answered])
    Predictions(tables.table("records", rows), responses, "made").save(folder)
    return folder


def test_label_on_the_form_gets_the_value_of_the_label_most_like_it():
    rows = [("/Donor/Name", "Ada"), ("/Nurse/Name", "Ida"), ("/line_item/1/sub_amount", "$3"),
            ("/Smoker", "no"), ("/Weight", "")]  # fmt: skip
    values = PageValues([{"path": path, "value": value} for path, value in rows])
    assert values.about("Nurse: Name").value == "Ida"
    # The screen is read by OCR as well.
    assert values.about("Line ltem 2: Sub amount").value == "$3"
    assert values.about("Line item 1: Sub amount").value == "$3"
    assert values.about("Smoker").denies
    assert values.about("Weight") is None
    assert values.about("Colour") is None


def test_evidence_is_what_was_read_under_the_box_and_assigned_to_the_label(tmp_path):
    tasks = page_tasks.task_set("formcraft", codes=["blood_report"])
    misread = {"/Donor/Name": "Rufos Abara"}
    reading = reading_of(tmp_path / "read", misread | {"/Donor/By": ""}, misread)
    tasks = page_reading.read(tasks, tmp_path, "rules", reading)
    fields = tasks.instances[0].page.evidence()["fields"]
    seen = {row["source"]: (row["read"], row["assigned"]) for row in fields.values()}
    assert seen["/Donor/Name"] == ("Rufos Abara", "Rufos Abara")
    assert seen["/Donor/By"] == ("K. Lund", "")
    assert seen["/Donor/Drawn"] == ("2022-11-08", "2022-11-08")
    # A mark is not read as words.
    assert seen["/Decision/Donor may"] == (None, "wait")


class Hands(Oracle):
    """Enters what was read with sure hands, but for one click that goes astray."""

    def act(self, observation):
        boxes = {t.field: t for t in observation.elements if t.field.endswith("reason")}
        spots = [Click(*target.middle) for target in boxes.values()]
        return [
            dataclasses.replace(action, x=1270.0) if action in spots else action
            for action in super().act(observation)
        ]


@pytest.mark.browser
def test_planted_faults_end_in_their_stages(tmp_path, monkeypatch, fresh):
    def hands(instance):
        values, gold = instance.page.values, instance.page.gold
        told = {name: values.about(row["label"]) for name, row in gold.items()}
        return Hands({name: mention and mention.value for name, mention in told.items()})

    registry.register("agents", "hands", hands)
    monkeypatch.setitem(page_reading.READERS, "hands", "rules")
    misread = {"/Donor/Name": "Rufos Abara"}
    swapped = {"/Donor/By": "0 negative", "/Donor/Group": "K. Lund"}
    reading = reading_of(tmp_path / "read", misread | swapped, misread)
    tasks = page_tasks.task_set("formcraft", codes=["blood_report"])
    settings = RunSettings("hands", texts="pages", steps=3)
    fill(tmp_path / "run", settings, tasks=tasks, reading=reading)
    lost = formlab_arena.loss_stages(analysis.evaluate(*read_run(tmp_path / "run")))
    assert dict(lost.select("path", "stage").iter_rows()) == {
        "/Name": "reading", "/Group": "structure", "/By": "structure", "/Reason": "click",
    }  # fmt: skip
    assert set(lost["source"]) == {"blood_report"}
    kept = json.loads((tmp_path / "run" / "P0001-001" / "page.json").read_text())
    assert kept["doc_id"] == "blood_report"
