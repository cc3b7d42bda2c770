"""What targets share."""

from collections import Counter
from pathlib import Path

from PIL import Image

from formlab import analysis
from formlab.folders import Corpus, Predictions
from formlab.scoring.evaluate import evaluate
from tests.fuzz.json_mutations import lined
from tests.fuzz.verdicts import Found

# Names that stand nowhere else in an input.
DOCS = ("ada", "bob", "cyd")


def put(folder: Path, name: str, value: object) -> Path:
    """A file of JSON with an item a line, or of text."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else lined(value))
    return path


def rows(folder: Path, name: str, values: list) -> Path:
    return put(folder, name, "".join(lined(value).replace("\n", " ") + "\n" for value in values))


def page(folder: Path, name: str, size: tuple[int, int] = (60, 40)) -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("L", size, 255).save(path)


def corpus_found(corpus: Corpus) -> Found:
    return Found(frozenset(corpus.documents["doc_id"]), corpus.flaws)


def predictions_found(predictions: Predictions) -> Found:
    tables = (predictions.records, predictions.responses)
    names = frozenset(name for table in tables for name in table["doc_id"])
    odd = Counter(status for table in tables for status in table["status"] if status != "ok")
    return Found(names, odd + Counter(predictions.notes))


def scored(corpus: Corpus, predictions: Predictions) -> None:
    """What was read is also scored and summed up: what a loader lets in must not fail there."""
    analysis.summarise(evaluate(corpus, predictions), resamples=0)
