"""Frozen numbers: what the samples score and what files load to, as tables in the repository.

    python -m tests.freeze [TABLE ...]

writes files in `tests/contract/frozen/` anew: CSV for what one reads in a diff, Parquet for many
rows. Each table is made through public doors alone, so that it outlives the code behind them;
`tests/contract/test_frozen.py` makes it again and compares. A number that is meant to change is
written anew in the commit that changes it.
"""

import hashlib
import json
import lzma
import sqlite3
import sys
import tempfile
from contextlib import closing
from functools import cache
from pathlib import Path

import polars as pl

import formlab
from formlab import analysis
from tests.contract.doors import cli
from tests.real_data import SHARED
from tests.seeds import ALL
from tests.systems.scripted_server import serving

ROOT = Path(__file__).parents[1]
FROZEN = ROOT / "tests" / "contract" / "frozen"
SAMPLES = ROOT / "data" / "sample"
# Answers of 0.2's system `rules` to FORMCRAFT's sample: numbers stay, whatever `rules` reads now.
ANSWERS = FROZEN / "rules-0.2"
COUNTS = ["n_docs", "n_cases", "n_missing", "n_undefined"]
DOCUMENT = ["benchmark", "split", "doc_id", "image", "width", "height", "template", "domain"]
RECORD = ["benchmark", "split", "doc_id", "task", "path", "kind", "modality", "subtype", "value"]
RECORD += ["accepted", "page", "x0", "y0", "x1", "y1", "confidence", "scope", "reference"]
RECORD += ["complexity", "modal", "status", "origin"]
SCORE = ["task", "level", "metric", "average", "slice_by", "slice_value"]
# Questions whose keys are frozen: an answer that was paid for is found again as long as they stay.
QUESTIONS = [
    ("funsd", []),
    ("funsd", ["--set", "temperature=0.5", "--set", "max_tokens=100"]),
    ("formcraft", []),
    ("formcraft", ["--set", "image_limit=512", "--set", 'extra={"seed": 1}']),
    ("vrdu", ["--set", "shots=1"]),
    ("fincriticaled", []),
    ("formfactory", []),
]
PORT = 18463  # The address of a model is part of a key.
# `make test` scores two main runs of each benchmark, and compares four of these pairs in one mode.
EVERY = ALL or __name__ == "__main__"
PAIRS = {
    "fincriticaled": ("ocr", "ocr_html"),
    "formcraft": ("ocr", "rules"),
    "formfactory": ("oracle", "rules"),
    "funsd": ("ocr", "ocr(scale=2.0)"),
    "vrdu": ("rules", "template"),
}
# The runs that reports begin with; the others are splits of VRDU for learning curves.
MAIN_VRDU = "vrdu-MadeAds-mixed_template-train_6-test_8-valid_2-SD_0-"


@cache
def sample_runs():
    """Name, corpus and predictions of each run over the samples."""
    runs = []
    for folder in sorted((SAMPLES / "runs").iterdir()):
        benchmark = folder.name.partition("-")[0]
        system = json.loads((folder / "manifest.json").read_text("utf-8"))["system"]
        split = folder.name.removeprefix(f"{benchmark}-").removesuffix(f"-{system}")
        corpus = formlab.load(benchmark, split=split, root=SAMPLES / benchmark)
        answers = ANSWERS / folder.name if (ANSWERS / folder.name).is_dir() else folder
        runs.append((folder.name, corpus, formlab.read_predictions(answers, corpus)))
    return runs


def kept(benchmark, system):
    """What 0.2's answers score now, where they are kept."""
    if (answers := ANSWERS / f"{benchmark}-test-{system}").is_dir():
        corpus = formlab.load(benchmark)
        return formlab.evaluate(corpus, formlab.read_predictions(answers, corpus))
    return None


@cache
def evaluations():
    """Each sample run in each mode of its benchmark, by name and mode."""
    scored = []
    for name, corpus, predictions in sample_runs():
        if not (EVERY or (is_main(name) and predictions.system in PAIRS[corpus.benchmark])):
            continue
        published = name.startswith(("vrdu", "fincriticaled"))
        for mode in ("official", "fixed") if published else ("fixed",):
            scored.append((name, mode, formlab.evaluate(corpus, predictions, mode=mode)))
    prose = ("rules(texts=prose)", "rules(ruler=True,texts=prose)") if EVERY else ()
    for system in (*PAIRS["formfactory"], *prose):
        opened = analysis.open_evaluation(benchmark="formfactory", system=system)
        scored.append((f"formfactory-arena-{system}", opened.mode, opened))
    return scored


def is_main(name):
    return not name.startswith("vrdu") or name.startswith(MAIN_VRDU)


def digest(frame, columns=None):
    """A hash of the rows of a frame, whatever their order and that of the columns."""
    rounded = frame.select(columns or pl.all()).with_columns(pl.selectors.float().round(6))
    rows = map(json.JSONEncoder(sort_keys=True, default=str).encode, rounded.to_dicts())
    return hashlib.sha256("\n".join(sorted(rows)).encode()).hexdigest()[:16]


@cache
def summaries():
    """Summaries of all runs, with intervals and slices of the main ones."""
    tables = []
    for name, mode, evaluation in evaluations():
        options = {} if is_main(name) else {"by": [], "resamples": 0}
        table = formlab.summarise(evaluation, **options)
        columns = [*SCORE, "value", "ci_low", "ci_high", *COUNTS]
        tables.append(table.select(pl.lit(name).alias("run"), pl.lit(mode).alias("mode"), *columns))
    return pl.concat(tables, how="vertical_relaxed")


def scores():
    """Scores over all cases of a run."""
    return summaries().filter(pl.col("slice_by").is_null())


def slices():
    """Scores of slices."""
    return summaries().filter(pl.col("slice_by").is_not_null())


def outcomes():
    """Cases of each run by outcome and cause."""
    tables = []
    for name, mode, evaluation in evaluations():
        counts = evaluation.cases.group_by("task", "level", "outcome", "cause").len("cases")
        tables.append(
            counts.select(pl.lit(name).alias("run"), pl.lit(mode).alias("mode"), pl.all())
        )
    return pl.concat(tables, how="vertical_relaxed")


def compared():
    """Benchmark, mode and main runs of each comparison."""
    groups = {}
    for name, mode, evaluation in evaluations():
        if is_main(name):
            groups.setdefault((name.partition("-")[0], mode), []).append(evaluation)
    for (benchmark, mode), group in groups.items():
        if mode == "fixed" and benchmark != "funsd" and not EVERY:
            continue
        # Two of the arena's runs are of other texts, so that they share no document with the rest.
        cuts = (group[:2], group[2:]) if benchmark == "formfactory" else (group,)
        yield from ((benchmark, mode, chosen) for chosen in cuts if chosen)


def comparisons():
    """The main runs of each benchmark, each beside the first."""
    tables = []
    for benchmark, mode, chosen in compared():
        table = formlab.compare(chosen, reference=chosen[0].system)
        table = table.filter(pl.col("slice_by").is_null())
        columns = ["value_a", "value_b", "difference", "ci_low", "ci_high", "p", "p_holm"]
        keys = ["task", "level", "metric", "average", "system_a", "system_b"]
        labels = [pl.lit(benchmark).alias("benchmark"), pl.lit(mode).alias("mode")]
        tables.append(table.select(*labels, *keys, *columns, "better", "n_docs"))
    return pl.concat(tables, how="vertical_relaxed")


def findings():
    """What is found in each main run: the kind of finding, whether it holds, its cases."""
    found = []
    for name, mode, evaluation in evaluations():
        if is_main(name):
            for finding in analysis.findings([evaluation], most=99):
                row = {"run": name, "mode": mode, "about": finding.about, "holds": finding.holds}
                counts = {"n_cases": finding.n_cases, "n_docs": finding.n_docs}
                found.append(row | counts | {"cases": digest(finding.cases)})
    return pl.DataFrame(found)


def sample_corpora():
    """The gold of each sample, of VRDU in all of its splits."""
    corpora = {(corpus.benchmark, corpus.split): corpus for _, corpus, _ in sample_runs()}
    corpora["formfactory", None] = formlab.load("formfactory", root=SAMPLES / "formfactory")
    return list(corpora.values())


def gold():
    """Gold rows of the samples, as their readers give them."""
    return pl.concat([corpus.records.select(RECORD) for corpus in sample_corpora()])


def documents():
    """Documents of the samples, as their readers give them."""
    return pl.concat([corpus.documents.select(DOCUMENT) for corpus in sample_corpora()])


def answers():
    """Rows of each run over the samples, as a hash."""
    found = []
    for name, _, predictions in sample_runs():
        counts = {"documents": predictions.responses.height, "rows": predictions.records.height}
        found.append({"run": name} | counts | {"hash": digest(predictions.records, RECORD[2:])})
    return pl.DataFrame(found)


def kleister():
    """Gold of the contracts, from the two files of the challenge."""
    home = SHARED / "data" / "kleister-nda"
    names = lzma.decompress((home / "in.tsv.xz").read_bytes()).decode().splitlines()
    answers = (home / "expected.tsv").read_text("utf-8").splitlines()
    gold = {}
    for line, values in zip(names, answers, strict=True):
        fields = gold.setdefault(line.partition("\t")[0], {})
        for cell in values.split():
            key, _, value = cell.partition("=")
            fields.setdefault(key, []).append(value.replace("_", " "))
    return gold


def own(gold):
    return formlab.evaluate(gold, gold).corpus


def real():
    """What real files load to: documents, records, flaws and a hash of all rows."""
    data = SHARED / "data"
    corpora = {
        f"{benchmark} {split}": formlab.load(benchmark, split=split, root=root)
        for benchmark, split, root in (
            ("funsd", "train", data / "funsd"),
            ("funsd", "test", data / "funsd"),
            ("sroie", None, data / "sroie"),
            ("formcraft", "test", data / "funsd"),
            ("formfactory", None, data / "formfactory"),
            ("vrdu", "DeepForm-pdfs", data / "vrdu" / "ad-buy-form"),
            ("fincriticaled", None, SHARED / "golden" / "fincriticaled" / "gold"),
        )
    }
    corpora["kleister-nda"] = own(kleister())
    for name in ("resume", "swimming"):
        corpora[f"extract-bench {name}"] = own(data / "extract-bench" / name / "gold")
    for name in ("gamma.eval", "delta.eval"):
        opened = formlab.open_log(data / "logs" / "inspect" / name)
        corpora[f"inspect {name}"] = opened.corpus
        corpora[f"inspect {name} answers"] = opened.predictions
    found = []
    for name, corpus in corpora.items():
        rows = getattr(corpus, "documents", corpus.records)
        counts = {"documents": rows["doc_id"].n_unique(), "records": corpus.records.height}
        flaws = {"flaws": json.dumps(getattr(corpus, "flaws", {}), sort_keys=True)}
        # Forms of one's own have a field for each path, benchmarks a subtype.
        sort = "field" if corpus.records["benchmark"][0] == "own" else "subtype"
        columns = [sort if column == "subtype" else column for column in RECORD[2:]]
        found.append({"source": name} | counts | flaws | {"hash": digest(corpus.records, columns)})
    return pl.DataFrame(found)


def keys():
    """Keys of the first answers in the store, of each kind of question on the samples."""
    found = []
    for benchmark, settings in QUESTIONS:
        with tempfile.TemporaryDirectory() as folder, serving(port=PORT) as server:
            options = ["--root", SAMPLES / benchmark, "--documents", "2", "--out", folder]
            options += ["--base-url", server.url, *settings]
            cli("run", benchmark, "--system", "chat:frozen", *options)
            with closing(sqlite3.connect(Path(folder) / "answers.sqlite")) as store:
                rows = store.execute("SELECT DISTINCT task, doc_id, key FROM answers").fetchall()
        label = {"benchmark": benchmark, "settings": " ".join(settings)}
        found += [label | dict(zip(("task", "doc_id", "key"), row, strict=True)) for row in rows]
    return pl.DataFrame(found)


def made_here(table):
    """The part of a frozen table that is made here, which may not be of every run."""
    if "mode" not in table.columns:
        return table
    if not EVERY:
        # Beside fewer systems a comparison is adjusted for fewer.
        table = table.drop("p_holm", "better", strict=False)
    if "run" in table.columns:
        return table.filter(pl.col("run").is_in({name for name, _, _ in evaluations()}))
    pairs = [(name, mode, one.system) for name, mode, many in compared() for one in many[1:]]
    pairs = pl.DataFrame(pairs, ["benchmark", "mode", "system_b"], orient="row")
    return table.join(pairs, on=pairs.columns, how="semi")


CSV = (scores, outcomes, comparisons, findings, answers, real, keys)
PARQUET = (slices, gold, documents)
TABLES = {make.__name__: make for make in (*CSV, *PARQUET)}
KEYS = pl.exclude("^(value|value_a|value_b|ci_.*|difference|p|p_holm|accepted)$")


def main():
    FROZEN.mkdir(exist_ok=True)
    for name in sys.argv[1:] or TABLES:
        table = TABLES[name]().unique().sort(KEYS)
        if TABLES[name] in CSV:
            table.write_csv(FROZEN / f"{name}.csv")
        else:
            table.write_parquet(FROZEN / f"{name}.parquet", compression="zstd")
        print(f"{table.height:7}  {name}")


if __name__ == "__main__":
    main()
