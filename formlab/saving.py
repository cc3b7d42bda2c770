"""What formlab keeps on disk: folders, replaced whole by two renames, and slow results."""

import dataclasses
import json
import os
import re
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import msgspec

from formlab import files
from formlab.errors import DataBroken, DataMissing, FormlabError, NotAvailable

# How many values were taken, and the seconds that this saved: their difference is what a page took.
reused: ContextVar[tuple[int, float]] = ContextVar("reused", default=(0, 0.0))
FORMAT, MANIFEST = 3, "manifest.json"
ANEW = "the formlab command that wrote this folder again, or a fresh copy of the whole folder"
_PART = r"^([0-9]{5,}|documents|records|responses)\.parquet$"
# What formlab writes into such a folder, in this format and in older ones.
_TABLE = "(documents|cases|scores|records|responses|tallies|columns)"
_OURS = re.compile(rf"(\w+/)*((manifest|source)\.json|{_TABLE}(/\d{{5,}})?\.parquet)")


@contextmanager
def replacing(folder: str | Path) -> Iterator[Path]:
    """A new folder beside `folder`, which takes its place when the block ends well."""
    folder = Path(os.path.realpath(folder))
    files.make_folder(folder.parent)
    with files.writing(folder):
        if settled(folder).is_file():
            folder.mkdir()  # The error of the system.
        before = _saved(folder)
        files.sweep(files.parts_beside(folder))
        part = folder.with_name(files.part_name(folder.name))
        part.mkdir()
        try:
            yield part
            if _saved(folder) != before:
                print(f"note: {folder}: what another process saved is replaced", file=sys.stderr)
            # Another writer, or a reader that puts the old one back, may be quicker.
            while part.exists():
                old = folder.with_name(files.part_name(folder.name, suffix=".old"))
                with suppress(FileNotFoundError):
                    folder.rename(old)
                try:
                    part.rename(folder)
                except OSError:
                    if not folder.is_dir():
                        raise
                shutil.rmtree(old, ignore_errors=True)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _saved(folder: Path) -> tuple[int, int] | None:
    """Which manifest stands in `folder`; `DataBroken` if files that are not formlab's do, too."""
    # Folders may go while they are read.
    names = [
        Path(place, name).relative_to(folder).as_posix()
        for place, folders, names in os.walk(folder)
        for name in [*names, *(name for name in folders if Path(place, name).is_symlink())]
    ]
    state = None
    with suppress(OSError):
        state = (folder / MANIFEST).stat()
    if strangers := sorted(name for name in names if not (state and _OURS.fullmatch(name))):
        what = f"this folder has files that formlab has not written: {', '.join(strangers[:3])}"
        raise DataBroken(what, where=folder, remedy="another --out, or move them away")
    return state and (state.st_ino, state.st_mtime_ns)


def settled(folder: Path) -> Path:
    """`folder`; what a save that was killed between its two renames moved away is put back."""
    if not folder.exists():
        old = [path for path in files.parts_beside(folder) if path.suffix == ".old"]
        with suppress(OSError, ValueError):
            max(old, key=lambda path: path.stat().st_mtime_ns).rename(folder)
    return folder


def is_hidden(path: Path, folder: Path) -> bool:
    """Whether a file below `folder` belongs to what is being saved, or was replaced."""
    names = path.relative_to(folder).parts
    return any(name[0] == "." and name.endswith((".part", ".old")) for name in names)


def home_of(folder: Path) -> Path:
    """Where the tables are: a run keeps them in ``predictions``, beside its journal."""
    is_run = (folder / "run.json").is_file() and not (folder / MANIFEST).is_file()
    return folder / "predictions" if is_run else folder


def read_manifest(kind: Any, folder: Path) -> tuple[Path, dict[str, Any]]:
    """Where the tables of `folder` are, and their manifest, of this kind and format."""
    home = settled(home_of(folder))
    if not files.is_file(file := home / MANIFEST):
        what = "a file, not a folder" if folder.is_file() else "no such folder"
        what = f"this folder holds no {kind.__name__.lower()}" if folder.is_dir() else what
        remedy = "formlab score GOLD --predictions FILE --out FOLDER, or formlab run"
        raise DataMissing(what, where=folder, remedy=remedy)
    manifest = files.read_json(file, dict[str, Any], remedy=ANEW)
    stated, number = manifest.get("kind"), manifest.get("format", 1)
    if stated != kind.__name__:
        what = f"this folder holds {stated or 'something else'}, not {kind.__name__}"
        raise DataBroken(what, where=file, remedy="the --out of another formlab command")
    if number == 1 and not kind.MEMBERS:
        # Each table was a file, described by an object. Read until 0.4.
        saved = files.convert(manifest.get("tables"), dict[str, dict], where=file, remedy=ANEW)
        manifest["tables"] = {
            table: [[f"{table}.parquet", old.get("rows"), old.get("sha256")]]
            for table, old in saved.items()
        }
    elif number != FORMAT:
        what = f"this {stated} is of format {number}; this version reads format {FORMAT}"
        remedy = _score_command(manifest, folder) if kind.MEMBERS else ANEW
        raise DataBroken(what, where=file, remedy=remedy)
    manifest = {"plugins": [], "members": {}} | manifest
    files.convert(manifest, _structure(kind), where=file, remedy=ANEW)
    parts = {tuple(n for n, *_ in manifest["tables"].get(table, [])) for table in kind.TABLES}
    if () in parts or (number == FORMAT and len(parts) > 1):
        raise DataBroken("its tables have different parts", where=file, remedy=ANEW)
    return home, manifest


@cache
def _structure(kind: Any) -> type[msgspec.Struct]:
    """The structure of the manifest of a kind of folder."""
    hints = get_type_hints(kind) | {"root": str | None}
    needed = [f.name for f in dataclasses.fields(kind) if f.default is f.default_factory]
    fields = [(n, hints[n]) if n in needed else (n, hints[n], None) for n in kind.scalars()]
    parts = dict[str, list[tuple[Annotated[str, msgspec.Meta(pattern=_PART)], int, str]]]
    fields += [("tables", parts), ("plugins", list[dict[str, str]]), ("members", dict[str, str])]
    return msgspec.defstruct(kind.__name__, fields, kw_only=True)


def check_unchanged(file: Path, sha256: str) -> None:
    """`DataBroken` if a file is not as it was saved."""
    if files.sha256(file) != sha256:
        raise DataBroken("this file has changed since it was saved", where=file, remedy=ANEW)


def _score_command(manifest: Mapping[str, Any], folder: Path) -> str:
    """The command that makes an evaluation of an older format with this version."""
    settings, is_own = manifest.get("settings") or {}, manifest.get("benchmark") == "own"
    folder = folder.resolve()
    gold, answers = manifest.get("split" if is_own else "benchmark"), folder / "predictions"
    chosen = {"answered": "answered", "listed": "FILE"}
    with suppress(FormlabError, LookupError, TypeError, ValueError):
        if is_own:  # The kept corpus has the name of a user's file, mostly in a folder above.
            (gold,) = files.read_json(folder / "corpus" / MANIFEST)["sources"]
            gold = next(filter(files.is_file, (home / gold for home in folder.parents)), gold)
    options = {"images" if is_own else "root": manifest.get("root"), "mode": manifest.get("mode")}
    options |= {} if is_own else {"split": manifest.get("split")}
    options["predictions"] = answers if (answers / MANIFEST).is_file() else "PREDICTIONS"
    options["documents"] = chosen.get(str(settings.get("documents")).partition(":")[0])
    options |= {"reader": settings.get("reader"), "out": "FOLDER"}
    words = [f"--{name} {shlex.quote(str(word))}" for name, word in options.items() if word]
    return " ".join(["formlab score", shlex.quote(str(gold or "GOLD")), *words])


def kept(name: str, key: Any, make: Callable[[], Any]) -> Any:
    """The JSON value of `key` in a folder of the cache, else what `make` gives, which is kept."""
    if os.environ.get("FORMLAB_NO_CACHE"):
        return json.loads(json.dumps(make()))
    file, start = files.cache_folder() / name / f"{files.key_of(key)}.json", time.perf_counter()
    with suppress(FormlabError, OSError):  # What is damaged is made again.
        seconds, found = files.read_json(file, tuple[float, Any])
        os.utime(file)
        count, saved = reused.get()
        reused.set((count + 1, saved + seconds - (time.perf_counter() - start)))
        return found
    start, made = time.perf_counter(), make()
    text = json.dumps([time.perf_counter() - start, made])
    with suppress(NotAvailable):  # A cache to which nothing can be written is none.
        files.write_text(file, text)
        drop_oldest(file.parent)
    return json.loads(text)[1]


def run_folder(name: str) -> Path:
    """The folder for the run of this name over a sample; a new one has older ones make room."""
    folder = files.cache_folder() / "runs" / name
    if folder.exists():
        os.utime(folder)
    else:
        drop_oldest(folder.parent)
    return folder


@cache
def drop_oldest(folder: Path, gigabytes: float = 2.0) -> None:
    """Drop the entries not used for the longest time, down to this size; once in each process."""
    left = gigabytes * 1e9
    with suppress(OSError):  # Other processes may drop them meanwhile.
        for path in sorted(folder.glob("*"), key=lambda path: path.stat().st_mtime, reverse=True):
            left -= sum(file.stat().st_size for file in (path, *path.rglob("*")) if file.is_file())
            if left < 0:
                files.remove(path)
