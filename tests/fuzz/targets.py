"""All that reads files of others, by name: a small valid input, and how it is read."""

import contextlib
import dataclasses
import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner
from PIL import Image

from formlab import analysis, benchmarks, cache, decisions, folders, pictures, registry, systems
from formlab.analysis import audit
from formlab.benchmarks.formcraft import read_form
from formlab.benchmarks.ixbrl import gold_pages
from formlab.cli import main
from formlab.errors import NotAvailable
from formlab.metrics.judge import parse as parse_judge
from formlab.readers import Source, logs, read_predictions
from formlab.readers import gold as own
from formlab.readers.types import FieldTypes
from formlab.reports import manifest
from formlab.scoring.evaluate import evaluate
from formlab.systems.chat import limits
from formlab.systems.chat.answers import Answer
from formlab.systems.chat.store import AnswerStore
from formlab.tables import INFERRED
from formlab.text import answers, markup, values
from formlab.text.action_lines import parse_lines
from formlab.text.flow import read as read_flow
from formlab.text.ladder import ladder
from formlab.text.markup import unmarked
from formlab.text.normalise import address, as_text, normalise
from formlab_arena import instances, notation, released, sent_values, spec, texts, web_tasks
from formlab_arena.evaluation import read_run
from formlab_review import adjudication, annotation, drafts
from formlab_review.forms import FormNodes
from tests import made_arena, made_formfactory, made_vrdu
from tests.fuzz import inputs
from tests.fuzz.bench import Found, Target
from tests.fuzz.inputs import DOCS, MAKERS, SAMPLES, files, put

ROOT = Path(__file__).parents[2]
ENGINES = json.loads((ROOT / "tests/contract/data/engines.json").read_text())
LOGS = json.loads((ROOT / "tests/contract/data/logs.json").read_text())
PLUGINS = ROOT / "docs/plugins"


def corpus_found(corpus: folders.Corpus) -> Found:
    return Found(frozenset(corpus.documents["doc_id"]), corpus.flaws)


def predictions_found(predictions: folders.Predictions) -> Found:
    tables = (predictions.records, predictions.responses)
    names = frozenset(name for table in tables for name in table["doc_id"])
    odd = Counter(status for table in tables for status in table["status"] if status != "ok")
    return Found(names, odd + Counter(predictions.notes))


def scored(corpus: folders.Corpus, predictions: folders.Predictions) -> None:
    """What was read is also scored and summed up: what a loader lets in must not fail there."""
    analysis.summarise(evaluate(corpus, predictions), resamples=0)


# --- benchmarks

HOMES = {
    "funsd": "testing_data/annotations/{}.json",
    "sroie": "key/{}.json",
    "omniai": "{}.json",
    "formcraft": "test/forms/{}.json",
    "fincriticaled": "gold_{}.txt",
}


def _load(name: str, folder: Path) -> Found:
    """The corpus is loaded, written and opened again, at once and in parts."""
    corpus = benchmarks.load(name, root=folder)
    corpus.save(folder / "saved")
    type(corpus).load(folder / "saved")
    parts = benchmarks.corpora(name, root=folder, records=4)
    names = [doc for part in parts for doc in part.documents["doc_id"]]
    assert sorted(names) == sorted(corpus.documents["doc_id"])
    return corpus_found(corpus)


def _filing(folder: Path) -> Found:
    pages, facts, notes = gold_pages(folder / "filing.htm")
    assert len(pages) == len(facts)
    return Found(frozenset(), notes)


# --- predictions of others: the gold lies beside them in the input, and is never changed


def _answers_target(name: str, benchmark: str, made: dict[str, Any], home: str = "") -> Target:
    def make(folder: Path) -> None:
        MAKERS[benchmark](folder / "gold")
        files(made)(folder / "answers")

    def read(folder: Path) -> Found:
        corpus = benchmarks.load(benchmark, root=folder / "gold")
        plain = [folder / "answers" / file for file in made if file.startswith("p.")]
        predictions = read_predictions(plain[0] if plain else folder / "answers", corpus)
        scored(corpus, predictions)
        return predictions_found(predictions)

    return Target(f"answers/{name}", make, read, only="^answers", home=home and f"answers/{home}")


def _engine(name: str, content: Any) -> Target:
    """A small form as an engine writes it, for every document."""
    engine, _, file = name.partition("/")
    ending = Path(file).suffix
    return _answers_target(
        engine, "funsd", {f"{d}{ending}": content for d in DOCS}, f"{{}}{ending}"
    )


def _form_answer(name: str) -> dict[str, Any]:
    form = inputs.form(name)
    answer = {key: form[key] for key in ("fields", "groups") if key in form}
    return answer | {"vqa": {"q1": ["a"]}, "consistency": [{"id": "c1", "answer": "Ada"}]}


FACTORY = "A12_json_grant_applications_20260102_0304"
BOX = {"x0": 1, "y0": 1, "x1": 9, "y1": 9, "page": 1}
PLAIN = [
    {"doc_id": "ada", "text": "Name: Person 0", "seconds": 1.5, "tokens_in": 7},
    {"doc_id": "bob", "path": "/entities/1", "value": "Person", "confidence": 0.5, **BOX},
    {"doc_id": "cyd", "text": None, "status": "api_error", "error": "time-out"},
]
FORMS = {f"{name}.json": _form_answer(name) for name in ("lease", "travel_claim")}
FORMS["repair_order.txt"] = 'Sure:\n```json\n{fields: [{label: "Name", value: "Ada"}\n```'
RESPONSE = {"model_response": "[15,20] Ada\n[120,20] Berg", "status": "success"}
GRANT = {"template_used": "A12", "data_source": "grant_applications", "model_response": RESPONSE}
FOUND = [["what", made_vrdu.one("tea")], ["who", made_vrdu.one("Ann")]]
RESULTS = {"meta": {"model": "m"}, "results": {"a.pdf": FOUND, "b.pdf": []}}
PRED = "<p>Page <number>47</number> of <b>Tarn Corp.</b></p>"
PARSED = {"predictedMarkdown": "9", "predictedJson": {"total": 9.0}, "usage": {"duration": 41}}

# --- logs of other harnesses


def _log(name: str, folder: Path) -> Found:
    registry.load(PLUGINS / "ocrbench.py")
    found, counted = set(), Counter[str]()
    for evaluation in logs.open_logs(folder / name):
        logs.headlines(evaluation)
        logs.differences(evaluation)
        found |= set(evaluation.documents["doc_id"])
        counted.update(evaluation.notes)
    return Found(frozenset(found), counted)


def _written_log(name: str) -> Target:
    """A log as its harness wrote it."""
    source = ROOT / "tests/readers/logs" / name

    def make(folder: Path) -> None:
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, folder / name)

    return Target(f"log/{source.stem}", make, partial(_log, name))


def _funsd_bench(folder: Path) -> None:
    result = {"type": "full", "chunks": [{"blocks": [{"type": "Text", "content": "Name:"}]}]}
    figures = {"success": True, "cer": 0.25, "wer": 0.0, "word_match_accuracy": 1}
    documents = []
    for form in sorted((SAMPLES / "funsd/testing_data/annotations").glob("*"))[:3]:
        parse = {"filename": f"{form.stem}.png", "success": True, "duration_ms": 5100}
        parse |= {"extracted_text": "", "response": {"data": {"result": result}}}
        put(folder, f"results/parses/{form.stem}.json", parse)
        documents.append(figures | {"filename": form.stem, "ref_text": "N", "hyp_text": "N"})
    summary = {"summary": {"successful_parses": 3}, "cer_stats": {"mean": 0.25}}
    put(folder, "results/results.json", summary | {"documents": documents})


def _read_funsd_bench(folder: Path) -> Found:
    registry.load(PLUGINS / "funsd_bench.py")
    _, rows = logs.log_rows(folder / "results", Source(folder / "results"))
    calls = [row for row in rows if row["role"] == "call"]
    unreadable = sum(row["status"] == "api_error" for row in calls)
    return Found(frozenset(row["doc_id"] for row in calls), Counter({"unreadable": unreadable}))


# --- a user's own gold, answers and types


def _own(ending: str, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for stem, rows in (("gold", inputs.GOLD), ("answers", inputs.ANSWERS)):
        frame, file = pl.DataFrame(rows), folder / f"{stem}.{ending}"
        if ending == "csv":
            frame.write_csv(file)
        elif ending == "parquet":
            frame.write_parquet(file)
        elif ending == "xlsx":
            frame.to_pandas().to_excel(file, index=False)
        else:
            put(folder, file.name, rows)


def _own_folder(folder: Path) -> None:
    for name in DOCS:
        items = {"total": "9.00", "items": [{"name": "tea", "price": 4}]}
        put(folder, f"gold.json/{name}.json", items)
        put(folder, f"answers.json/{name}.json", {"total": 9, "items": [{"name": "jam"}]})


def _counted(corpus: folders.Corpus, predictions: folders.Predictions) -> Found:
    """Without the fields whose types were inferred."""
    flaws = {what: n for what, n in corpus.flaws.items() if not what.startswith(INFERRED)}
    odd = Counter(flaws) + Counter(predictions_found(predictions).counted)
    return Found(frozenset(corpus.documents["doc_id"]), odd)


def _pair(ending: str, folder: Path) -> Found:
    corpus = own.corpus(folder / f"gold.{ending}")
    predictions = read_predictions(folder / f"answers.{ending}", corpus)
    scored(corpus, predictions)
    return _counted(corpus, predictions)


def _types(name: str, folder: Path) -> Found:
    own.corpus(inputs.GOLD, types=folder / name)
    return Found(frozenset(FieldTypes.read(folder / name).fields))


# --- files that formlab writes itself, and reads again: damaged, or another's

WORD = [{"path": "/entities/1", "task": "text", "value": "Person", "page": 1}]
READER = systems.System("reads", "reads a word", lambda *_: lambda document, root: WORD)


def _run(folder: Path, *, whole: bool = True) -> None:
    inputs.funsd(folder / "gold")
    systems.run(benchmarks.load("funsd", root=folder / "gold"), READER, out=folder / "run")
    if not whole:
        shutil.rmtree(folder / "run" / "predictions")


def _read_run(folder: Path) -> Found:
    corpus = benchmarks.load("funsd", root=folder / "gold")
    found = predictions_found(read_predictions(folder / "run", corpus))
    # Which goes on where it ended.
    systems.run(corpus, READER, out=folder / "run")
    return found


def _score_in_parts(folder: Path) -> None:
    parts = benchmarks.corpora("funsd", root=folder / "gold", records=5)
    evaluate(parts, folder / "run", out=folder / "saved")


def _evaluation(folder: Path) -> None:
    _run(folder)
    _score_in_parts(folder)
    shutil.rmtree(folder / "gold")


def _read_evaluation(folder: Path) -> Found:
    evaluation = folders.Evaluation.load(folder / "saved")
    analysis.summarise(evaluation, resamples=0)
    # Tables are read when they are asked for.
    assert evaluation.cases.width
    assert evaluation.scores.width
    return Found(frozenset(evaluation.documents["doc_id"]), evaluation.notes)


def _score_again(folder: Path) -> Found:
    """What was scored in parts is scored again into the same folder: whole, or one error."""
    inputs.funsd(folder / "gold")
    _score_in_parts(folder)
    return _read_evaluation(folder)


def _corpus(folder: Path) -> None:
    inputs.funsd(folder.parent / "gold")
    benchmarks.load("funsd", root=folder.parent / "gold").save(folder / "corpus")


def _store(folder: Path) -> None:
    with AnswerStore(folder / "answers.sqlite") as store:
        for name in DOCS:
            store.put(Answer(key=name, model="m", task="t", doc_id=name, text="x" * 50))
    with contextlib.closing(sqlite3.connect(folder / "answers.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode=DELETE")


def _read_store(folder: Path) -> Found:
    with AnswerStore(folder / "answers.sqlite") as store:
        names = frozenset(name for name in DOCS if store.get([name]))
        store.put(Answer(key="new", text="y"))
    return Found(names)


WORDS = {"words": ["Ada", "Berg"], "n": 1.5}
# A metric in a file that is not here.
ABSENT = {"plugin": "metrics", "entry": "x", "kind": "file", "version": "1" * 64, "name": "/x.py"}


def _keep(folder: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMLAB_CACHE", str(folder))
        # Taken, or made again where it is damaged.
        cache.value("pages", {"page": 1}, lambda: WORDS)
        with contextlib.suppress(NotAvailable):
            registry.restore([ABSENT], where="manifest.json")
        cache.drop_oldest(folder / "plugins", gigabytes=0)


def _read_kept(folder: Path) -> Found:
    _keep(folder)
    return Found()


def _manifest(folder: Path) -> Found:
    manifest.read(folder / "reports.yaml")
    return Found()


def _prices(folder: Path) -> Found:
    limits.price_of("m", prices=folder / "prices.csv")
    return Found()


def _judged(folder: Path) -> Found:
    return Found(frozenset(audit.answers(folder / "raw.json")))


FACT = {"value": "5", "type": "Number", "found_in_prediction": True, "correct": True}
JUDGED = {"0": {"entity_diagnostics": [FACT | {"matched_text": "5", "number": 1}]}, "1": {}}
REPORTS = "timeout: 60\nreports:\n  - notebook: 10_content_modality\n    parameters: {seed: 0}\n"

# --- the arena


def _arena_run(folder: Path) -> None:
    right = [made_arena.screen()]
    for name, value in made_arena.VALUES.items():
        right += made_arena.fill(name, value)
    sent = {"status": "submitted", "answers": made_arena.VALUES, "right": 5}
    made_arena.run(folder / "run", (right, sent), (made_arena.CLUMSY, {}), (right, sent))


def _read_arena_run(folder: Path) -> Found:
    corpus, predictions = read_run(folder / "run")
    scored(corpus, predictions)
    return Found(corpus_found(corpus).documents, predictions.notes)


def _arena_form(folder: Path) -> Found:
    instances.make(spec.load(folder / "A12.yaml"), 1)
    return Found()


def _named(read: Callable[[Path], Any], file: str, folder: Path) -> Found:
    return Found(frozenset(one.name for one in read(folder / file)))


def _sent(folder: Path) -> Found:
    for kind in inputs.BODIES:
        file = folder / f"{len(kind)}.txt"
        body = file.read_bytes() if file.is_file() else b""
        sent_values.carries(sent_values.values_of(body, kind), {"a": "Ada"})
    return Found()


# --- the review


def _read_decisions(folder: Path) -> Found:
    return Found(frozenset(decisions.read(folder / "decided")["doc_id"]))


def _studio(folder: Path) -> None:
    source = SAMPLES / "fincriticaled/annotations/label_studio.json"
    put(folder, "export.json", json.loads(source.read_text())[:2])


def _read_studio(folder: Path) -> Found:
    read = annotation.read(folder / "export.json")
    adjudication.queue(read)
    for level in ("entity", "token"):
        annotation.ratings(read, level=level)
    return Found(frozenset(read.pages), {"problems": len(read.problems)})


def _drafts(folder: Path, names: tuple[str, ...] = DOCS) -> None:
    draft = drafts.Draft("test", "", "vqa", "/vqa/d1", "repaired", item=inputs.QUESTION)
    put(folder, "drafts.jsonl", [dataclasses.asdict(draft) | {"doc_id": name} for name in names])


def _read_drafts(folder: Path) -> Found:
    read = drafts.read(folder / "drafts.jsonl")
    drafts.records(read)
    return Found(frozenset(draft.doc_id for draft in read))


def _read_form(folder: Path) -> Found:
    read_form(folder / "lease.json")
    FormNodes.of_file(folder / "lease.json", "me").check()
    return Found()


# --- images, PDFs, and what models answer


def _image(name: str, folder: Path) -> None:
    modes = {"16.png": "I;16", "a.png": "RGBA", "c.jpg": "CMYK"}
    picture = Image.radial_gradient("L").resize((40, 30)).convert("I")
    picture = picture.convert(modes.get(name, "L")) if name == "16.png" else picture.convert("RGB")
    picture = picture.convert(modes.get(name, picture.mode))
    exif = Image.Exif()
    exif[0x0112] = 6
    more = {"save_all": True, "append_images": [picture] * 2} if name == "a.tiff" else {}
    picture.save(folder / name, **more, **({"exif": exif} if name == "exif.jpg" else {}))


def _pdf(folder: Path) -> None:
    source = sorted((SAMPLES / "vrdu/ad-buy-form/main/pdfs").glob("*.pdf"))[0]
    shutil.copy(source, folder / "a.pdf")


def _read_pages(name: str, folder: Path) -> Found:
    pages = len(pictures.page_sizes(folder / name))
    for page in range(1, min(pages, 3) + 1):
        pictures.read_image(folder / name, page=page, width=200 if name == "a.pdf" else None)
    return Found()


def _typed(text: str) -> None:
    readers = (values.number, values.money, values.date, values.choices, values.checked, address)
    for line in text.splitlines()[:20]:
        for read in readers:
            read(line)
        ladder(line, "9.00", kind="money")
        normalise(line)


def _markup(text: str) -> None:
    markup.visible_text(text)
    list(markup.events(text))
    read_flow(text)
    unmarked(text)


TEXT_READERS: dict[str, Callable[[str], object]] = {
    "json": lambda text: as_text(answers.parse(text).value),
    "html": _markup,
    "markdown": _markup,
    "lines": parse_lines,
    "actions": notation.parse,
    "judge": parse_judge,
    "values": _typed,
}


def _text_target(name: str) -> Target:
    def read(folder: Path) -> Found:
        file = folder / "answer.txt"
        TEXT_READERS[name](file.read_text("utf-8", "replace") if file.is_file() else "")
        return Found()

    return Target(
        f"text/{name}", files({"answer.txt": inputs.ANSWER_TEXTS[name]}), read, placeless=True
    )


# --- the command line: arguments of every kind, one a line of ``arguments.txt``

LINES = {
    "score": "score funsd --root gold --predictions answers/p.jsonl --resamples 0 --out x",
    "score own": "score gold.csv --predictions answers.csv --resamples 0 --types types.yaml "
    "--columns doc_id=doc_id --documents 2",
    "run": "run funsd --root gold --system rules --documents 1 --out out --set zoom=1.0 --name x",
    "compare": "compare saved saved2 --resamples 9 --metric cer --by kind",
    "annotate queue": "annotate queue export.json --threshold 1.0 --out queue.jsonl",
    "arena score": "arena score run --resamples 0 --by kind --out out",
    "arena design": "arena design fields=2,3 kinds=1,2 --runs 2 --seed 1 --out out",
    "design": "design fields=2 kinds=1 --layout funsd --seed 1 --out out",
}
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Ends with a server or a browser that waits for people, or starts processes.
_NEVER = re.compile(r"serve|record|fill|report|filing|write|--work.*|--sched.*")


def _command(line: str, folder: Path) -> None:
    put(folder, "arguments.txt", line.replace(" ", "\n"))
    put(folder, "answers/p.jsonl", PLAIN)
    put(folder, "types.yaml", inputs.TYPES)
    put(folder, "table.csv", "a,b\n1,2\n")
    put(folder, "text.txt", "hello")
    (folder / "empty").mkdir()
    inputs.funsd(folder / "gold")
    inputs.formcraft(folder / "forms")
    DECIDED(folder)
    _own("csv", folder)
    _studio(folder)
    _drafts(folder, ("lease",))
    if line.startswith("arena score"):
        _arena_run(folder)
    for name in ("saved", "saved2") if line.startswith("compare") else ():
        _evaluation(folder / "home" / name)
        (folder / "home" / name / "saved").rename(folder / name)


def _invoke(folder: Path) -> Found:
    words = (folder / "arguments.txt").read_bytes().decode("utf-8", "surrogateescape").split("\n")
    words = [word.replace("\x00", "") for word in words]
    if any(_NEVER.fullmatch(word) for word in words):
        return Found()
    with contextlib.chdir(folder):
        result = CliRunner().invoke(main, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    # What moves a cursor or changes colours is of no use to anybody but who made the input.
    said = result.stderr or result.output
    assert not _CONTROL.search(result.output + result.stderr), said[-300:]
    assert result.exit_code in (0, 1, 2), said[-300:]
    assert not result.exit_code or (said.strip() and "Traceback" not in said), said[-300:]
    return Found()


# --- all

DECIDED = files(
    {
        f"decided/{who}.jsonl": [inputs.DECISION | {"doc_id": d, "reviewer": who} for d in DOCS]
        for who in ("me", "you")
    }
)
TASKS = {"tasks.jsonl": inputs.TASKS, "text.txt": "Fill.", "gold.json": {"Name": "Ada"}}
PAGES = ("a.png", "16.png", "exif.jpg", "c.jpg", "a.tiff", "a.webp")
MADE_LOGS = ("lmms/1_samples_forms.jsonl", "kit/m_F.json", "omniai", "olmocr", "ocrbench/m.json")
SENT = {f"{len(kind)}.txt": body for kind, body in inputs.BODIES.items()}
A12 = (spec.FOLDER / "A12.yaml").read_text()


def _released(folder: Path) -> Any:
    return released.task_set(folder, codes=["A12"]).instances


_EVERY = [
    *(Target(f"load/{n}", m, partial(_load, n), home=HOMES.get(n, "")) for n, m in MAKERS.items()),
    Target("load/filing", files({"filing.htm": inputs.FILING}), _filing),
    *(_engine(name, content) for name, content in ENGINES.items()),
    _answers_target("plain", "funsd", {"p.jsonl": PLAIN}),
    _answers_target("formcraft", "formcraft", FORMS, "{}.json"),
    _answers_target(
        "formfactory",
        "formfactory",
        {f"{FACTORY}0{number}.json": GRANT | {"instance": number} for number in (1, 2)},
        FACTORY + "{0[4]}{0[5]}.json",
    ),
    _answers_target(
        "fincriticaled", "fincriticaled", {f"pred_{n}.txt": PRED for n in (3, 4, 7)}, "pred_{}.txt"
    ),
    _answers_target(
        "omniai",
        "omniai",
        {"results.json": [PARSED | {"fileUrl": f"https://x/{name}.png"} for name in DOCS]},
    ),
    _answers_target("vrdu", "vrdu", {f"{made_vrdu.SPLIT}-test_predictions.json": RESULTS}),
    *map(_written_log, ("form.eval", "model-a_FormsVQA.xlsx", "stickler.jsonl", "docling")),
    *(Target(f"log/{name}", files(LOGS), partial(_log, name)) for name in MADE_LOGS),
    Target("log/funsd_bench", _funsd_bench, _read_funsd_bench, home="results/parses/{}.json"),
    *(
        Target(f"own/{ending}", partial(_own, ending), partial(_pair, ending))
        for ending in ("csv", "jsonl", "json", "parquet", "xlsx")
    ),
    Target("own/folder", _own_folder, partial(_pair, "json"), home="gold.json/{}.json"),
    Target("own/types json", files({"types.json": inputs.SCHEMA}), partial(_types, "types.json")),
    Target("own/types yaml", files({"types.yaml": inputs.TYPES}), partial(_types, "types.yaml")),
    Target("file/run", _run, _read_run, only="^run"),
    Target("file/run under way", partial(_run, whole=False), _read_run, only="^run"),
    Target("file/evaluation", _evaluation, _read_evaluation, only="^saved"),
    Target("file/scored again", _evaluation, _score_again, only="^saved"),
    Target("file/corpus", _corpus, lambda f: corpus_found(folders.Corpus.load(f / "corpus"))),
    Target("file/answers.sqlite", _store, _read_store),
    Target("file/kept", _keep, _read_kept, placeless=True),
    Target("file/reports", files({"reports.yaml": REPORTS}), _manifest),
    Target("file/prices", files({"prices.csv": "model,input,output\nm,1,2\n"}), _prices),
    Target("file/judge", files({"raw.json": JUDGED}), _judged),
    Target("arena/run", _arena_run, _read_arena_run, only=r"json$|jsonl$|png$"),
    Target("arena/form", files({"A12.yaml": A12}), _arena_form),
    Target("arena/tasks", files(TASKS), partial(_named, web_tasks.read, "tasks.jsonl")),
    Target(
        "arena/texts",
        files({"texts.yaml": inputs.TEXT.format(1) + inputs.TEXT.format(2)}),
        partial(_named, texts.read, "texts.yaml"),
    ),
    Target("arena/released", made_formfactory.make, partial(_named, _released, ""), only="^data"),
    Target("arena/sent", files(SENT), _sent, placeless=True),
    Target("review/decisions", DECIDED, _read_decisions),
    Target("review/label studio", _studio, _read_studio),
    Target("review/drafts", _drafts, _read_drafts),
    Target("review/form", files({"lease.json": inputs.form("lease")}), _read_form),
    *(Target(f"page/{name}", partial(_image, name), partial(_read_pages, name)) for name in PAGES),
    Target("page/pdf", _pdf, partial(_read_pages, "a.pdf")),
    *map(_text_target, TEXT_READERS),
    *(
        Target(f"command/{name}", partial(_command, line), _invoke, only="^arguments.txt$")
        for name, line in LINES.items()
    ),
]
TARGETS = {target.name: target for target in _EVERY}
