"""Logs of other harnesses among what `formlab score` takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from formlab.cli.options import Rows, Table
from formlab.errors import FormlabError, NotAvailable
from formlab.show import say

if TYPE_CHECKING:
    from formlab.folders import Evaluation

# How many figures are printed without --all, and how many cases with it.
_FIGURES, _CASES = 5, 10
# Rows that make a source more than answers.
_ROLES = {"gold", "score", "figure"}


def is_log(path: Path) -> bool:
    """Whether a file or folder has scores or gold of its own beside answers."""
    from formlab import readers
    from formlab.readers.logs import NAMES
    from formlab.readers.rows import Source
    from formlab.readers.samples import ODD, names

    reader = readers.reader_of(path)
    if reader is None:
        known = names(path)
        return all(known & {*NAMES[name]} for name in ("gold", "value"))
    with suppress(FormlabError, *ODD):
        return any(row["role"] in _ROLES for row in islice(reader.read(Source(path)), 1000))
    return False


def evaluated(
    logs: tuple[Path, ...], benchmark: str | None, *, everything: bool, workers: int | str,
    out: Path | None, name: str | None, documents: str, **options: Any,
) -> Rows:  # fmt: skip
    """An evaluation of each run in logs, with the log's own figures beside formlab's."""
    from formlab import workers as processes
    from formlab.readers.logs import called, open_logs

    how = {key: options[key] for key in ("columns", "types", "root", "split")}
    how |= {"benchmark": benchmark, "documents": "all" if documents == "all" else "asked"}
    how |= {"name": name, "out": out} if len(logs) == 1 else {}
    if isinstance(workers, int):
        workers = min(workers, len(logs))
    paths = [log.resolve() for log in logs]
    found = dict(processes.each(partial(open_logs, **how), paths, workers=workers))
    for path, lost in found.items():
        if isinstance(lost, processes.Lost):
            what = f"the log cannot be read: {lost.reason}"
            raise NotAvailable(what, where=path, remedy="more memory")
    # In the order in which they were named, whichever was read first.
    opened = [(log, e) for log, path in zip(logs, paths, strict=True) for e in found[path]]
    systems, stems = Counter(name or evaluation.system for _, evaluation in opened), Counter()
    rows, tables = [], []
    for log, evaluation in opened:
        system, folder = name or evaluation.system, out
        # Two logs of one model are told apart by their files.
        system = system if systems[system] == 1 else f"{system} ({log.stem})"
        evaluation = called(evaluation, system)
        if out and len(opened) > 1:
            stems[log.stem] += 1
            folder = out / (log.stem + (f"-{n}" if (n := stems[log.stem]) > 1 else ""))
        # Of one log with one run it is saved already.
        if folder and len(opened) > 1:
            evaluation.save(folder)
        rows.append(_row(log, evaluation, folder))
        tables += _tables(rows[-1], everything=everything)
        say(evaluation.notes, left_out=evaluation.unreadable)
    hint = "--all prints cases that differ, --json everything"
    return Rows(rows, tables, hints=[] if everything else [hint])


def _row(log: Path, evaluation: Evaluation, folder: Path | None) -> dict[str, Any]:
    from formlab.readers.beside import differences, headlines, join_report, stated

    differ = differences(evaluation)
    counts = Counter(differ["why"].to_list() if differ.width and differ.height else [])
    return {
        "log": str(log),
        "format": stated(evaluation).get("format"),
        "system": evaluation.system,
        "benchmark": f"{evaluation.benchmark}:{evaluation.split}",
        "join": join_report(evaluation),
        "notes": evaluation.notes,
        "headlines": headlines(evaluation).to_dicts(),
        "differences": differ.to_dicts(),
        "why": dict(counts.most_common()),
        "out": None if folder is None else str(folder),
    }


def _tables(row: Mapping[str, Any], *, everything: bool) -> list[Table]:
    """The main number of a log's run, figures beside it, and with `everything` why they differ."""
    figures = [figure for figure in row["headlines"] if figure["by"] == "formlab"]
    title = f"{row['system']}, {row['benchmark']}, {row['log']}"
    if figures:
        last = figures[-1]
        title += f": {last['measure']} {last['value']:.4f} ({last['n']} samples)"
    tables: list[Table] = [(title, row["headlines"] if everything else row["headlines"][:_FIGURES])]
    if row["format"]:
        counts = ", ".join(f"{count} {word}" for word, count in row["join"].items())
        tables.append((f"samples: {counts}", []))
    if cases := row["differences"]:
        tables.append((f"{len(cases)} cases that the log and formlab count differently", []))
        if everything:
            tables.append(("", [{"cases": n, "why": why} for why, n in row["why"].items()]))
            tables.append((f"the first {min(_CASES, len(cases))} of them", cases[:_CASES]))
    if row["out"]:
        tables.append((f"saved in {row['out']}", []))
    return tables
