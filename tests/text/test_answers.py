import json
import time

import pytest

from formlab.benchmarks.formcraft import tidied
from formlab.systems.chat.answers import Answer, content
from formlab.text import answers

# What appendix J of the paper describes: keys without quotes, one without its colon, and no brace
# where "fields" ends.
APPENDIX_J = """Here is the JSON output:
```json
{
  "fields": {
    {
      label: "Name", value: "John"
    },
    {label "Date", value: "1/2/03"}
  ,
  "groups": []
}
```
I hope this helps!"""


def test_json_alone_is_ok_and_keeps_numbers_as_written():
    reply = answers.parse('{"a": 9.50, "b": 1e3, "c": true, "d": null}')
    assert reply == answers.Parsed({"a": "9.50", "b": "1e3", "c": True, "d": None}, "ok")


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ('```json\n{"a": "1"}\n```', "code fence left out"),
        ('Sure!\n\n```\n{"a": "1"}\n```\nAnything else?', "code fence left out"),
        ('The form: {"a": "1"} Done.', "text around the JSON left out"),
        ('[{"a": "1"}]', "text around the JSON left out"),
        ('Is it [{"a": "2"}]? No: [{"a": "1"}]', "text around the JSON left out"),
    ],
)
def test_what_stands_around_json_is_left_out_and_said(text, change):
    reply = answers.parse(text)
    assert (reply.value, reply.status, reply.changes) == ({"a": "1"}, "repaired", (change,))


def test_the_broken_json_of_appendix_j_gives_both_of_its_fields():
    reply = answers.parse(APPENDIX_J)
    form, _ = tidied(reply.value)
    assert reply.status == "repaired"
    fields = [(field["label"], field["value"]) for field in form["fields"]]
    assert fields == [("Name", "John"), ("Date", "1/2/03")]
    said = " ".join(reply.changes)
    assert "text around the JSON left out" in said
    assert "braces around a list of objects made brackets: 1" in said
    assert "colons put after keys: 1" in said


def test_json_cut_off_in_the_middle_keeps_what_was_complete():
    whole = json.dumps({"fields": [{"label": f"F{n}", "value": str(n)} for n in range(5)]})
    reply = answers.parse(whole[:-20])
    assert reply.status == "repaired"
    assert reply.value["fields"][:4] == [{"label": f"F{n}", "value": str(n)} for n in range(4)]


@pytest.mark.parametrize("text", ["", "I cannot read this form.", "[1, 2, 3]", '"text"', "null"])
def test_text_without_an_object_is_bad_json(text):
    reply = answers.parse(text)
    assert (reply.value, reply.status) == (None, "bad_json")
    assert reply.changes


@pytest.mark.parametrize(
    "text",
    ['{"a":' * 100_000, "[" * 500_000, "```json\n" * 50_000, '{"a": "' + "x" * 1_000_000,
     '{"a" "b", ' * 50_000, '{a: "\x00\ud800\u2028\x1b[31m<script>', "{a: " + "9" * 10_000 + "}",
     "{tru" * 100_000, '{"' * 150_000, "```" + " " * 200_000 + "x"],
    ids=["deep", "brackets", "fences", "a megabyte", "no commas", "control", "digits", "words",
         "quotes", "spaces"],
)  # fmt: skip
def test_hostile_text_never_raises_and_takes_no_time(text):
    start = time.process_time()
    reply = answers.parse(text)
    # A second on a machine that does nothing else.
    assert time.process_time() - start < 4
    assert reply.status in ("ok", "repaired", "bad_json")
    assert (reply.value is None) == (reply.status == "bad_json")


def test_near_misses_of_the_schema_are_mended_and_said():
    form, changes = tidied(
        {"result": {"Sections": [{"name": "A", "fields": {"Sex": "f", "Age": 7}}], "fields": None}}
    )
    assert form["groups"][0]["label"] == "A"
    fields = [(field["label"], field["value"]) for field in form["groups"][0]["fields"]]
    assert fields == [("Sex", "f"), ("Age", "7")]
    assert "form taken out of an outer key: 1" in changes
    assert "fields written as label and value: 2" in changes


def test_a_group_in_a_list_of_fields_is_put_among_the_groups():
    value, _ = tidied({"fields": [{"label": "A", "fields": [{"label": "x", "value": "1"}]}]})
    assert (value["fields"], value["groups"][0]["label"]) == ([], "A")


@pytest.mark.parametrize(
    ("text", "inside"),
    [
        ("```\na\n```", "a"), ("```html\n<p>\r\n  ```\n", "<p>"), (" ```\na\n\n```", "a\n"),
        ("```\na  ```", "a"), ("```\na ```b``` ", "a ```b"), ("```\n```", ""), ("```x```", None),
    ],
)  # fmt: skip
def test_what_stands_in_a_fence_is_the_text(text, inside):
    parsed = content(Answer(text=text), json=False)
    assert parsed.value == (text if inside is None else inside)


A = '{"a": "1"}'
# What models and the interfaces to them put around the same answer; a draft is `{"a": "2"}`.
AROUND = [
    '<|START_THINKING|>{"a": "2"}<|END_THINKING|><|START_RESPONSE|>%s<|END_RESPONSE|>',
    '<|channel|>analysis<|message|>{"a": "2"}<|end|><|start|>assistant<|channel|>final '
    "<|constrain|>json<|message|>%s<|return|>",
    "analysisIs it 2?assistantfinal%s", "<think>2?</think><|begin_of_box|>%s<|end_of_box|>",
    '<think type="long">2?</think>So it is <answer>%s</answer>.', "2? No: \\boxed{%s}.",
    "My thought: 2?\n\nHere is my response:\n%s", "<|channel>thought\n2?<channel|>%s",
    "%s<|im_end|>",
]  # fmt: skip
REPLIES = [
    {"role": "assistant", "function_call": {"name": "f", "arguments": A}},
    {"type": "function_call", "call_id": "c", "name": "f", "arguments": A},
    {"output": {"message": {"role": "assistant", "content": [{"toolUse": {"toolUseId": "t",
     "name": "f", "input": {"a": "1"}}}]}}, "stopReason": "tool_use"},
    {"functionCall": {"name": "f", "args": {"a": "1"}}}, [{"generated_text": A}],
    {"tool_name": "f", "parameters": {"a": "1"}},
]  # fmt: skip


def test_an_answer_is_found_in_whatever_models_and_their_interfaces_put_around_it():
    for around in AROUND:
        assert answers.read(around % A).value == {"a": "1"}, around
        assert answers.read(around % "7.50").value == "7.50", around
    for reply in REPLIES:
        assert answers.parse(json.dumps(reply)).value == {"a": "1"}, reply
    # A form's own fields may be called like those of an interface.
    for own in ({"id": "7", "content": {"a": "1"}}, {"name": "Ada", "input": "5", "due": "9"}):
        assert answers.parse(json.dumps(own)).value == own
    # Marks that stand within JSON are its text.
    for kept in ('So {"a":"see <final>","b":"1"} done', '{"a":"use <answer> tag","b":"1",}'):
        assert answers.parse(kept).value.keys() == {"a", "b"}
    start = time.process_time()
    for mark in ("<answer>", "\\boxed{", "<think ", "<|channel|>final"):
        answers.read(mark * 20_000)
    assert time.process_time() - start < 2
