import pytest

from formlab.benchmarks import SAMPLES
from formlab.errors import DataMissing
from formlab_arena import released, spec, validate

SAMPLE = SAMPLES / "formfactory"


def entered(form, values):
    """The answers that the server reads when these values are sent."""
    sent = {
        name: value if isinstance(value, list) else ["true" if value is True else str(value)]
        for name, value in values.items()
        if value is not None and value is not False
    }
    return validate.read(form, sent, {})


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


def test_sample_in_the_released_layout_is_read_the_same_way(tmp_path):
    tasks = released.task_set(SAMPLE, codes=["E12"], count=3)
    assert [task.name for task in tasks.instances] == ["E12-001", "E12-002", "E12-003"]
    first = tasks.instances[0]
    assert entered(tasks.forms["E12"], first.values) == (first.values, {})
    assert released.task_set(SAMPLE, codes=["E12"]).digest == tasks.digest
    with pytest.raises(DataMissing, match="no form B12"):
        released.task_set(SAMPLE, codes=["B12"])
    with pytest.raises(DataMissing, match="3 texts for form E12"):
        released.task_set(SAMPLE, codes=["E12"], count=4)
