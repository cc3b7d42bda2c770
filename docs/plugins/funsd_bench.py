"""A reader of one's own: logs of funsd-bench, ``results/parses/<image>.json`` and their figures.

The figures' file keeps only the first 500 characters of each text: the text is read from the
parses, and the gold is FUNSD's own, ``formlab score funsd --predictions LOG``.
"""

from functools import partial
from pathlib import Path

import formlab
from formlab.readers import door, samples

# As `results.json` calls them; for formlab the same figure of a document has the same name.
SCORES = ("cer", "wer", "word_match_accuracy")
FIGURES = {"cer_stats": "mean", "wer_stats": "mean", "word_match_accuracy": "mean, percent"}


def fits(path):
    """Whether a folder has parses, or is the folder of them."""
    return any(b'"success"' in door.head(file) for file in parses(path)[:1])


def parses(path):
    """The files of parses in a folder of results."""
    folders = [path / "results" / "parses", path / "parses", path]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    return sorted(folder.glob("*.json")) if folder else []


@formlab.reader("funsd_bench", title="funsd-bench's folder of parses", fits=fits)
def read(source):
    """The rows of a folder: the text of each page, and the figures of its document."""
    files = parses(source.path)
    results = files[0].parent.parent / "results.json"
    stated, scores = {}, {}
    if results.is_file():
        stated = door.decoded(door.Member.of(results).read(), dict, results)
        scores = {row["filename"]: row for row in stated.get("documents", ())}
    source.files += [results, *files] if stated else files
    entries = [(file.name, file) for file in files]
    sample = partial(sample_of, source, scores)
    yield from samples.sample_rows(source, "funsd", entries, sample)
    count = stated.get("summary", {}).get("successful_parses")
    for name, kind in FIGURES.items():
        if name in stated:
            scorer = name.removesuffix("_stats")
            yield samples.figure(scorer, kind, stated[name].get("mean"), n=count)


def sample_of(source, scores, file, _):
    """The sample of a page, which one file of parses is of."""
    system = file.resolve().parents[1].name
    try:
        parse = door.decoded(door.Member.of(file).read(), dict, file)
    except samples.ODD as error:
        # A document that cannot be read has failed; it is not left out.
        source.notes[samples.JOINED["unreadable"]] += 1
        call = {"error": str(error)}
        return samples.Sample(file.stem, None, status="api_error", system=system, call=call)
    is_done = parse.get("success") is True
    name = Path(parse.get("filename") or file.name).stem
    figures = scores.get(name, {}) if is_done else {}
    return samples.Sample(
        name,
        None,
        answer=text_of(parse),
        status="ok" if is_done else "api_error",
        system=system,
        scores={scorer: figures.get(scorer) for scorer in SCORES},
        call={
            "error": None if is_done else str(parse.get("error") or "success is false"),
            "seconds": (samples.number(parse.get("duration_ms")) or 0) / 1000,
        },
    )


def text_of(parse):
    """The text of a parse: its blocks, joined by a space; else what was extracted."""
    response = parse.get("response") or {}
    response = response.get("data") or response
    texts = []
    for chunk in response.get("result", {}).get("chunks", ()):
        blocks = [block.get("content") for block in chunk.get("blocks", ())]
        texts += blocks or [chunk.get("content")]
    return " ".join(text for text in texts if text) or parse.get("extracted_text")
