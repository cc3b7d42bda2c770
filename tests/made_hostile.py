"""An evaluation of hostile strings: values, fields, documents, kinds, notes, own columns."""

import dataclasses

import formlab
from formlab import analysis
from formlab.files import storable
from formlab.readers import gold as own
from tests.hostile import STRINGS

# A document or field must have a name.
NAMES = [storable(text.strip()) or f"blank {at}" for at, text in enumerate(STRINGS)]
COLUMNS = ("constructor", "__proto__", "toString", "<b>\x1b[31m", 'a\\"b', "=1+1")


def evaluation(system):
    """Each string is the gold value of one field; `system` reads every third right."""
    texts = range(len(STRINGS))
    corpus = own.corpus([_row(at, at) for at in texts], name="hostile")
    counts = {text: at + 1 for at, text in enumerate(STRINGS)}
    corpus = dataclasses.replace(
        corpus, flaws=corpus.flaws | counts, sources=dict(zip(NAMES, NAMES, strict=True))
    )
    read = [_row(at, at if at % 3 == 0 else at - 1) for at in texts]
    predictions = formlab.read_predictions(read, corpus, name=system)
    return analysis.evaluate(corpus, dataclasses.replace(predictions, notes=counts))


def _row(at, value):
    """The field of one string, four to a document, with another's value."""
    row = {"doc_id": f"{at // 4} {NAMES[at - at % 4]}", "path": f"/{NAMES[at]}", "kind": NAMES[at]}
    row |= dict.fromkeys(COLUMNS, NAMES[at // 8])
    return row | {"value": STRINGS[value], "odd": NAMES[at // 2]}
