"""Time and memory of `formlab score` by each door that is read a piece at a time.

Run: python performance/doors.py [--fields 100000,1000000] [--doors own,table,run,log]
                                 [--workers 1] [--json]

Data are like FUNSD's: 47 fields a document, of five kinds; one answer in ten is wrong, one in fifty
is not there. ``own`` is gold as CSV with answers as JSON lines, ``table`` FUNSD's own files with
answers as JSON lines, ``run`` the same with a finished run, ``log`` a log of Inspect. Measured are
seconds of the clock and of processors, and the largest memory of each process, start of Python
included. It is to be so: at most 1 GiB up to a million fields and 2 GiB at ten, processor time no
more than 15 % faster than the fields, at least 20,000 fields a second and core.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measure
import polars as pl
import psutil

from formlab import tables
from formlab.folders import Predictions

OF_A_DOCUMENT = 47
NAMES = "Ada Berg Quay Tea Lane Moss Ivor Lund Hale Frost Nell Park".split()  # noqa: SIM905
GIB = 2**30
LINEAR, LEAST = 1.15, 20_000
# Seconds between two looks at the processes, which take time from those.
PAUSE = 0.5
# A document with its fields, gold beside answer.
Document = tuple[str, list[str], list[str | None]]


def documents(fields: int) -> Iterator[Document]:
    """Forms with the values of their fields, and what a system answered."""
    number = pl.col("number")
    kind = number % OF_A_DOCUMENT % 5
    money = pl.format("${}.{}", _draw(1, 1, 90_000), _draw(2, 10, 99))
    date = pl.format("{}-{}-{}", _draw(1, 1970, 2025), _draw(2, 10, 12), _draw(3, 10, 28))
    count = _draw(1, 1, 10_000).cast(pl.String)
    agreed = pl.when(_draw(1, 0, 1) == 0).then(pl.lit("yes")).otherwise(pl.lit("no"))
    named = pl.format("{} {} {}", *(_name(seed) for seed in range(1, 4)))
    value = named
    for at, values in enumerate((money, date, count, agreed)):
        value = pl.when(kind == at).then(values).otherwise(value)
    mistake = pl.lit("Moss 7")
    for at, wrong in enumerate((value.str.to_uppercase(), value.str.slice(1), value + "0")):
        mistake = pl.when(_draw(8, 0, 3) == at).then(wrong).otherwise(mistake)
    luck = _draw(9, 0, 99)
    answer = pl.when(luck >= 12).then(value).when(luck >= 2).then(mistake)
    step = OF_A_DOCUMENT * 1000
    for begin in range(0, fields, step):
        rows = pl.DataFrame({"number": range(begin, min(begin + step, fields))})
        rows = rows.cast(pl.UInt64).select(value=value, answer=answer)
        for at in range(0, rows.height, OF_A_DOCUMENT):
            some = rows[at : at + OF_A_DOCUMENT]
            name = f"form_{(begin + at) // OF_A_DOCUMENT:07}"
            yield name, some["value"].to_list(), some["answer"].to_list()


def _draw(seed: int, low: int, high: int) -> pl.Expr:
    """A number in [low, high] that hangs on the row's alone."""
    return (pl.col("number").hash(seed) // 1_000_003) % (high - low + 1) + low


def _name(seed: int) -> pl.Expr:
    return _draw(seed, 0, len(NAMES) - 1).replace_strict(range(len(NAMES)), NAMES)


def own(folder: Path, fields: int) -> list[str]:
    """Gold as CSV, answers as JSON lines."""
    gold, answers = folder / "gold.csv", folder / "answers.jsonl"
    with gold.open("w") as one, answers.open("w") as other:
        one.write("doc_id,path,value\n")
        for name, values, given in documents(fields):
            for at, (value, answer) in enumerate(zip(values, given, strict=True)):
                one.write(f"{name},/field_{at},{value}\n")
                if answer is not None:
                    row = {"doc_id": name, "path": f"/field_{at}", "value": answer}
                    other.write(json.dumps(row) + "\n")
    return ["score", str(gold), "--predictions", str(answers)]


def table(folder: Path, fields: int) -> list[str]:
    """The files of FUNSD, answers as JSON lines."""
    with (folder / "answers.jsonl").open("w") as other:
        for name, at, answer in _funsd(folder, fields):
            row = {"doc_id": name, "path": f"/entities/{at}", "value": answer}
            other.write(json.dumps(row) + "\n")
    return [*_SCORE, str(folder), "--predictions", str(folder / "answers.jsonl")]


def run(folder: Path, fields: int) -> list[str]:
    """The files of FUNSD and a finished run."""
    names, paths, answers = zip(
        *((n, f"/entities/{at}", answer) for n, at, answer in _funsd(folder, fields)), strict=True
    )
    same = {"benchmark": "funsd", "split": "test", "role": "prediction", "system": "s"}
    rows = pl.DataFrame({"doc_id": names, "path": paths, "value": answers})
    constant = [pl.lit(v).alias(n) for n, v in (same | {"task": "text", "status": "ok"}).items()]
    known = rows.with_columns(constant)
    absent = [pl.lit(None).alias(n) for n in tables.RECORDS if n not in known.columns]
    records = known.with_columns(absent).select(
        pl.col(n).cast(t) for n, t in tables.RECORDS.items()
    )
    Predictions(records, tables.table("responses", []), "s").save(folder / "run")
    return [*_SCORE, str(folder), "--predictions", str(folder / "run")]


_SCORE = ("score", "funsd", "--split", "test", "--root")


def _funsd(folder: Path, fields: int) -> Iterator[tuple[str, int, str]]:
    """Each answer, while the annotations are written."""
    home = folder / "testing_data" / "annotations"
    home.mkdir(parents=True)
    for name, values, given in documents(fields):
        form: list[dict[str, Any]] = []
        for at, value in enumerate(values):
            box = [10, 20 * at, 300, 20 * at + 16]
            words = [{"text": word, "box": box} for word in value.split()]
            entity = {"id": at, "text": value, "box": box, "label": "answer", "words": words}
            form.append(entity | {"linking": []})
        (home / f"{name}.json").write_text(json.dumps({"form": form}))
        yield from ((name, at, answer) for at, answer in enumerate(given) if answer is not None)


def log(folder: Path, fields: int) -> list[str]:
    """A log of Inspect: a sample for each document, whose target and answer are objects."""
    with zipfile.ZipFile(
        folder / "log.eval", "w", zipfile.ZIP_DEFLATED, compresslevel=1
    ) as archive:
        archive.writestr("header.json", json.dumps({"eval": {"model": "m"}}))
        for name, values, given in documents(fields):
            target = {f"field_{at}": value for at, value in enumerate(values)}
            answer = {f"field_{at}": value for at, value in enumerate(given) if value is not None}
            output = {"model": "m", "completion": json.dumps(answer)}
            sample = {"id": name, "epoch": 1, "target": json.dumps(target), "output": output}
            archive.writestr(f"samples/{name}_epoch_1.json", json.dumps(sample))
    return ["score", str(folder / "log.eval")]


DOORS = {"own": own, "table": table, "run": run, "log": log}


def measured(command: list[str], out: Path, workers: int) -> tuple[float, float, list[float]]:
    """Seconds on the clock, those of all processors, and the peak of each process in bytes."""
    words = [sys.executable, "-m", "formlab", *command, "--out", str(out)]
    words += ["--workers", str(workers)]
    begin, before, peaks = time.perf_counter(), _used(), {}
    with (
        (out.parent / "log").open("w+b") as said,
        psutil.Popen(words, stdout=said, stderr=said) as p,
    ):
        while p.poll() is None:
            for process in (p, *_below(p)):
                _look(process, peaks)
            with contextlib.suppress(psutil.TimeoutExpired):
                p.wait(PAUSE)
        if p.returncode:
            said.seek(0)
            raise SystemExit(said.read().decode(errors="replace"))
    seconds = time.perf_counter() - begin
    return seconds, _used() - before, sorted(peaks.values(), reverse=True)


def _below(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _used() -> float:
    """Seconds of all processors that processes started here took, with those they started."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _look(process: psutil.Process, peaks: dict[int, float]) -> None:
    """Note a process's largest memory so far; nothing of one that has ended."""
    with contextlib.suppress(psutil.Error, OSError, StopIteration):
        # Linux keeps the peak itself, so that none is missed between two looks.
        lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
        peaks[process.pid] = next(1024.0 * int(x.split()[1]) for x in lines if x[:5] == "VmHWM")


def main() -> int:
    """A row for each door, size and number of workers; 1 if a target is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fields", default="100000,1000000")
    parser.add_argument("--doors", default=",".join(DOORS))
    parser.add_argument("--workers", default="1")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes, counts = ([int(n) for n in x.split(",")] for x in (options.fields, options.workers))
    rows: list[measure.Row] = []
    for door in options.doors.split(","):
        first: dict[int, float] = {}
        for fields in sizes:
            with tempfile.TemporaryDirectory() as name:
                command = DOORS[door](Path(name), fields)
                for workers in counts:
                    out = Path(name, f"out-{workers}")
                    seconds, busy, peaks = measured(command, out, workers)
                    each = busy / fields
                    row = {
                        "what": f"{door}, {fields:,} fields, {workers} workers",
                        "seconds": seconds,
                        "processor_seconds": busy,
                        "fields_a_second_a_core": fields / busy,
                        "peak_gib": [round(peak / GIB, 2) for peak in peaks],
                        "to_linear": each / first.setdefault(workers, each),
                    }
                    limit = GIB if fields <= 1_000_000 else 2 * GIB
                    held = max(peaks) <= limit and row["to_linear"] <= LINEAR
                    rows.append(row | {"holds": held and 1 / each >= LEAST})
                    print(row, file=sys.stderr)
    return measure.report(rows)


if __name__ == "__main__":
    sys.exit(main())
