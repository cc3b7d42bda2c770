import itertools
import json
from pathlib import Path

import polars as pl
import pytest
import yaml
from click.testing import CliRunner

from formlab.benchmarks import SAMPLES
from formlab.cli import main
from formlab.folders import Evaluation
from formlab_arena import instances, page_tasks, released, spec, texts, writing
from formlab_arena.designs import FACTORS, KINDS, web_form, web_plan
from formlab_arena.instances import make, spoken
from formlab_arena.spec import FormField, FormPage, WebForm, form, forms
from formlab_arena.texts import lost, recover, task_set
from formlab_arena.validate import read
from tests.states import LONG
from tests.systems.scripted_server import serving

FACTORY = SAMPLES / "formfactory"


def entered(form, values):
    """The answers that the server reads when these values are sent."""
    given = {name: v for name, v in values.items() if v is not None and v is not False}
    names = [field.name for field in form.fields if field.type == "file"]
    files = {name: [given.pop(name)] for name in names if name in given}
    sent = {
        name: value if isinstance(value, list) else ["true" if value is True else str(value)]
        for name, value in given.items()
    }
    return read(form, sent, files)


def test_every_released_value_can_be_entered_and_comes_back_as_it_was(tmp_path, shared):
    tasks = released.task_set(shared / "data" / "formfactory", count=40)
    assert (len(tasks.instances), len(tasks.forms)) == (25 * 40, 25)
    for task in tasks.instances:
        assert entered(tasks.forms[task.code], task.values) == (task.values, {}), task.name
        assert task.kind == "released"
        # A browser makes one line of what it has no more lines for.
        lines = [f.name for f in tasks.forms[task.code].fields if f.type != "description"]
        assert not any("\n" in str(task.values[name]) for name in lines)
    # Every label of the release is a field, and each form can be written and read.
    grants = {field.label: field for field in tasks.forms["A12"].fields}
    assert grants["Gender"].options == ("Female", "Male")
    assert grants["Date of Birth"].type == "date"
    folder = tasks.write_forms(tmp_path)
    assert dict(spec.forms(folder)) == dict(tasks.forms)


PUBLISHED = Path(__file__).parents[2] / "data" / "published" / "formfactory_table1.csv"
# The column of the paper's Table 1 for each type; plain text has none.
COLUMNS = {
    "date": "date", "radio": "binary_choice", "dropdown": "dropdown",
    "description": "description", "file": "file_upload", "multiple": "multiple_choice",
    "checkbox": "checkbox", "number": "number",
}  # fmt: skip


def test_forms_have_the_names_counts_and_types_of_the_paper():
    published = pl.read_csv(PUBLISHED, infer_schema=False).head(25).rows_by_key("form", named=True)
    assert len(forms()) == len(published) == 25
    for one in forms().values():
        (row,) = published[one.name]
        assert len(one.fields) == int(row["fields"]), one.name
        ticked = {kind for kind, column in COLUMNS.items() if row[column] == "yes"}
        assert {field.type for field in one.fields} == ticked | {"string"}, one.name
        assert (len(one.pages) > 1) == (row["multiple_pages"] == "yes"), one.name


def form_with(**field):
    return WebForm("Z1", "Tiny", "Test", {}, (FormPage("", (FormField("a", label="A", **field),)),))


ANSWERS = yaml.safe_load(Path(__file__).with_name("answers.yml").read_text("utf-8"))


def test_answer_is_taken_as_the_field_takes_it_or_refused():
    for sent, field, answered in ANSWERS["taken"]:
        answers, wrong = read(form_with(**field), {"a": sent}, {})
        found = wrong["a"] if wrong else answers["a"]
        assert answered in found if isinstance(answered, str) else found == answered, sent


def test_rule_by_which_a_value_is_recovered():
    for value, text, phrase, field, rule in ANSWERS["recovered"]:
        assert recover(form_with(**field), {"a": value}, text, {"a": phrase}) == {"a": rule}, text


def test_field_that_does_not_apply_is_null_whatever_was_sent():
    sent = {"pets": ["No"], "animals": ["A cat."]}
    answers, wrong = read(form("B12"), sent, {})
    assert answers["animals"] is None
    assert "animals" not in wrong
    assert "animals" in read(form("B12"), {"pets": ["Yes"]}, {})[1]


SAMPLE = texts.benchmarks.SAMPLES / "arena" / "prose.yaml"


def test_sample_has_a_text_of_a_human_kind_for_each_form_and_loses_no_value():
    entries = {entry["name"]: entry for entry in yaml.safe_load(SAMPLE.read_text("utf-8"))}
    tasks = task_set("prose")
    assert [each.code for each in tasks.instances] == list(forms())
    kinds = [each.kind for each in tasks.instances]
    assert set(kinds) == set(texts.KINDS)
    assert sum(kind in ("resume", "letter") for kind in kinds) >= 6
    assert [each.name for each in tasks.instances if each.document] == [
        "A11-001", "B14-001", "C13-001",
    ]  # fmt: skip
    for each in tasks.instances:
        evidence = entries[each.name].get("evidence", {})
        how = recover(form(each.code), each.values, each.text, evidence)
        assert lost(how) == [], each.name
        # No phrase is declared for what the text says as such.
        assert {name for name, rule in how.items() if rule == "declared"} == set(evidence)
        assert each.values == make(form(each.code), 1).values
        # The text says it, and not in the words of the form.
        assert not any(f"“{field.label}”" in each.text for field in form(each.code).fields)


def test_form_asks_for_what_is_written_on_the_page_and_for_nothing_drawn():
    tasks = page_tasks.task_set("formcraft", codes=["blood_report"])
    (task,) = tasks.instances
    form = tasks.forms[task.code]
    # Of twelve fields a table, a chart, a bar code, a stamp and a signature are left out.
    assert [(field.label, field.type) for field in form.fields] == [
        ("Name", "string"), ("Group", "string"), ("Drawn", "date"), ("By", "string"),
        ("Donor may", "string"), ("Reason", "string"), ("Next visit", "date"),
    ]  # fmt: skip
    assert list(task.values.values()) == [
        "Rufus Abara", "0 negative", "2022-11-08", "K. Lund", "wait",
        "ferritin low, eat red meat", "2023-05-17",
    ]  # fmt: skip
    # The text names no value, and the page is at hand.
    assert not any(value in task.text for value in task.values.values())
    assert [path.name for path in task.page.files] == ["blood_report.png"]
    assert (task.name, task.kind, form.name) == ("P0001-001", "pages", "blood_report")


@pytest.mark.parametrize(("benchmark", "split"), [("formcraft", None), ("vrdu", "MadeAds-pdfs")])
def test_every_gold_value_can_be_entered_and_comes_back_as_it_was(benchmark, split, tmp_path):
    tasks = page_tasks.task_set(benchmark, split=split)
    for task in tasks.instances:
        assert entered(tasks.forms[task.code], task.values) == (task.values, {}), task.name
        gold = [row["value"] or "" for row in task.page.gold.values()]
        for value, text in zip(task.values.values(), gold, strict=True):
            # A control may write a date or a number otherwise; nothing else is changed.
            assert value is None or not isinstance(value, str) or "-" in value or value in text
    assert dict(spec.forms(tasks.write_forms(tmp_path))) == dict(tasks.forms)
    first, again = (page_tasks.task_set(benchmark, split=split, limit=n) for n in (2, 3))
    assert [task.name for task in again.instances][:2] == [task.name for task in first.instances]
    assert first.digest == again.digest == tasks.digest


def test_made_values_can_be_entered_their_text_carries_them_and_the_seed_decides():
    for one in forms().values():
        for instance in (make(one, number, seed=5) for number in range(1, 4)):
            assert entered(one, instance.values) == (instance.values, {})
            for field in one.fields:
                value = instance.values[field.name]
                if isinstance(value, bool):
                    assert f"“{field.label}”" in instance.text
                elif value is not None:
                    assert spoken(field, value) in instance.text
    first, again, other = (make(form("B11"), 1, seed=seed) for seed in (3, 3, 4))
    assert first == again
    assert first.values != other.values


KEY = "sk-a-secret-of-forty-characters-in-all-0"
# Jun Berg, born 1999-08-18, wants a current account and has the identity card S1977413.
LETTER = (
    "Good morning, Jun Berg here, born 18 August 1999. For my salary I need what your leaflet calls"
    " the everyday one. I can show you my identity card, S1977413."
)
EVERYDAY = {"field": "account", "phrase": "the everyday one"}


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)


def said(text, *evidence):
    return json.dumps({"text": text, "evidence": list(evidence)})


def wrote(server, out, *, tries=3, codes=("E12",), **settings):
    settings = {"base_url": server.url, "attempts": 1, "timeout": LONG} | settings
    return writing.write(
        out, task_set(codes=list(codes)), system="chat:m", settings=settings, tries=tries
    )


def asked(call):
    return json.loads(call["body"]["messages"][1]["content"])


def test_text_is_asked_for_again_with_what_is_missing_and_then_never_again(tmp_path):
    script = [said(LETTER.replace("S1977413", "S197"), EVERYDAY), said(LETTER, EVERYDAY)]
    with serving(*script) as server:
        (entry,) = wrote(server, tmp_path)
        assert [asked(call).get("MISSING") for call in server.calls] == [None, ["number"]]
        assert asked(server.calls[1])["LAST"] == LETTER.replace("S1977413", "S197")
        assert asked(server.calls[0])["FIELDS"][1] == {
            "field": "born", "label": "Born on", "value": "18 August 1999",
        }  # fmt: skip
        assert wrote(server, tmp_path) == [entry]
        assert len(server.calls) == 2
    assert (entry["status"], entry["kind"], entry["tries"]) == ("written", "letter", 2)
    # The arena fills in from it: the values are those of the instance.
    (task,) = texts.read(tmp_path / texts.FILE)
    assert (task.text, task.kind) == (LETTER, "letter")
    assert task.values == task_set(codes=["E12"]).instances[0].values


def test_limit_of_calls_leaves_plain_texts_and_a_later_run_goes_on(tmp_path):
    with serving(then=said(LETTER, EVERYDAY)) as server:
        first = wrote(server, tmp_path, codes=("E12", "E11"), max_calls=1, concurrency=1)
        assert [entry["status"] for entry in first] == ["written", "plain"]
        assert first[1]["error"].startswith(("not asked", "values"))
        again = wrote(server, tmp_path, codes=("E12", "E11"), tries=1)
        assert again[0] == first[0]
        assert len(server.calls) == 2


FACTORS_OF = {"fields": [5, 10], "kinds": [1, 4], "pages": [1, 2], "widgets": ["native", "custom"]}


def test_a_plan_has_every_combination_and_a_fraction_pairs_almost_equally_often():
    plan = web_plan(dict.fromkeys(FACTORS, ()) | {"fields": [8, 16]}, replicates=2)
    assert plan.height == plan["doc_id"].n_unique() == 2 * 4 * 2 * 2 * 2
    assert plan.group_by(list(FACTORS)).len()["len"].unique().to_list() == [2]
    assert plan["doc_id"][0] == "f8k1p1wnativer1"
    half = web_plan(FACTORS_OF, runs=8, seed=3)
    for pair in itertools.combinations(FACTORS, 2):
        assert half.group_by(pair).len()["len"].to_list() == [2] * 4


@pytest.mark.parametrize("seed", range(5))
def test_forms_have_the_fields_of_their_plan_and_texts_that_name_every_value(seed, tmp_path):
    plan = web_plan({"fields": [8, 40], "kinds": [1, 8], "pages": [1, 3]}, seed=seed)
    for row in plan.to_dicts():
        form = web_form(row, seed)
        assert form == web_form(row, seed)
        spec.write(form, tmp_path / "form.yaml")
        assert spec.load(tmp_path / "form.yaml") == form
        labels = {field.label for field in form.fields}
        assert len(form.fields) == len(labels) == row["fields"]
        assert len({field.type for field in form.fields}) == row["kinds"]
        sizes = [len(page.fields) for page in form.pages]
        assert len(sizes) == row["pages"]
        assert max(sizes) - min(sizes) <= 1
        task = instances.make(form, 1, seed=seed)
        assert None not in task.values.values()
        assert all(label in task.text for label in labels)


def invoked(*asked):
    return CliRunner().invoke(main, ["arena", "design", *map(str, asked)])


@pytest.mark.browser
@pytest.mark.complete
def test_oracle_fills_in_every_control_of_both_libraries_and_gold_is_complete(tmp_path):
    asked = ("--factors", "fields=8", "kinds=8", "pages=2", "widgets", "--out", tmp_path)
    done = invoked(*asked, "--system", "oracle", "--workers", 2)
    assert done.exit_code == 0, done.output
    head, native, custom, *_ = (line.split() for line in done.stdout.splitlines())
    assert head[:3] == ["term", "value", "share"]
    assert (native[:3], custom[:3]) == (
        ["widgets", "native", "1.0000"], ["widgets", "custom", "1.0000"],
    )  # fmt: skip
    evaluation = Evaluation.load(tmp_path / "evals" / "oracle")
    assert evaluation.documents.select("page_of", "fields", "kinds", "pages", "widgets").rows() == [
        ("f8k8p2wcustomr1", 8, 8, 2, "custom"), ("f8k8p2wnativer1", 8, 8, 2, "native"),
    ]  # fmt: skip
    fields = evaluation.fields.filter(pl.col("gold").is_not_null())
    assert fields.group_by("doc_id").len()["len"].to_list() == [8, 8]
    assert fields["content"].n_unique() == len(KINDS)
    # A list that a script opens, and ticks of which the label alone is seen, have their places.
    assert evaluation.scores.filter(metric="click_accuracy")["value"].min() == 1
    again = invoked(*asked, "--system", "oracle", "--json")
    assert len(json.loads(again.stdout)) == 2 + len(KINDS)
