"""What people see: rows as a table or JSON, notes, progress on stderr, and folders in notebooks."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Mapping
from itertools import islice
from types import MappingProxyType
from typing import Any

import click

# Files that were left out, rows of a table and characters of a value that are shown.
_FILES, ROWS, _LONGEST = 10, 5, 60


def plain(text: str) -> str:
    r"""`text` with control characters as escapes, as models and file names may have any."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def say(notes: Mapping[str, int], *, left_out: Mapping[str, str] = MappingProxyType({})) -> None:
    """Print counts of what was odd and why files were `left_out` to stderr."""
    for note, count in notes.items():
        click.echo(f"note: {plain(note)}: {count}", err=True)
    for file, reason in islice(left_out.items(), _FILES):
        click.echo(f"left out: {plain(file)}: {plain(reason)}", err=True)
    if len(left_out) > _FILES:
        click.echo(f"left out: {len(left_out) - _FILES} more", err=True)


def show(rows: list[dict[str, Any]], *, as_json: bool, title: str = "") -> None:
    """Print rows as a table under a title, or as a JSON array in which undefined is null."""
    if as_json:
        known = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in row.items()}
            for row in rows
        ]
        text = json.dumps(known, indent=1, ensure_ascii=False)
        # A terminal obeys U+009B too, which JSON leaves as it is.
        safe = (c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
        click.echo("".join(safe))
        return
    from rich.console import Console
    from rich.table import Table

    if title:
        click.echo(plain(title))
    table = Table(box=None, header_style="bold", pad_edge=False)
    for key in rows[0] if rows else ():
        numeric = all(isinstance(row[key], int | float) for row in rows)
        table.add_column(_cell(key), justify="right" if numeric else "left", no_wrap=numeric)
    for row in rows:
        table.add_row(*(_cell(value) for value in row.values()))
    # A file or a pipe has no width: nothing is cut or folded there.
    Console(width=None if sys.stdout.isatty() else 10_000, emoji=False).print(table)


def _cell(value: Any) -> str:
    from rich.markup import escape

    if value is None or isinstance(value, bool):
        return {None: "–", True: "yes", False: "no"}[value]
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.4f}"
    return escape(plain(str(value)))


def progress(text: str, *, shown: bool = True) -> Any:
    """How much is done of each task that is added, then `text`, with ``{task.fields[name]}``.

    A `rich.progress.Progress`: a bar in a terminal, a line for each tenth in a pipe or a log.
    """
    from rich import progress as rich
    from rich.console import Console

    class Lines(rich.Progress):
        def update(self, task_id: rich.TaskID, **changes: Any) -> None:
            task = self._tasks[task_id]
            before = task.percentage // 10
            super().update(task_id, **changes)
            if task.percentage // 10 > before:
                done = f"{task.description}: {task.completed:.0f}/{task.total:.0f} "
                click.echo(plain(done + text.format(task=task)), err=True)

    console = Console(stderr=True)
    # No moving bar in a report.
    shown = shown and os.environ.get("FORMLAB_REPORT") != "1"
    if shown and not (console.is_terminal or console.is_jupyter):
        return Lines(disable=True)
    name, done = rich.TextColumn("{task.description}", markup=False), rich.MofNCompleteColumn()
    columns = name, rich.BarColumn(), done, rich.TextColumn(text), rich.TimeRemainingColumn()
    return rich.Progress(*columns, console=console, disable=not shown)


_NEXT = {
    "Corpus": "formlab.evaluate(corpus, formlab.read_predictions(PATH, corpus))",
    "Predictions": "formlab.evaluate(corpus, predictions)",
    "Evaluation": "formlab.summarise(evaluation)",
}
_HTML = """<div><p><b>{{ name }}</b><br>{{ counts | join(", ") }}</p>
{% if noted %}<p>Noted:</p><ul>{% for n in noted %}<li>{{ n }}</li>{% endfor %}</ul>{% endif %}
<table><thead><tr>{% for n in rows.columns %}<th>{{ n }}</th>{% endfor %}</tr></thead><tbody>
{% for row in rows.rows() %}<tr>{% for cell in row %}<td>{{ cell | short }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table>
{% if height > rows.height %}<p>{{ rows.height }} of {{ "{:,}".format(height) }} rows</p>{% endif %}
<p>Next: <code>{{ next }}</code></p></div>"""


def line(folder: Any) -> str:
    """What a folder is, and how many documents, values and flaws it has, on one line."""
    kind = type(folder).__name__
    if (facts := _facts(folder)) is None:
        return f"{kind} with tables of other schemas; check() says which"
    noted = [_count(len(facts["noted"]), "flaw" if kind == "Corpus" else "note")]
    return f"{facts['name']}: {', '.join(facts['counts'] + noted * bool(facts['noted']))}"


def html(folder: Any) -> str:
    """The same with what was noted, the first values and what to call next; text is escaped."""
    import jinja2

    if (facts := _facts(folder)) is None:
        return f"<p>{line(folder)}</p>"
    noted = [f"{_short(what)}: {count:,}" for what, count in facts["noted"].items()]
    left_out = islice(getattr(folder, "unreadable", {}).items(), ROWS)
    noted += [f"left out: {_short(file)}: {plain(reason)}" for file, reason in left_out]
    templates = jinja2.Environment(autoescape=True)
    templates.filters["short"] = _short
    shown = facts | {"noted": noted, "next": _NEXT[type(folder).__name__]}
    return templates.from_string(_HTML).render(shown)


def _facts(folder: Any) -> dict[str, Any] | None:
    """Name, counts in words, notes, first values and their number; None for other schemas."""
    import polars as pl

    from formlab import tables

    kind, counts = type(folder).__name__, []
    try:
        if kind == "Evaluation":
            name = f"of {folder.system} on {folder.benchmark}:{folder.split} ({folder.mode})"
            count, noted = folder.scan("documents").select(pl.len()).collect().item(), folder.notes
            values = folder.scan("cases").filter(~pl.col("level").is_in(tables.WHOLE_LEVELS))
            outcomes = dict(values.group_by("outcome").len().collect().iter_rows())
            height, noun = sum(outcomes.values()), "field"
            counts = [f"{outcomes[n]:,} {n}" for n in tables.OUTCOMES if n in outcomes]
            columns = ("doc_id", "path", "kind", "gold", "pred", "outcome", "cause")
            rows = values.select(columns).head(ROWS).collect()
        else:
            values = folder.records.filter(pl.col("path").is_not_null())
            # Words and links are evidence; an engine that reads pages gives nothing else.
            claims = values.filter(pl.col("task") != "layout")
            rows = (claims if claims.height else values).select("doc_id", "path", "kind", "value")
            height, rows = rows.height, rows.head(ROWS)
            if kind == "Corpus":
                name, noted = f"{folder.benchmark}:{folder.split}", folder.flaws
                count, noun = folder.documents.height, "gold value"
            else:
                name, noted, noun = f"of {folder.system}", folder.notes, "value"
                count = folder.records["doc_id"].n_unique()
                failed = folder.responses.filter(~pl.col("status").is_in(tables.USABLE)).height
                counts = [f"{failed:,} failed"] if failed else []
    except (AttributeError, pl.exceptions.PolarsError):
        return None
    counts = [_count(count, "document"), _count(height, noun), *counts]
    # Types that were inferred are no flaws.
    noted = {note: n for note, n in noted.items() if tables.INFERRED not in note}
    name = plain(f"{kind} {name}")
    return {"name": name, "counts": counts, "noted": noted, "rows": rows, "height": height}


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _short(value: Any) -> str:
    text = "–" if value is None else plain(str(value))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
