"""YAML files: what is read, and what is said of those that cannot be."""

import pytest

from formlab import yaml_files
from formlab.errors import DataBroken


@pytest.mark.parametrize(
    "text",
    ["a: [", "a: !!bool maybe", "a: !!timestamp x", "a: 2024-13-45", "[" * 100_000,
     "a: " + "9" * 5000, "{" * 20_000, "a: !!python/object:os.system x", "? {a: 1}\n: b"],
)  # fmt: skip
def test_what_is_not_readable_as_yaml_names_its_file(tmp_path, text):
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(DataBroken, match=r"p\.yaml"):
        yaml_files.read(file, remedy="a: 1")


def test_key_named_twice_in_yaml_is_an_error_with_its_line(tmp_path):
    file = tmp_path / "p.yaml"
    file.write_text("a: &shared {b: 1}\nc: *shared\nd:\n - {e: 1,\n    e: 2}\n")
    with pytest.raises(DataBroken, match=r"'e' twice .*p\.yaml:5"):
        yaml_files.read(file, remedy="name it once")
    file.write_text("a: &itself [*itself, {b: 1}]\nc: {b: 1}\n")
    assert yaml_files.read(file, remedy="")["c"] == {"b": 1}
