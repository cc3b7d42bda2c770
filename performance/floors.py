"""The floors of speed and memory, each beside what a user would take instead, in one run.

Run: python performance/floors.py [--only text,tree,…] [--tiny] [--json], of `score` also
     [--doors own,table,run,log] [--fields 100000,1000000] [--workers 1,2] [--rounds 3]

Everything on one core and in processor seconds, but for the commands. Exit code 1 where a floor is
missed; ``--tiny`` tries every measurement on little data and looks at no floor. Data of `score` are
like FUNSD's: 47 fields a document, of five kinds; one answer in ten is wrong, one in fifty is not
there. Its doors: ``own``, gold as CSV with answers as JSON lines; ``table``, FUNSD's own files with
answers as JSON lines; ``run``, the same with a finished run; ``log``, a log of Inspect.
"""

from __future__ import annotations

from measure import Row, beside, command, fastest, report, speed  # isort: skip

import argparse
import json
import random
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import jiwer
import numpy as np
import polars as pl
import zss
from anls_star import anls_score
from rouge_score.rouge_scorer import RougeScorer

from formlab import metrics, tables
from formlab.benchmarks.fincriticaled import FACTS, tagged
from formlab.folders import Predictions
from formlab.metrics.counts import changes
from formlab.metrics.entities import LEAVES, match_entities
from formlab.metrics.facts import locate, match_facts
from formlab.metrics.places import Places
from formlab.metrics.tree import TreePair
from formlab.stats.draws import drawn_parts, percentiles
from formlab.text.markup import Flow, read, written_events
from formlab.trees import Flat, Node

TINY = "--tiny" in sys.argv
OF_A_DOCUMENT, GIB = 47, 2**30
# Processor time may grow by so much more than the fields; fields a second and core, from so many
# fields on; how much sooner two workers end than one.
LINEAR, LEAST, LARGE, TWICE = 1.15, 20_000, 1_000_000, 1.5
# Seconds on the clock: of help, and of the score of a small folder.
HELP, SMALL = 0.2, 1.5
WORDS = "Ada Berg Quay Tea Lane Moss Ivor Lund Hale Frost Nell Park net sales tax 4,310".split()  # noqa: SIM905
ENTITIES = {
    "advertiser": "GeneralStringMatch", "contract_num": "NumericalStringMatch",
    "flight_from": "DateMatch", "gross_amount": "PriceMatch", "tv_address": "AddressMatch",
}  # fmt: skip
PARTS = {
    "program_desc": "GeneralStringMatch", "program_start_date": "DateMatch",
    "program_end_date": "DateMatch", "sub_amount": "PriceMatch",
}  # fmt: skip


def many(full: int, tiny: int = 2) -> int:
    """How many there are of something."""
    return tiny if TINY else full


def misread(draw: random.Random, text: str, rate: float) -> str:
    """`text` with some characters lost or replaced."""
    return "".join(c if draw.random() > rate else draw.choice(("", "x", "ll")) for c in text)


def pages(count: int, words: int, rate: float) -> tuple[list[str], list[str]]:
    """Texts of so many words, and each as it was read."""
    draw = random.Random(0)
    golds = [" ".join(draw.choices(WORDS, k=draw.randint(1, 2 * words))) for _ in range(count)]
    return golds, [misread(draw, g, rate) if draw.random() < 0.5 else g for g in golds]


def text() -> Iterator[Row]:
    """Error rates beside jiwer, ROUGE-L beside rouge-score."""
    fields, long = pages(many(100_000), 3, 0.06), pages(many(60), many(1_200, 20), 0.02)
    rouge = RougeScorer(["rougeL"]).score
    peers = (("cer", fields, jiwer.cer, 50), ("wer", fields, jiwer.wer, 5))
    for name, sides, peer, floor in (*peers, ("rougeL", long, rouge, 100)):
        metric, size = metrics.get(name), min(len(sides[0]), 4 if name == "rougeL" else 5_000)
        some = [side[:size] for side in sides]
        metric.tallies(*some)
        ours = fastest(lambda: metric.tallies(*sides))  # noqa: B023
        theirs = fastest(lambda: list(map(peer, *some))) * len(sides[0]) / size  # noqa: B023
        yield beside(f"{name} of {len(sides[0]):,} texts", ours, peer.__name__, theirs, floor)


def tree() -> Iterator[Row]:
    """Tree edit distance beside zss."""
    draw = random.Random(0)

    def grown(count: int) -> Node:
        nodes = [Node("form")]
        for _ in range(count):
            nodes.append(Node(draw.choice("abcdefgh")))
            draw.choice(nodes[:-1]).children.append(nodes[-1])
        return nodes[0]

    def by_zss(gold: Node, pred: Node) -> float:
        flats = [Flat(side) for side in (gold, pred)]
        depth = {id(n): d for flat in flats for n, d in zip(flat.nodes, flat.depth, strict=True)}

        def renamed(one: Node, other: Node) -> float:
            mean = (depth[id(one)] + depth[id(other)]) / 2
            return 0.0 if one.label == other.label else 1 / (1 + mean)

        def removed(node: Node) -> float:
            return 1 / (1 + depth[id(node)])

        return float(zss.distance(gold, pred, lambda n: n.children, removed, removed, renamed))

    pairs = [(grown(many(100, 9)), grown(many(100, 9))) for _ in range(many(4))]
    # The first call compiles or loads what numba cached; that is not counted.
    error = max(abs(TreePair(*pair).distance - by_zss(*pair)) for pair in pairs)
    ours = fastest(lambda: [TreePair(*pair).distance for pair in pairs * 20]) / 20
    theirs = fastest(lambda: [by_zss(*pair) for pair in pairs], rounds=1)
    row = beside("tree edit distance", ours, "zss", theirs, 100)
    yield row | {"largest_difference": error, "holds": row["holds"] and error < 1e-9}


def value(draw: random.Random, function: str) -> str:
    """One value of the type that a match function of VRDU is for."""
    number = draw.randint(1, 9_999_999)
    if function == "DateMatch":
        day = (draw.randint(1, 12), draw.randint(1, 28), draw.randint(18, 22))
        return draw.choice(("%d/%d/%d", "%02d/%02d/20%02d", "%d-%d-%d")) % day
    if function == "PriceMatch":
        return f"${number / 100:,.2f}"
    return f"{number % 900} Station {draw.choice('ABCDEFGH')} {number // 900:x}"


def entities() -> Iterator[Row]:
    """Entities of VRDU matched: single ones and 23 line items of four parts a document."""
    draw, golds, preds = random.Random(0), [], []
    for doc in range(many(500)):
        kinds = [(name, None, kind) for name, kind in ENTITIES.items()]
        kinds += [(f"item {n}", part, kind) for n in range(23) for part, kind in PARTS.items()]
        for number, (name, part, kind) in enumerate(kinds):
            # The four parts of a line item share its number.
            item = number if part is None else len(kinds) + (number - len(ENTITIES)) // 4
            text = value(draw, kind)
            row = {"doc": str(doc), "item": doc * 1_000 + item, "component": part}
            row |= {"name": "line_item" if part else name, "accepted": [], "identity": ""}
            golds.append(row | {"value": text})
            preds.append(row | {"value": text[::-1] if draw.random() < 0.1 else text})
    gold, pred = (pl.DataFrame(rows, schema=LEAVES) for rows in (golds, preds))
    for mode in ("official", "fixed"):
        work = partial(match_entities, gold, pred, ENTITIES | PARTS, mode=mode)
        yield speed(f"VRDU values matched, {mode}", len(preds), fastest(work), 60_000)


@tables.uncollected()
def matched(sides: list[tuple[str, str]]) -> int:
    """How many facts of some pages were matched, the pages read first, as `evaluate` does."""
    total = 0
    for gold, pred in sides:
        events = written_events(gold)
        places = Places(Flow(events, tags=FACTS))
        facts = [locate(places, f["kind"], f["value"], f["mark"]) for f in tagged(events)]
        total += len(match_facts(places, facts, Places(read(pred))))
    return total


def facts() -> Iterator[Row]:
    """Facts of statements of 25 rows with two amounts each, 1 in 20 of them wrong."""
    draw, sides = random.Random(0), []
    for _ in range(many(400)):
        gold = pred = "<table><tr><th></th><th>2025</th><th>2024</th></tr>"
        for row in range(25):
            label = f"<tr><td>{' '.join(draw.sample(WORDS[:12], 3))} {'abcdefghij'[row % 10]}</td>"
            amounts = [f"{draw.randrange(1, 1_000_000):,}" for _ in range(2)]
            gold += label + "".join(f"<td>$ <number>{a}</number></td>" for a in amounts)
            wrong = [a if draw.random() > 0.05 else a[::-1] for a in amounts]
            pred += label + "".join(f"<td>$ {a}</td>" for a in wrong)
        sides.append((gold, pred))
    yield speed("facts matched", matched(sides), fastest(lambda: matched(sides)), 15_000)


def nested() -> Iterator[Row]:
    """JSON of lists in lists beside anls_star."""
    draw = random.Random(0)

    def made() -> dict:
        items = [{"name": draw.choice(WORDS), "sum": value(draw, "PriceMatch")} for _ in range(8)]
        return {"total": value(draw, "PriceMatch"), "items": items}

    pairs = [(made(), made()) for _ in range(many(100))]
    ours = fastest(lambda: [changes(gold, pred) for gold, pred in pairs])
    theirs = fastest(lambda: [anls_score(gold, pred) for gold, pred in pairs])
    yield beside("nested JSON", ours, "anls_star", theirs, 3)


def bootstrap() -> Iterator[Row]:
    """Draws of documents beside a NumPy loop that draws the weights once for all columns."""
    count, resamples = many(10_000, 50), many(1_000, 20)
    total = np.random.default_rng(0).integers(1, 500, (10, count)).astype(float)
    columns = np.concatenate([total // 2, total]).T

    def loop() -> None:
        generator, sums = np.random.default_rng(0), np.empty((resamples, 20))
        for number in range(resamples):
            drawn = generator.integers(0, count, count)
            sums[number] = np.bincount(drawn, minlength=count) @ columns
        np.quantile(sums[:, :10] / sums[:, 10:], [0.025, 0.975], axis=0)

    def ours() -> None:
        parts = [np.stack([row // 2, row], axis=1) for row in total]
        for drawn in drawn_parts(parts, resamples=resamples, seed=0):
            percentiles(metrics.ratio(drawn), 0.95)

    yield beside(f"bootstrap of {count:,} documents", fastest(ours), "NumPy", fastest(loop), 0.5)


def documents(fields: int) -> Iterator[tuple[str, list[str], list[str | None]]]:
    """Forms with the values of their fields, and what a system answered."""
    draw = random.Random(0)
    for number in range(-(-fields // OF_A_DOCUMENT)):
        kinds = ("PriceMatch", "DateMatch", "", "", "yes")
        values = [
            draw.choice(("yes", "no")) if kind == "yes" else value(draw, kind)
            for kind in (kinds[at % 5] for at in range(OF_A_DOCUMENT))
        ]
        answers: list[str | None] = list(values)
        for at, text in enumerate(values):
            luck = draw.random()
            if luck < 0.12:
                wrong = draw.choice((text.upper(), text[1:], text + "0"))
                answers[at] = None if luck < 0.02 else wrong
        yield f"form_{number:07}", values, answers


def own(folder: Path, fields: int) -> list[str]:
    """Gold as CSV, answers as JSON lines."""
    gold, answers = folder / "gold.csv", folder / "answers.jsonl"
    with gold.open("w") as one, answers.open("w") as other:
        one.write("doc_id,path,value\n")
        for name, values, given in documents(fields):
            for at, (text, answer) in enumerate(zip(values, given, strict=True)):
                one.write(f'{name},/field_{at},"{text}"\n')
                row = {"doc_id": name, "path": f"/field_{at}", "value": answer}
                other.write(json.dumps(row) + "\n" if answer is not None else "")
    return ["score", str(gold), "--predictions", str(answers)]


def table(folder: Path, fields: int) -> list[str]:
    """The files of FUNSD, answers as JSON lines."""
    rows = ({"doc_id": n, "path": p, "value": v} for n, p, v in funsd(folder, fields))
    (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [*_FUNSD, str(folder), "--predictions", str(folder / "answers.jsonl")]


def run(folder: Path, fields: int) -> list[str]:
    """The files of FUNSD and a finished run."""
    rows = pl.DataFrame(list(funsd(folder, fields)), ["doc_id", "path", "value"], orient="row")
    same = {"benchmark": "funsd", "split": "test", "role": "prediction", "system": "s"}
    same |= {"task": "text", "status": "ok"}
    known = rows.with_columns(pl.lit(text).alias(name) for name, text in same.items())
    records = known.select(
        (pl.col(name) if name in known.columns else pl.lit(None)).cast(kind).alias(name)
        for name, kind in tables.RECORDS.items()
    )
    Predictions(records, tables.table("responses", []), "s").save(folder / "run")
    return [*_FUNSD, str(folder), "--predictions", str(folder / "run")]


_FUNSD = ("score", "funsd", "--split", "test", "--root")


def funsd(folder: Path, fields: int) -> Iterator[tuple[str, str, str]]:
    """Each answer, while the annotations are written."""
    home = folder / "testing_data" / "annotations"
    home.mkdir(parents=True)
    for name, values, given in documents(fields):
        form = []
        for at, text in enumerate(values):
            box = [10, 20 * at, 300, 20 * at + 16]
            words = [{"text": word, "box": box} for word in text.split()]
            entity = {"id": at, "text": text, "box": box, "label": "answer", "words": words}
            form.append(entity | {"linking": []})
        (home / f"{name}.json").write_text(json.dumps({"form": form}))
        answers = enumerate(given)
        yield from ((name, f"/entities/{at}", text) for at, text in answers if text is not None)


def log(folder: Path, fields: int) -> list[str]:
    """A log of Inspect: a sample for each document, whose target and answer are objects."""
    file = folder / "log.eval"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m"}}))
        for name, values, given in documents(fields):
            target = {f"field_{at}": text for at, text in enumerate(values)}
            answer = {f"field_{at}": text for at, text in enumerate(given) if text is not None}
            output = {"model": "m", "completion": json.dumps(answer)}
            sample = {"id": name, "epoch": 1, "target": json.dumps(target), "output": output}
            archive.writestr(f"samples/{name}_epoch_1.json", json.dumps(sample))
    return ["score", str(file)]


DOORS = {"own": own, "table": table, "run": run, "log": log}


def score(options: argparse.Namespace) -> Iterator[Row]:
    """`formlab score` by every door that is read a piece at a time: speed, growth, memory."""
    for name in options.doors:
        first: dict[int, float] = {}
        clock: dict[int, float] = {}
        for fields in options.fields:
            with tempfile.TemporaryDirectory() as folder:
                words = [*DOORS[name](Path(folder), fields), "--out", f"{folder}/out", "--workers"]
                work = [partial(command, *words, str(n)) for n in options.workers]
                taken = [min(run() for _ in range(options.rounds)) for run in work]
            for workers, (seconds, busy, peak) in zip(options.workers, taken, strict=True):
                to_linear = busy / fields / first.setdefault(workers, busy / fields)
                limit = GIB if fields <= LARGE else 2 * GIB
                row = speed(f"score by {name}, {workers} workers", fields, busy, LEAST)
                faster = clock.setdefault(fields, seconds) / seconds
                row |= {"clock_seconds": seconds, "peak_gib": peak / GIB, "to_linear": to_linear}
                # The seconds of a start are much of what few fields take.
                is_fast = row["holds"] if workers == 1 else faster >= TWICE
                holds = (is_fast or fields < LARGE) and peak <= limit and to_linear <= LINEAR
                yield row | {"times_one_worker": faster, "holds": holds}


def start() -> Iterator[Row]:
    """What a user waits for before anything is done."""
    with tempfile.TemporaryDirectory() as folder:
        small = [*own(Path(folder), OF_A_DOCUMENT), "--out", f"{folder}/out"]
        for words, limit in ((["--help"], HELP), (small, SMALL)):
            seconds = min(command(*words)[0] for _ in range(many(3, 1)))
            row: Row = {"what": f"formlab {words[0]}", "clock_seconds": seconds}
            yield row | {"limit": limit, "holds": seconds <= limit}


def main() -> int:
    """Measure, print, and say by the exit code whether every floor holds."""
    parser = argparse.ArgumentParser(description=__doc__)
    groups: dict[str, Callable] = {
        work.__name__: work
        for work in (text, tree, entities, facts, nested, bootstrap, start, score)
    }
    numbers = lambda words: [int(word) for word in words.split(",")]  # noqa: E731
    parser.add_argument("--only", default=",".join(groups))
    parser.add_argument("--doors", type=lambda words: words.split(","), default=[*DOORS])
    parser.add_argument("--rounds", type=int, default=many(3, 1))
    parser.add_argument("--fields", type=numbers, default=[94] if TINY else [100_000, 1_000_000])
    parser.add_argument("--workers", type=numbers, default=[1] if TINY else [1, 2])
    parser.add_argument("--tiny", action="store_true")
    parser.add_argument("--json", action="store_true")
    options, rows = parser.parse_args(), []
    for name in options.only.split(","):
        for row in groups[name](*([options] if name == "score" else [])):
            rows.append(row)
            print(row["what"], file=sys.stderr)
    missed = report(rows, as_json=options.json)
    return 0 if options.tiny else missed


if __name__ == "__main__":
    sys.exit(main())
