"""A reader of one's own: logs of OCRBench v2, a JSON list of samples with `predict` and `score`."""

from collections import defaultdict

import formlab
from formlab.benchmarks.ocrbench_v2 import accepted
from formlab.errors import DataBroken
from formlab.readers import door, samples


def fits(path):
    """Whether the samples of a JSON file have `answers` and what the model did `predict`."""
    return {"answers", "predict"} <= samples.names(path, ".json")


@formlab.reader("ocrbench", title="OCRBench v2's JSON with predict", fits=fits)
def read(source):
    """The rows of a file: its samples, and the mean of the scores of each type of question."""
    source.files.append(source.path)
    listed = door.decoded(door.Member.of(source.path).read(), list[dict], source.path)
    entries = [(f"{source.path.name}#/{number}", entry) for number, entry in enumerate(listed)]
    source.name = door.stem(source.path)
    # A sample that cannot be read is counted, and the others are read.
    yield from samples.sample_rows(source, "ocrbench", entries, sample_of)
    source.notes["samples without a score"] += sum(entry.get("score") is None for entry in listed)
    scores = defaultdict(list)
    for entry in listed:
        if (score := samples.number(entry.get("score"))) is not None:
            scores[entry.get("type")].append(score)
    for kind, values in scores.items():
        mean = sum(values) / len(values)
        yield samples.figure("score", f"mean of {kind}", mean, n=len(values))


def sample_of(entry, origin):
    """A sample: its question, gold, answer and score."""
    return samples.Sample(
        entry.get("id", origin),
        gold=gold_of(entry["answers"]),
        answer=entry["predict"],
        scores={"score": entry.get("score")},
        columns={name: entry.get(name) for name in ("type", "dataset_name", "question")},
    )


def gold_of(answers):
    """The accepted texts, or the object that is asked for; most of its fields accept one."""
    answers = accepted(answers)
    if not isinstance(answers, dict):
        return answers
    if not answers:
        raise DataBroken("no field is asked for")
    lists = {name: value if isinstance(value, list) else [value] for name, value in answers.items()}
    return {name: value[0] if len(value) == 1 else value for name, value in lists.items()}
