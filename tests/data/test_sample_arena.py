from pathlib import Path

import yaml

from formlab_arena import form, make

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "arena" / "instances.yaml"


def test_sample_is_what_the_generator_makes():
    rows = yaml.safe_load(SAMPLE.read_text("utf-8"))
    assert len(rows) == 6
    for row in rows:
        code, number = row["name"].split("-")
        one = make(form(code), int(number))
        assert (row["text"], row["values"]) == (one.text, one.values)
