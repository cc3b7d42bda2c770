"""The command line: arguments of every kind, one a line of ``arguments.txt``."""

import contextlib
import re
from functools import partial
from pathlib import Path

from click.testing import CliRunner

from formlab.cli import main
from tests.fuzz.targets import arena, formats, own_data, own_files, review
from tests.fuzz.targets import benchmarks as made
from tests.fuzz.targets.common import put
from tests.fuzz.verdicts import Found, Refused, Target

OWN = "gold.csv --predictions answers.csv --resamples 0"
LINES = {
    "score": "score funsd --root gold --predictions answers/p.jsonl --resamples 0 --out x",
    "score own": f"score {OWN} --types types.yaml --columns doc_id=doc_id --documents 2",
    "run": "run funsd --root gold --system rules --documents 1 --out out --set zoom=1.0 --name x",
    "run chat": "run funsd --root gold --system chat:m --base-url http://127.0.0.1:9/v1 "
    "--documents 1 --out out --set max_calls=1 --max-cost 0.1 --set temperature=0 --set samples=1 "
    "--set attempts=1 --set timeout=1 --set prices=prices.csv",
    "log": "score answers.csv --columns doc_id=doc_id,gold=value,value=value --name s --out out",
    "compare": "compare saved saved2 --resamples 9 --metric cer --by kind",
    "over time": "compare . --over-time --resamples 9 --metric cer --seed 1",
    "list": "list benchmarks --json",
    "sums": "facts sums pages --all",
    "judge check": "facts check raw.json --root pages --predictions pages --out out",
    "annotate check": "annotate check export.json --json",
    "annotate agreement": "annotate agreement export.json --level token --ratings ratings.csv",
    "annotate queue": "annotate queue export.json --threshold 1.0 --out queue.jsonl",
    "annotate sample": "annotate sample --root pages --share 0.5 --every 2 --out sample.csv",
    "annotate tasks": "annotate tasks --root pages --out tasks --label Number",
    "formcraft accept": "formcraft accept --drafts . --reviews decided --root forms --out out",
    "arena score": "arena score arena --resamples 0 --by kind --out out",
    "arena design": "arena design fields=2,3 kinds=1,2 --runs 2 --seed 1 --out out",
    "design": "design fields=2 kinds=1 --layout funsd --seed 1 --out out",
    "sweep": "sweep funsd --root gold --system rules --set zoom=1.0,2.0 --documents 1 --out out",
    "stress": "stress funsd --root gold --system rules --vary blur=0:1:2 --pages 1 --resamples 0",
    "init": "init new",
}
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
# Ends with a server or a browser that waits for people.
_NEVER = {"serve", "record", "fill", "report", "filing", "write"}


def _make(line: str, folder: Path) -> None:
    put(folder, "arguments.txt", line.replace(" ", "\n"))
    made.funsd(folder / "gold")
    (folder / "answers").mkdir()
    formats._plain(folder / "answers")
    own_data._table("csv", folder)
    put(folder, "types.yaml", own_data.FIELDS)
    review._studio(folder)
    review._drafts(folder, ("lease",))
    review._decisions(folder)
    made.formcraft(folder / "forms")
    arena._run(folder)
    (folder / "run").rename(folder / "arena")
    put(folder, "prices.csv", own_files.PRICES["prices.csv"])
    put(folder, "raw.json", {"0": {"entity_diagnostics": []}})
    put(folder, "pages/gold_0.txt", "<p>Net sales <number>4,310</number></p>")
    put(folder, "pages/pred_0.txt", "Net sales 4,310")
    put(folder, "table.csv", "a,b\n1,2\n")
    put(folder, "text.txt", "hello")
    (folder / "empty").mkdir()
    if line.startswith("compare"):
        for name in ("saved", "saved2"):
            home = folder / "home" / name
            home.mkdir(parents=True)
            own_files._evaluation(home)
            (home / "saved").rename(folder / name)


def _read(folder: Path) -> Found:
    words = (folder / "arguments.txt").read_bytes().decode("utf-8", "surrogateescape").split("\n")
    words = [word.replace("\x00", "") for word in words]
    if _NEVER & set(words) or _many(words):
        return Found()
    with contextlib.chdir(folder):
        result = CliRunner().invoke(main, words)
    error = result.exception
    if error is not None and not isinstance(error, SystemExit):
        raise error
    # What moves a cursor or changes colours is of no use to anybody but who made the input.
    if control := _CONTROL.search(result.output + result.stderr):
        raise AssertionError(f"{control[0]!r} is printed: {result.output[-300:]!r}")
    if result.exit_code not in (0, 1, 2):
        raise AssertionError(f"exit code {result.exit_code}: {result.output[-300:]}")
    if result.exit_code:
        said = result.stderr or result.output
        raise Refused(said, named=bool(said.strip()) and "Traceback" not in said)
    return Found()


def _many(words: list[str]) -> bool:
    """Whether processes are asked for: the bench starts none."""
    return any(word.startswith(("--work", "--sched")) for word in words)


TARGETS = [
    Target(f"command/{name}", partial(_make, line), _read, only="^arguments.txt$")
    for name, line in LINES.items()
]
