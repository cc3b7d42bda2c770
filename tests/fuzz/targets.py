"""All that reads files of others, by name: a small valid input, and how it is read."""

import contextlib
import json
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from formlab import analysis, benchmarks, decisions, folders, pictures, registry, saving, systems
from formlab.benchmarks.ixbrl import gold_pages
from formlab.errors import NotAvailable
from formlab.metrics.judge import parse as parse_judge
from formlab.readers import Source, logs, read_predictions
from formlab.readers import gold as own
from formlab.readers.types import FieldTypes
from formlab.reports.plan import Manifest
from formlab.scoring.evaluate import evaluate
from formlab.text import answers, ladder, markup, values
from formlab.text.markup import line_rows
from formlab.text.normalise import address, as_text, normalise
from formlab_arena import instances, notation, released, spec, texts, web_tasks
from formlab_arena.evaluation import read_run as read_arena_run
from formlab_review import adjudication, annotation, drafts
from tests import made_formfactory, made_vrdu
from tests.fuzz import inputs
from tests.fuzz.bench import Found, Target
from tests.fuzz.inputs import FACTORY, FORMS, GOLD, HOMES, INPUTS, MAKERS, ROOT, made, maker

CONTRACT = ROOT / "tests/contract/data"
ENGINES, LOGS = (json.loads((CONTRACT / f"{n}.json").read_text()) for n in ("engines", "logs"))
PLUGINS = ROOT / "docs/plugins"


# --- what was found


def corpus_found(corpus):
    return Found(frozenset(corpus.documents["doc_id"]), corpus.flaws)


def predictions_found(predictions):
    tables = (predictions.records, predictions.responses)
    names = frozenset(name for table in tables for name in table["doc_id"])
    odd = Counter(status for table in tables for status in table["status"] if status != "ok")
    return Found(names, odd + Counter(predictions.notes))


def scored(corpus, predictions):
    """What was read is also scored and summed up: what a loader lets in must not fail there."""
    analysis.summarise(evaluate(corpus, predictions), resamples=0)


def nothing(read):
    """Reads an input that names no documents."""
    return lambda folder: (read(folder), Found())[1]


def named(read, file):
    return lambda folder: Found(frozenset(one.name for one in read(folder / file)))


# --- benchmarks, and answers to them: the gold lies beside these, and is never changed


def load(name, folder):
    """The corpus is loaded, written and opened again, at once and in parts."""
    corpus = benchmarks.load(name, root=folder)
    corpus.save(folder / "saved")
    type(corpus).load(folder / "saved")
    parts = benchmarks.corpora(name, root=folder, records=4)
    names = [doc for part in parts for doc in part.documents["doc_id"]]
    assert sorted(names) == sorted(corpus.documents["doc_id"])
    return corpus_found(corpus)


def filing(folder):
    pages, facts, notes = gold_pages(folder / "filing.htm")
    assert len(pages) == len(facts)
    return Found(frozenset(), notes)


def answered(name, benchmark, made, home=""):
    def make(folder):
        MAKERS[benchmark](folder / "gold")
        maker(made, "answers")(folder)

    def read(folder):
        corpus = benchmarks.load(benchmark, root=folder / "gold")
        plain = folder / "answers" / "p.jsonl" if "p.jsonl" in made else folder / "answers"
        predictions = read_predictions(plain, corpus)
        scored(corpus, predictions)
        return predictions_found(predictions)

    return Target(f"answers/{name}", make, read, only="^answers", home=home and f"answers/{home}")


def engine(name, content):
    """A small form as an engine writes it, for every document."""
    ending = Path(name).suffix
    return answered(Path(name).parent.name, "funsd", {f"{{doc}}{ending}": content}, f"{{}}{ending}")


# --- logs of other harnesses, and a user's own gold, answers and types


def log(name, folder):
    registry.load(PLUGINS / "ocrbench.py")
    found, counted = set(), Counter()
    for evaluation in logs.open_logs(folder / name):
        logs.headlines(evaluation)
        logs.differences(evaluation)
        found |= set(evaluation.documents["doc_id"])
        counted.update(evaluation.notes)
    return Found(frozenset(found), counted)


def written_log(name):
    """A log as its harness wrote it."""
    source = ROOT / "tests/readers/logs" / name
    copy = shutil.copytree if source.is_dir() else shutil.copy
    return Target(f"log/{source.stem}", lambda f: copy(source, f / name), partial(log, name))


def read_funsd_bench(folder):
    registry.load(PLUGINS / "funsd_bench.py")
    rows = logs.log_rows(folder / "results", Source(folder / "results"))
    found = {row.doc_id: row.status for row in rows if not isinstance(row, dict)}
    unreadable = sum(status == "api_error" for status in found.values())
    return Found(frozenset(found), Counter({"unreadable": unreadable}))


def pair(ending, folder):
    corpus = own.corpus(folder / f"gold.{ending}")
    predictions = read_predictions(folder / f"answers.{ending}", corpus)
    scored(corpus, predictions)
    # Without the fields whose types were inferred.
    flaws = {what: n for what, n in corpus.flaws.items() if not what.startswith("types inferred")}
    odd = Counter(flaws) + Counter(predictions_found(predictions).counted)
    return Found(frozenset(corpus.documents["doc_id"]), odd)


def types(name, folder):
    own.corpus(GOLD, types=folder / name)
    return Found(frozenset(FieldTypes.read(folder / name).fields))


def read_pages(name, folder):
    pages = len(pictures.page_sizes(folder / name))
    for page in range(1, min(pages, 3) + 1):
        pictures.read_image(folder / name, page=page, width=200 if name == "a.pdf" else None)


def typed(text):
    readers = (values.number, values.money, values.date, values.choices, values.checked, address)
    for line in text.splitlines()[:20]:
        for read in (*readers, normalise, partial(ladder, pred="9.00", kind="money")):
            read(line)


def marked(text):
    for read in (markup.visible_text, markup.read, markup.unmarked):
        read(text)
    list(markup.events(text))


TEXT_READERS = {
    "json": lambda text: as_text(answers.parse(text).value),
    "html": marked,
    "markdown": marked,
    "lines": line_rows,
    "actions": notation.parse,
    "judge": parse_judge,
    "values": typed,
}


def text(name):
    def read(folder):
        file = folder / "answer.txt"
        TEXT_READERS[name](file.read_text("utf-8", "replace") if file.is_file() else "")

    make = maker({"answer.txt": INPUTS["text"][name]})
    return Target(f"text/{name}", make, nothing(read), placeless=True)


# --- what formlab writes itself, and reads again: damaged, or another's

WORD = [{"path": "/entities/1", "task": "text", "value": "Person", "page": 1}]
READER = systems.System("reads", "reads a word", lambda *_: lambda document, root: WORD)


def make_run(folder, *, whole=True):
    MAKERS["funsd"](folder / "gold")
    systems.run(benchmarks.load("funsd", root=folder / "gold"), READER, out=folder / "run")
    if not whole:
        shutil.rmtree(folder / "run" / "predictions")


def read_run(folder):
    corpus = benchmarks.load("funsd", root=folder / "gold")
    found = predictions_found(read_predictions(folder / "run", corpus))
    run_on(folder)
    return found


def run_on(folder):
    """The run goes on where it ended."""
    corpus = benchmarks.load("funsd", root=folder / "gold")
    return predictions_found(systems.run(corpus, READER, out=folder / "run"))


def score_in_parts(folder):
    parts = benchmarks.corpora("funsd", root=folder / "gold", records=5)
    evaluate(parts, folder / "run", out=folder / "saved")


def make_evaluation(folder):
    make_run(folder)
    score_in_parts(folder)
    shutil.rmtree(folder / "gold")


def read_evaluation(folder):
    evaluation = folders.Evaluation.load(folder / "saved")
    analysis.summarise(evaluation, resamples=0)
    # Tables are read when they are asked for.
    assert evaluation.cases.width and evaluation.scores.width  # noqa: PT018
    return Found(frozenset(evaluation.documents["doc_id"]), evaluation.notes)


def score_again(folder):
    """What was scored in parts is scored again into the same folder: whole, or one error."""
    MAKERS["funsd"](folder / "gold")
    score_in_parts(folder)
    return read_evaluation(folder)


def make_corpus(folder):
    MAKERS["funsd"](folder.parent / "gold")
    benchmarks.load("funsd", root=folder.parent / "gold").save(folder / "corpus")


# A metric in a file that is not here.
ABSENT = {"plugin": "metrics", "entry": "x", "kind": "file", "version": "1" * 64, "name": "/x.py"}


def keep(folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FORMLAB_CACHE", str(folder))
        # Taken, or made again where it is damaged.
        saving.kept("pages", {"page": 1}, lambda: {"words": ["Ada", "Berg"], "n": 1.5})
        with contextlib.suppress(NotAvailable):
            registry.restore([ABSENT], where="manifest.json")
        saving.drop_oldest(folder / "plugins", gigabytes=0)


def arena_run(folder):
    corpus, predictions = read_arena_run(folder / "run")
    scored(corpus, predictions)
    return Found(corpus_found(corpus).documents, predictions.notes)


def studio(folder):
    read = annotation.read(folder / "export.json")
    adjudication.queue(read)
    for level in ("entity", "token"):
        annotation.ratings(read, level=level)
    return Found(frozenset(read.pages), {"problems": len(read.problems)})


def read_drafts(folder):
    read = drafts.read(folder / "drafts.jsonl")
    drafts.records(read)
    return Found(frozenset(draft.doc_id for draft in read))


# --- all

MADE_LOGS = ("lmms/1_samples_forms.jsonl", "kit/m_F.json", "omniai", "olmocr", "ocrbench/m.json")
IMAGES = ("a.png", "16.png", "exif.jpg", "c.jpg", "a.tiff", "a.webp")
EVERY = [
    *(Target(f"load/{n}", m, partial(load, n), home=HOMES.get(n, "")) for n, m in MAKERS.items()),
    Target("load/filing", made("load/filing"), filing),
    *(engine(name, content) for name, content in ENGINES.items()),
    answered("plain", "funsd", INPUTS["answers/plain"]),
    answered("formcraft", "formcraft", FORMS, "{}.json"),
    answered("formfactory", "formfactory", INPUTS["answers/formfactory"], FACTORY),
    answered("fincriticaled", "fincriticaled", inputs.PAGES, "pred_{}.txt"),
    answered("omniai", "funsd", INPUTS["answers/omniai"]),
    answered("vrdu", "vrdu", {f"{made_vrdu.SPLIT}-test_predictions.json": inputs.RESULTS}),
    *map(written_log, ("form.eval", "model-a_FormsVQA.xlsx", "stickler.jsonl", "docling")),
    *(Target(f"log/{name}", maker(LOGS), partial(log, name)) for name in MADE_LOGS),
    Target(
        "log/funsd_bench", inputs.make_funsd_bench, read_funsd_bench, home="results/parses/{}.json"
    ),
    *(
        Target(f"own/{ending}", partial(inputs.make_own, ending), partial(pair, ending))
        for ending in ("csv", "jsonl", "json", "parquet", "xlsx")
    ),
    Target("own/folder", made("own/folder"), partial(pair, "json"), home="gold.json/{}.json"),
    Target("own/types json", made("own/types json"), partial(types, "types.json")),
    Target("own/types yaml", made("own/types yaml"), partial(types, "types.yaml")),
    Target("file/run", make_run, read_run, only="^run"),
    Target("file/run under way", partial(make_run, whole=False), run_on, only="^run"),
    Target("file/evaluation", make_evaluation, read_evaluation, only="^saved"),
    Target("file/scored again", make_evaluation, score_again, only="^saved"),
    Target("file/corpus", make_corpus, lambda f: corpus_found(folders.Corpus.load(f / "corpus"))),
    Target("file/kept", keep, nothing(keep), placeless=True),
    Target(
        "file/reports", made("file/reports"), nothing(lambda f: Manifest.read(f / "reports.yaml"))
    ),
    Target("arena/run", inputs.make_arena_run, arena_run, only=r"json$|jsonl$|png$"),
    Target(
        "arena/form", inputs.A12, nothing(lambda f: instances.make(spec.load(f / "A12.yaml"), 1))
    ),
    Target("arena/tasks", made("arena/tasks"), named(web_tasks.read, "tasks.jsonl")),
    Target("arena/texts", made("arena/texts"), named(texts.read, "texts.yaml")),
    Target(
        "arena/released",
        made_formfactory.make,
        named(lambda folder: released.task_set(folder, codes=["A12"]).instances, ""),
        only="^data",
    ),
    Target(
        "review/decisions",
        maker(inputs.DECIDED),
        lambda f: Found(frozenset(decisions.read(f / "decided")["doc_id"])),
    ),
    Target("review/label studio", maker({"export.json": inputs.EXPORT}), studio),
    Target("review/drafts", maker({"drafts.jsonl": inputs.DRAFTS}), read_drafts),
    *(
        Target(f"page/{name}", partial(inputs.make_image, name), nothing(partial(read_pages, name)))
        for name in IMAGES
    ),
    Target("page/pdf", inputs.make_pdf, nothing(partial(read_pages, "a.pdf"))),
    *map(text, TEXT_READERS),
]
TARGETS = {target.name: target for target in EVERY}
