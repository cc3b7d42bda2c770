"""Time and memory of `formlab score` on own data of growing size, start of Python included.

Run: python performance/scale.py [--fields 100000,300000,1000000] [--workers 1] [--csv] [--json]

Data are like FUNSD's: 47 fields a document, of five kinds. Measured are the time on the clock and
the largest memory of every process of the command. With the default sizes it is to be so: time
grows no more than 15 % faster than the fields, every process stays below 1 GiB.

With `--workers 1,2` the scoring of 300,000 fields is measured by itself, too: by processes of
one thread each, their start included, and here the second one is to make it 1.7 times as fast. Of
the whole command it gains less, as starting, planning and the summary take the same time.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import sys
import tempfile
import time
from pathlib import Path

import measure
import polars as pl
import psutil

from formlab.own import sharded
from formlab.scoring import many

FIELDS_OF_DOCUMENT = 47
SIZES = (100_000, 300_000, 1_000_000)
NAMES = "Ada Berg Quay Tea Lane Moss Ivor Lund Hale Frost Nell Park".split()  # noqa: SIM905
GIB = 2**30
# How much faster than the fields time may grow, what two workers gain, and from which size on.
LINEAR, GAIN, ENOUGH = 1.15, 1.7, 300_000
# What the processes of `scoring_alone` are started with.
ONE_THREAD = ("OMP_NUM_THREADS", "POLARS_MAX_THREADS")
# Seconds between two looks at the processes, which take time from those.
PAUSE = 0.5


def write(folder: Path, fields: int, ending: str) -> tuple[Path, Path]:
    """Gold, and answers of which one in ten is wrong and one in fifty is not there."""
    number = pl.col("number")
    field = number % FIELDS_OF_DOCUMENT
    values = pl.LazyFrame().select(number=pl.int_range(fields, dtype=pl.UInt64)).select(
        pl.format("form_{}", (number // FIELDS_OF_DOCUMENT).cast(pl.String).str.zfill(7))
        .alias("doc_id"),
        pl.format("/field_{}", field).alias("path"),
        pl.when(field % 5 == 0).then(pl.format("${}.{}", _draw(1, 1, 90_000), _draw(2, 10, 99)))
        .when(field % 5 == 1)
        .then(pl.format("{}-{}-{}", _draw(1, 1970, 2025), _draw(2, 10, 12), _draw(3, 10, 28)))
        .when(field % 5 == 2).then(_draw(1, 1, 10_000).cast(pl.String))
        .when(field % 5 == 3).then(pl.when(_draw(1, 0, 1) == 0).then(pl.lit("yes"))
                                   .otherwise(pl.lit("no")))
        .otherwise(pl.format("{} {} {}", *(_name(seed) for seed in range(1, 4)))).alias("value"),
        luck=_draw(9, 0, 99), how=_draw(8, 0, 3),
    )  # fmt: skip
    value, how = pl.col("value"), pl.col("how")
    mistake = (
        pl.when(how == 0).then(value.str.to_uppercase())
        .when(how == 1).then(value.str.slice(1))
        .when(how == 2).then(value + "0")
        .otherwise(pl.lit("Moss 7"))
    )  # fmt: skip
    answers = values.filter(pl.col("luck") >= 2).with_columns(
        pl.when(pl.col("luck") < 12).then(mistake).otherwise(value).alias("value")
    )
    files = folder / f"gold.{ending}", folder / f"answers.{ending}"
    for file, frame in zip(files, (values, answers), strict=True):
        frame = frame.select("doc_id", "path", "value")
        (frame.sink_parquet if ending == "parquet" else frame.sink_csv)(file)
    return files


def _draw(seed: int, low: int, high: int) -> pl.Expr:
    """A number in [low, high] that hangs on the row's alone."""
    return (pl.col("number").hash(seed) // 1_000_003) % (high - low + 1) + low


def _name(seed: int) -> pl.Expr:
    return _draw(seed, 0, len(NAMES) - 1).replace_strict(range(len(NAMES)), NAMES)


def score(gold: Path, answers: Path, out: Path, workers: int) -> tuple[float, float, list[float]]:
    """Seconds on the clock, those of all processors, and the peak of each process in bytes."""
    command = [sys.executable, "-m", "formlab", "score", str(gold)]
    command += ["--predictions", str(answers), "--out", str(out), "--workers", str(workers)]
    begin, before, peaks = time.perf_counter(), _used(), {}
    with (
        (out.parent / "log").open("w+b") as log,
        psutil.Popen(command, stdout=log, stderr=log) as p,
    ):
        while p.poll() is None:
            for process in (p, *_below(p)):
                look(process, peaks)
            with contextlib.suppress(psutil.TimeoutExpired):
                p.wait(PAUSE)
        if p.returncode:
            log.seek(0)
            raise SystemExit(log.read().decode(errors="replace"))
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


def scoring_alone(gold: Path, answers: Path, folder: Path, workers: int) -> float:
    """Seconds until all shards of a plan are read and scored by processes that have started."""
    sources = sharded.plan(gold, answers, folder=folder / "plan").sources
    os.environ |= dict.fromkeys(ONE_THREAD, "1")
    begin = time.perf_counter()
    many.score(sources, folder / f"by-{workers}", open_source=sharded.open, workers=workers)
    seconds = time.perf_counter() - begin
    for name in ONE_THREAD:
        del os.environ[name]
    return seconds


def look(process: psutil.Process, peaks: dict[int, float]) -> None:
    """Note a process's largest memory so far; nothing of one that has ended."""
    with contextlib.suppress(psutil.Error):
        # Linux keeps the peak itself, so that none is missed between two looks.
        memory = max(process.memory_info().rss, _high_water(process.pid))
        peaks[process.pid] = max(peaks.get(process.pid, 0), memory)


def _high_water(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((1024.0 * int(x.split()[1]) for x in lines if x.startswith("VmHWM")), 0.0)


def main() -> int:
    """A row for each size and number of workers; 1 if a target is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fields", default=",".join(map(str, SIZES)))
    parser.add_argument("--workers", default="1")
    parser.add_argument("--csv", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes, counts = ([int(n) for n in x.split(",")] for x in (options.fields, options.workers))
    rows: list[measure.Row] = []
    taken: dict[tuple[int, int], float] = {}
    spent: dict[tuple[int, int], float] = {}
    for fields in sizes:
        for workers in counts:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                files = write(folder, fields, "csv" if options.csv else "parquet")
                seconds, busy, peaks = score(*files, folder / "out", workers)
            taken[fields, workers], spent[fields, workers] = seconds, busy
            more = busy - spent[sizes[0], workers]
            row = {
                "what": f"{fields:,} fields, {workers} workers", "seconds": seconds,
                "processor_seconds": busy, "fields_a_second": fields / seconds,
                # Without what every command takes, such as its start.
                "more_fields_a_second_a_core": (fields - sizes[0]) / more if more else None,
                "peak_gib": [round(peak / GIB, 2) for peak in peaks],
                "to_linear": seconds / (taken[sizes[0], workers] * fields / sizes[0]),
                "gain": taken[fields, counts[0]] / seconds,
            }  # fmt: skip
            limit = GIB if fields <= SIZES[-1] else 2 * GIB
            held = row["to_linear"] <= LINEAR and max(peaks) < limit
            rows.append(row | {"holds": held})
            print(row["what"], f"{seconds:.1f} s", file=sys.stderr)
    if counts[:2] == [1, 2]:
        rows += gains(next((size for size in sizes if size >= ENOUGH), sizes[-1]))
    return measure.report(rows)


def gains(fields: int) -> list[measure.Row]:
    """What two processes gain on scoring alone."""
    with tempfile.TemporaryDirectory() as name:
        files = write(Path(name), fields, "parquet")
        one, two = (scoring_alone(*files, Path(name), workers) for workers in (1, 2))
    what = f"{fields:,} fields, scoring alone, {{}} started"
    return [
        {"what": what.format(1), "seconds": one, "fields_a_second": fields / one, "holds": True},
        {
            "what": what.format(2), "seconds": two, "fields_a_second": fields / two,
            "gain": one / two, "holds": one / two >= GAIN or fields < ENOUGH,
        },
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
