"""Evaluations of several few-shot splits of the tiny data set in `made_vrdu`."""

import json

from formlab import analysis, benchmarks
from formlab.readers import read_predictions
from formlab.readers.published import SUFFIX

from .made_vrdu import make, one, put

GOLD = [
    ["who", [one("Ann Lee")]], ["day", [one("1/22/20")]],
    [["what", "sum"], [[one("tea"), one("(5)")]]],
    [["what", "sum"], [[one("jam"), one("6")]]],
]  # fmt: skip
WHO, DAY = ["who", one("Ann Lee")], ["day", one("1/22/20")]
TEA = [["what", one("tea")], ["sum", one("(5)")]]
JAM = [["what", one("jam")], ["sum", one("6")]]
NAMES = {
    "mixed": "Made-lv2-mixed_template-train_{}-test_1-valid_1-SD_{}",
    "unseen": "Made-lv3-unk_Short-train_{}-test_1-valid_1-SD_{}",
}


def evaluations(folder, answers, *, gold=GOLD, mode="official"):
    """One evaluation for each (task, train size, seed) of `answers`, all of document a.pdf."""
    root = make(folder / "data")
    put(root, gold)
    found = []
    for (task, train, seed), entities in answers.items():
        name = NAMES[task].format(train, seed)
        split = {"train": [], "valid": [], "test": ["a.pdf"]}
        (root / "few_shot-splits" / f"{name}.json").write_text(json.dumps(split))
        file = folder / f"{name}{SUFFIX}"
        text = {"meta": {"model": "demo"}, "results": {"a.pdf": entities}}
        file.write_text(json.dumps(text))
        corpus = benchmarks.load("vrdu", split=name, root=root)
        found.append(analysis.evaluate(corpus, read_predictions(file, corpus), mode=mode))
    return found
