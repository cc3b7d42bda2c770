"""A benchmark of one's own: a folder with a text file and a JSON file of fields for each receipt.

formlab --plugin toy_benchmark.py list benchmarks
formlab --plugin toy_benchmark.py score receipts --root FOLDER --predictions ANSWERS.jsonl
"""

import json
from pathlib import Path

import formlab
from formlab.folders import Corpus
from formlab.tables import table


@formlab.benchmark(
    "receipts", title="Receipts as plain text", licence="CC0", splits={"all": 3}, tasks=("text",)
)
def read(split: str, root: Path) -> Corpus:
    """The documents of a split and the right value of each field."""
    documents, records = [], []
    for file in sorted(root.glob("*.json")):
        document = {"benchmark": "receipts", "split": split, "doc_id": file.stem}
        fields = json.loads(file.read_text())
        image = file.with_suffix(".png")
        page = {"image": image.name if image.is_file() else None, "n_fields": len(fields)}
        documents.append(document | page)
        for name, value in fields.items():
            record = {"role": "gold", "task": "text", "path": f"/{name}", "kind": name}
            record |= {"value": value, "status": "ok", "origin": f"{file.name}#/{name}"}
            records.append(document | record)
    return Corpus(table("documents", documents), table("records", records), "receipts", split, root)
