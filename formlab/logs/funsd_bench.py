"""Logs of funsd-bench: ``results/parses/<image>.json``, and ``results/results.json`` beside them.

The figures' file keeps only the first 500 characters of each text, so that the text is read from
the parses, and the gold is FUNSD's own: ``--benchmark funsd``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from formlab import files
from formlab.errors import DataBroken, FormlabError
from formlab.logs._samples import FIGURES, UNREADABLE, Row, Samples, number
from formlab.logs._spec import LogFormat, LogRun
from formlab.structure import checked

# As `results.json` calls them, with what formlab calls the same figure of a document.
_SCORES = {"cer": "cer", "wer": "wer", "word_match_accuracy": "word_match_accuracy"}
_STATED = {
    "cer_stats": "cer", "wer_stats": "wer", "word_match_accuracy": "word_match_accuracy, percent"
}  # fmt: skip


def detect(path: Path) -> bool:
    """Whether a folder has parses, or is the folder of them."""
    return next(_parses(path), None) is not None


def read(path: Path) -> list[LogRun]:
    """The one run in a folder: the text of each page.

    A parse without success is `api_error`; its document is in none of the means that are stated.

    Raises
    ------
    DataBroken
        If the figures' file cannot be read.
    """
    parses = sorted(_folder(path).glob("*.json"))
    results = parses[0].parent.parent / "results.json"
    stated = files.read_json(results) if results.is_file() else {}
    if not isinstance(stated, dict):
        raise DataBroken("the results are an object", where=results)
    name = parses[0].parent.parent.resolve()
    samples = Samples("funsd_bench", "funsd", [*([results] if stated else []), *parses])
    scores: dict[str, Row] = {}
    with samples.reading(results.name, FIGURES):
        scores |= {str(row.get("filename")): row for row in stated.get("documents") or ()}
    for file in parses:
        try:
            parse = checked(files.read_json(file), dict[str, Any], where=file)
        except FormlabError as error:
            samples.notes[UNREADABLE] += 1
            samples.add(file.stem, None, status="api_error", error=str(error), system=name.name)
            continue
        with samples.reading(file.name):
            _add(samples, file, parse, scores.get(file.stem, {}), name.name)
    with samples.reading(results.name, FIGURES):
        samples.headline += _headline(stated)
    return samples.runs()


def _parses(path: Path) -> Iterator[Path]:
    for file in filter(files.is_file, sorted(_folder(path).glob("*.json"))):
        start = files.read_bytes(file, 400)
        if b'"filename"' in start and b'"success"' in start:
            yield file


def _folder(path: Path) -> Path:
    below = (path / "results" / "parses", path / "parses", path)
    return next((candidate for candidate in below if candidate.is_dir()), path)


def _add(samples: Samples, file: Path, parse: Row, scores: Row, system: str) -> None:
    done = parse.get("success") is True
    seconds, named = number(parse.get("duration_ms")), parse.get("filename")
    name = named if isinstance(named, str) and named else file.stem
    samples.add(
        Path(name).stem, None, answer=text_of(parse),
        status="ok" if done else "api_error", origin=file.name, system=system,
        error=None if done else str(parse.get("error") or "success is false"),
        seconds=None if seconds is None else seconds / 1000,
        scores={ours: scores.get(theirs) for theirs, ours in _SCORES.items() if done and scores},
    )  # fmt: skip


def text_of(parse: Mapping[str, Any]) -> str | None:
    """The text of a parse: its blocks, joined by a space; else what was extracted."""
    response = parse.get("response") or {}
    response = response.get("data") or response
    parts: list[str] = []
    for chunk in (response.get("result") or {}).get("chunks") or ():
        blocks = chunk.get("blocks") or []
        texts = [block.get("content") for block in blocks] or [chunk.get("content")]
        parts += [str(text) for text in texts if text]
    return " ".join(parts).strip() or parse.get("extracted_text") or None


def _headline(stated: Row) -> Iterator[Row]:
    count = (stated.get("summary") or {}).get("successful_parses")
    for key, name in _STATED.items():
        mean = number((stated.get(key) or {}).get("mean"))
        if mean is not None:
            yield {"scorer": name.partition(",")[0], "metric": f"mean{name.partition(',')[2]}"
                   if "," in name else "mean", "value": mean, "n": count}  # fmt: skip
    exact = ((stated.get("entity_level") or {}).get("exact_match") or {}).get("micro_overall")
    if number(exact) is not None:
        yield {"scorer": "entity_exact_match", "metric": "micro, percent", "value": exact,
               "n": count}  # fmt: skip


FORMAT = LogFormat("funsd_bench", "funsd-bench's folder of parses", detect, read)
