"""Predictions made elsewhere."""

import json
from collections.abc import Callable
from pathlib import Path

from formlab import benchmarks
from formlab.readers import read_predictions
from tests import made_vrdu
from tests.fuzz.targets import benchmarks as made
from tests.fuzz.targets.common import DOCS, predictions_found, put, rows, scored
from tests.fuzz.verdicts import Found, Target


def _target(
    name: str,
    benchmark: str,
    fill: Callable[[Path], object],
    where: str = "answers",
    home: str = "",
) -> Target:
    """The gold lies beside the predictions in the input, and is never changed."""

    def make(folder: Path) -> None:
        made.MAKERS[benchmark](folder / "gold")
        (folder / "answers").mkdir()
        fill(folder / "answers")

    def read(folder: Path) -> Found:
        corpus = benchmarks.load(benchmark, root=folder / "gold")
        predictions = read_predictions(folder / where, corpus)
        scored(corpus, predictions)
        return predictions_found(predictions)

    return Target(f"answers/{name}", make, read, only="^answers", home=home)


def _plain(folder: Path) -> None:
    rows(folder, "p.jsonl", [
        {"doc_id": "ada", "text": "Name: Person 0", "seconds": 1.5, "tokens_in": 7},
        {"doc_id": "bob", "path": "/entities/1", "value": "Person", "x0": 1, "y0": 1,
         "x1": 9, "y1": 9, "page": 1, "confidence": 0.5, "status": "ok"},
        {"doc_id": "cyd", "text": None, "status": "api_error", "error": "time-out"},
    ])  # fmt: skip


def _plain_csv(folder: Path) -> None:
    put(
        folder,
        "p.csv",
        "doc_id,path,value,confidence\nada,/entities/1,Person 0,0.5\n"
        'bob,/entities/1,"P, 1",\ncyd,/entities/3,9.00,1\n',
    )


def _formcraft(folder: Path) -> None:
    for name in ("lease", "travel_claim"):
        form = json.loads((made.SAMPLES / f"formcraft/test/forms/{name}.json").read_text())
        answer = {key: form[key] for key in ("fields", "groups") if key in form}
        answer["vqa"] = {"q1": ["a", "b"]}
        answer["consistency"] = [{"id": "c1", "answer": "Ada"}]
        put(folder, f"{name}.json", answer)
    put(folder, "repair_order.txt", 'Sure:\n```json\n{fields: [{label: "Name", value: "Ada"}\n```')


def _formfactory(folder: Path) -> None:
    for number, name in enumerate(
        (
            "A12_json_grant_applications_20260102_030401",
            "A12_json_grant_applications_20260102_030402",
        )
    ):
        answer = {"model_response": "[15,20] Ada\n[120,20] Berg", "status": "success"}
        put(folder, f"{name}.json", {"template_used": "A12", "data_source": "grant_applications",
            "instance": number + 1, "model_response": answer})  # fmt: skip


def _fincriticaled(folder: Path) -> None:
    for number in (3, 4, 7):
        put(
            folder,
            f"pred_{number}.txt",
            f"<p>Page <number>{number}7</number> of <b>Tarn Corp.</b></p>",
        )


def _omniai(folder: Path) -> None:
    put(folder, "results.json", [
        {"fileUrl": f"https://files.example/{name}.png", "ocrModel": "m1", "extractionModel": "m2",
         "directImageExtraction": False, "predictedMarkdown": "Bill 9.00",
         "predictedJson": {"total": 9.0, "paid": None, "names": [{"name": "tea"}]},
         "usage": {"duration": 4100, "inputTokens": 800, "outputTokens": 60, "totalCost": 0.0026}}
        for name in DOCS
    ])  # fmt: skip


def _vrdu(folder: Path) -> None:
    one = made_vrdu.one
    results = {"a.pdf": [["what", one("tea")], ["who", one("Ann")], ["sum", one("5")]], "b.pdf": []}
    put(
        folder,
        f"{made_vrdu.SPLIT}-test_predictions.json",
        {"meta": {"model": "m"}, "results": results},
    )


# A small form as each engine writes it, for every document.
_ENGINES = Path(made.__file__).parents[2] / "contract" / "data" / "engines.json"


def _engine(name: str, content: object) -> Target:
    engine, _, file = name.partition("/")

    def fill(folder: Path) -> None:
        for doc in DOCS:
            put(folder, f"{doc}{Path(file).suffix}", content)

    home = f"answers/{{}}{Path(file).suffix}"
    return _target(engine, "funsd", fill, home=home)


TARGETS = [
    *(_engine(name, content) for name, content in json.loads(_ENGINES.read_text()).items()),
    _target("plain", "funsd", _plain, "answers/p.jsonl"),
    _target("plain csv", "funsd", _plain_csv, "answers/p.csv"),
    _target("formcraft", "formcraft", _formcraft, home="answers/{}.json"),
    _target(
        "formfactory",
        "formfactory",
        _formfactory,
        home="answers/A12_json_grant_applications_20260102_0304{0[4]}{0[5]}.json",
    ),
    _target("fincriticaled", "fincriticaled", _fincriticaled, home="answers/pred_{}.txt"),
    _target("omniai", "omniai", _omniai),
    _target("vrdu", "vrdu", _vrdu),
]
