"""Writes the small logs in `logs` with the harnesses themselves.

Run in an environment of its own: ``pip install inspect_ai stickler-eval docling-core openpyxl
pandas pyarrow backports.zstd``, then ``python tests/readers/generate_logs.py``.
"""

import json
import shutil
import tempfile
from pathlib import Path

DATA = Path(__file__).parent / "logs"
LONG = "A clause of the lease. " * 20


def inspect_logs():
    """form.eval: each kind of target, score and failure; epochs.eval; and a run that was cut."""
    import inspect_ai
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.model import ModelOutput, get_model
    from inspect_ai.scorer import Score, accuracy, mean, scorer, stderr
    from inspect_ai.solver import solver

    @scorer(metrics=[accuracy(), stderr()])
    def match():
        async def score(state, target):
            said = state.output.completion.strip().rstrip(".").lower()
            known = [text.strip().lower() for text in target]
            if state.sample_id == "half":
                return Score(value="P", answer=said)
            if not said:
                return Score(value="N", answer="")
            return Score(value="C" if said in known else "I", answer=said)

        return score

    @scorer(metrics={"letters": [mean()], "words": [mean()]})
    def close():
        async def score(state, target):
            return Score(value={"letters": 0.5, "words": 1.0}, metadata={"grading": "by a model"})

        return score

    @solver
    def answers(outputs):
        async def solve(state, generate):
            output = outputs[state.sample_id]
            if isinstance(output, Exception):
                raise output
            text, stop = output if isinstance(output, tuple) else (output, "stop")
            state.output = ModelOutput.from_content("mockllm/form", text, stop_reason=stop)
            return state

        return solve

    cases = {
        "plain": ("Ada Berg", "Ada Berg."),
        "accepted": (["12 May 2021", "2021-05-12"], "2021-05-12"),
        "wrong": ("A-204", "A-2O4"),
        "half": ("Ada Foods Ltd", "Ada Foods"),
        "object": ('{"total": 9.50, "items": [{"name": "tea"}]}', '{"total": "9.50", "items": []}'),
        "bad": ('{"total": 9.50}', "I cannot read this."),
        "long": (LONG, LONG),
        "cut": ("Ada Berg", ("Ada", "max_tokens")),
        "refused": ("Ada Berg", ("", "content_filter")),
        "failed": ("Ada Berg", RuntimeError("the server closed the connection")),
        "scan_7/total": ("7.00", "7.00"),
    }
    samples = [
        Sample(id=name, input=f"What is {name}?", target=target,
               metadata={"writing": "hand", "fields": 9})
        for name, (target, _) in cases.items()
    ]  # fmt: skip
    samples[-1].metadata |= {"doc_id": "scan_7", "path": "/total"}
    outputs = {name: answer for name, (_, answer) in cases.items()}
    model = get_model("mockllm/model")
    with tempfile.TemporaryDirectory() as folder:

        def run(name, samples, scorers, **options):
            task = inspect_ai.Task(
                dataset=inspect_ai.dataset.MemoryDataset(samples, name="forms"),
                solver=answers(outputs), scorer=scorers, name=name,
            )  # fmt: skip
            (log,) = inspect_ai.eval(
                task, model=model, log_dir=folder, fail_on_error=False, display="none", **options
            )
            for sample in log.samples:
                # The path of whoever writes this is nobody's business.
                sample.events = []
                if sample.error:
                    sample.error.traceback = sample.error.traceback_ansi = ""
            log.eval.revision = None
            log.eval.task_file = None
            write_eval_log(log, str(DATA / f"{name}.eval"), format="eval")
            return log

        log = run("form", samples, [match(), close()])
        write_eval_log(log, str(DATA / "form.json"), format="json")
        run("epochs", samples[:2], [match()], epochs=2)
    attached()
    unfinished()
    assert read_eval_log(str(DATA / "form.eval")).results


def members(path):
    from backports.zstd import zipfile

    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, named, method=93):
    from backports.zstd import zipfile

    with zipfile.ZipFile(path, "w", compression=method) as archive:
        for name, data in named.items():
            archive.writestr(name, data)


def attached():
    """form.eval with the long text where Inspect puts long texts: under `attachments`."""
    named = members(DATA / "form.eval")
    sample = json.loads(named["samples/long_epoch_1.json"])
    sample["attachments"] = {"3b1": LONG}
    sample["target"] = sample["output"]["completion"] = "attachment://3b1"
    sample["output"]["choices"][0]["message"]["content"] = "attachment://3b1"
    named["samples/long_epoch_1.json"] = json.dumps(sample).encode()
    write(DATA / "form.eval", named)


def unfinished():
    """What a run leaves that was stopped: a journal, four samples and no results."""
    named = members(DATA / "form.eval")
    header = json.loads(named["header.json"])
    start = {key: header[key] for key in ("version", "eval", "plan")}
    samples = sorted(name for name in named if name.startswith("samples/"))[:4]
    kept = {"_journal/start.json": json.dumps(start).encode()}
    write(DATA / "unfinished.eval", kept | {name: named[name] for name in samples}, method=8)


def stickler_lines():
    """stickler.jsonl and stickler_metrics.json: two bills, the items of one in another order."""
    from stickler import ComparableField, StructuredModel
    from stickler.comparators import ExactComparator, LevenshteinComparator, NumericComparator
    from stickler.structured_object_evaluator.bulk_structured_model_evaluator import (
        BulkStructuredModelEvaluator,
    )

    class Item(StructuredModel):
        name: str = ComparableField(comparator=LevenshteinComparator(), threshold=0.7)
        price: float = ComparableField(comparator=NumericComparator(), threshold=0.9)

    class Bill(StructuredModel):
        number: str = ComparableField(comparator=ExactComparator(), threshold=1.0, weight=2.0)
        vendor: str | None = ComparableField(comparator=LevenshteinComparator(), threshold=0.8)
        items: list[Item] = ComparableField(weight=1.0)

    tea, jam = {"name": "tea", "price": 4.5}, {"name": "jam", "price": 3.0}
    gold = Bill(number="A-17", vendor="Ada Foods", items=[Item(**tea), Item(**jam)])
    pred = Bill(
        number="A-17", vendor="Ada Food", items=[Item(**jam), Item(**(tea | {"price": 4.0}))]
    )
    blank = Bill(number="A-18", vendor=None, items=[])
    lines = DATA / "stickler.jsonl"
    lines.unlink(missing_ok=True)
    evaluator = BulkStructuredModelEvaluator(
        target_schema=Bill, verbose=False, individual_results_jsonl=str(lines)
    )
    evaluator.update(gold, pred, "bill_1")
    evaluator.update(gold, blank, "bill_2")
    evaluator.save_metrics(str(DATA / "stickler_metrics.json"))
    metrics = json.loads((DATA / "stickler_metrics.json").read_text())
    keep = ("overall_metrics", "errors")
    (DATA / "stickler_metrics.json").write_text(
        json.dumps({key: metrics[key] for key in keep if key in metrics}, indent=1)
    )


def docling_shard():
    """docling/: gold and predictions as docling-eval's Parquet, and one file of predictions."""
    import pandas as pd
    from docling_core.types.doc import (
        BoundingBox,
        CoordOrigin,
        DocItemLabel,
        DoclingDocument,
        GraphCell,
        GraphCellLabel,
        GraphData,
        GraphLink,
        GraphLinkLabel,
        ProvenanceItem,
        Size,
    )  # fmt: skip

    def form(name, pairs):
        document = DoclingDocument(name=name)
        document.add_page(page_no=1, size=Size(width=100, height=200))
        cells, links = [], []
        for place, (key, value) in enumerate(pairs):
            document.add_text(label=DocItemLabel.TEXT, text=f"{key}: {value}")
            for side, text in enumerate((key, value)):
                box = BoundingBox(
                    l=10 + 40 * side, t=190 - 20 * place, r=40 + 40 * side, b=180 - 20 * place,
                    coord_origin=CoordOrigin.BOTTOMLEFT,
                )  # fmt: skip
                cells.append(GraphCell(
                    label=GraphCellLabel.VALUE if side else GraphCellLabel.KEY,
                    cell_id=2 * place + side, text=text, orig=text,
                    prov=ProvenanceItem(page_no=1, bbox=box, charspan=(0, len(text))),
                ))  # fmt: skip
            links.append(GraphLink(
                label=GraphLinkLabel.TO_VALUE, source_cell_id=2 * place,
                target_cell_id=2 * place + 1,
            ))  # fmt: skip
        document.add_key_values(graph=GraphData(cells=cells, links=links))
        return document

    gold = [("NAME", "Ada Berg"), ("DATE", "3 May"), ("DATE", "4 May")]
    right, wrong = form("f1", gold), form("f1", [("NAME", "Ada Borg"), ("DATE", "3 May")])
    folder = DATA / "docling"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "predictions").mkdir(parents=True)
    rows = [
        {
            "document_id": "f1", "GroundTruthDocument": json.dumps(right.export_to_dict()),
            "PredictedDocument": json.dumps(wrong.export_to_dict()), "status": "success",
            "predictor_info": json.dumps({"asset": "Docling", "version": "2"}),
            "prediction_format": "docling_document",
        },
        {
            "document_id": "f2", "GroundTruthDocument": json.dumps(right.export_to_dict()),
            "PredictedDocument": None, "status": "failure",
            "predictor_info": json.dumps({"asset": "Docling", "version": "2"}),
            "prediction_format": "docling_document",
        },
    ]  # fmt: skip
    pd.DataFrame(rows).to_parquet(folder / "shard_000.parquet")
    figures = {"doc_id": "f1", "entity_f1": 0.5, "relation_f1": 0.4}
    stats = {"total": 1, "mean": 0.5, "median": 0.5, "std": 0.0, "bins": [0.0, 1.0], "hist": [1.0]}
    evaluated = {
        "evaluated_samples": 1, "rejected_samples": {"missing_prediction": 1},
        "evaluations": [figures], "entity_f1_stats": stats,
    }  # fmt: skip
    (folder / "evaluation_FUNSD_keyvalue.json").write_text(json.dumps(evaluated, indent=1))
    wrong.save_as_json(folder / "predictions" / "f1.json")
    wrong.save_as_yaml(folder / "predictions" / "f2.yaml")
    (folder / "predictions" / "f3.dt").write_text(wrong.export_to_doctags())


def vlmevalkit_book():
    """model-a_FormsVQA.xlsx, as VLMEvalKit's `dump` writes a frame: pandas with openpyxl."""
    import pandas as pd

    rows = [
        (0, "Policy number?", "['A-204']", "kie", "A-2O4", 0),
        (1, "Issue date?", "['3 May 2021', '2021-05-03']", "kie", "2021-05-03", 1),
        (2, "Name?", "Ada Berg", "kie", "Failed to obtain answer via API.", 0),
        (3, "Link?", "see https://a.example", "vqa", "", 0),
        (4, "Total?", "9.00", "kie", 9.0, 1),
    ]
    names = ("index", "question", "answer", "category", "prediction", "hit")
    frame = pd.DataFrame(rows, columns=names)
    frame.to_excel(DATA / "model-a_FormsVQA.xlsx", index=False, engine="openpyxl")


if __name__ == "__main__":
    DATA.mkdir(exist_ok=True)
    inspect_logs()
    stickler_lines()
    docling_shard()
    vlmevalkit_book()
