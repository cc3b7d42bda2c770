"""The values of a source of any size: read in pieces, then written into one folder a shard."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from formlab import files
from formlab.folders import Predictions
from formlab.readers.types import samples
from formlab.readers.values import first_items, pieces

# The name of the shard of answers to documents that the gold does not have.
STRANGE = "strange"
# How many rows wait before they are written.
_WAITING = 300_000
# The values of no document: their columns.
_EMPTY = "columns.parquet"


class Side:
    """Gold or answers, read once from end to end: what of it concerns the whole.

    The values stand in files in `folder`, in the order of the source, until `partition`.
    """

    def __init__(self, source: Any, columns: Mapping[str, str], folder: Path) -> None:
        self.folder = folder
        self.columns: list[str] = []
        self.lists: list[str] = []
        self.listed_paths = pl.Series(dtype=pl.String)
        self.flaws: Counter[str] = Counter()
        # How many values have each task, and the systems that are named.
        self.tasks: Counter[str] = Counter()
        self.systems: set[str] = set()
        self.samples: pl.DataFrame | None = None
        self._documents: list[pl.DataFrame] = []
        self._pieces: list[Path] = []
        for values in pieces(source, columns, self.flaws):
            self._add(values)

    def _add(self, values: pl.DataFrame) -> None:
        file = self.folder / f"{len(self._pieces):06}.parquet"
        self.folder.mkdir(parents=True, exist_ok=True)
        values.write_parquet(file, compression="lz4")
        self._pieces.append(file)
        self.columns = list(dict.fromkeys([*self.columns, *values.columns]))
        named = values.filter(pl.col("path").is_not_null())
        self.samples = samples(named, self.samples)
        if "task" in values.columns:
            task = named["task"].fill_null("text")
            self.tasks.update(dict(task.value_counts().rows()))
        else:
            self.tasks["text"] += named.height
        if "system" in values.columns:
            self.systems |= set(values["system"].drop_nulls().unique())
        is_named = "image" in values.columns
        has_image = pl.col("image").is_not_null().any() if is_named else pl.lit(False)
        self._documents.append(
            values.group_by("doc_id", maintain_order=True).agg(
                n=pl.col("path").is_not_null().sum().cast(pl.Int64),
                has_image=has_image,
            )
        )  # fmt: skip

    @cached_property
    def documents(self) -> pl.DataFrame:
        """The documents in the order of their first appearance, with how many values each has."""
        both = pl.concat(self._documents)
        return both.group_by("doc_id", maintain_order=True).agg(
            pl.col("n").sum(), pl.col("has_image").any()
        )  # fmt: skip

    def partition(self, shards: pl.DataFrame, out: Path) -> None:
        """Write the values of each document into the folder of its shard in `out`.

        `shards` has the columns doc_id, name (what the document is called from now on) and shard,
        the number of a shard, null for `STRANGE`.
        What `lists` and `listed_paths` are is known from then on.
        """
        waiting: dict[int, list[pl.DataFrame]] = {}
        count = rows = 0
        for file in self._pieces:
            values = pl.read_parquet(file, glob=False)
            file.unlink()
            if not count:
                out.mkdir(parents=True, exist_ok=True)
                values.clear().write_parquet(out / _EMPTY)
            place = values.select("doc_id").join(shards, on="doc_id", maintain_order="left")
            values = values.with_columns(place["name"].alias("doc_id"))
            for number, some in by_shard(values, place["shard"]):
                waiting.setdefault(number, []).append(some)
            rows, count = rows + values.height, count + 1
            if rows >= _WAITING or file == self._pieces[-1]:
                for number, frames in waiting.items():
                    part = out / name_of(number) / f"{count:06}.parquet"
                    part.parent.mkdir(exist_ok=True)
                    pl.concat(frames, how="diagonal").write_parquet(part, compression="lz4")
                waiting, rows = {}, 0
        shutil.rmtree(self.folder)
        most = pl.DataFrame(schema={"path": pl.String, "len": pl.UInt32})
        for folder in sorted(path for path in out.iterdir() if path.is_dir()):
            keyed = shard_of(folder, ["doc_id", "path"]).drop_nulls("path")
            counts = (
                keyed.group_by("doc_id", "path").len().group_by("path").agg(pl.col("len").max())
            )
            most = pl.concat([most, counts]).group_by("path").agg(pl.col("len").max())
        several = set(most.filter(pl.col("len") > 1)["path"])
        self.lists = sorted(first_items(most["path"]) | several)
        is_list = pl.col("path").is_in(self.lists)
        items = most.filter(is_list).with_columns(pl.int_ranges("len").alias("len")).explode("len")
        items = items.select(pl.format("{}/{}", "path", "len"))
        self.listed_paths = pl.concat([most.filter(~is_list)["path"], items.to_series()])


def partition_run(predictions: Predictions, shards: pl.DataFrame, out: Path) -> pl.DataFrame:
    """Write the tables of a run by shards, as `Side.partition` does values; how many each has."""
    counts = []
    for table in Predictions.TABLES:
        frame = getattr(predictions, table)
        files.write_parquet(out / f"{table}.parquet", frame.clear())
        place = frame.select("doc_id").join(shards, on="doc_id", how="left", maintain_order="left")
        for number, some in by_shard(frame, place["shard"]):
            files.write_parquet(out / name_of(number) / f"{table}.parquet", some)
            counts.append((None if number < 0 else number, some.height * (table == "records")))
    schema = {"shard": pl.Int64, "answers": pl.Int64}
    return pl.DataFrame(counts, schema=schema, orient="row").group_by("shard").sum()


def tables_of_run(folder: Path) -> dict[str, pl.DataFrame]:
    """The tables that `partition_run` wrote for a shard; without rows where there are none."""
    named = {name: folder / f"{name}.parquet" for name in Predictions.TABLES}
    return {
        name: files.read_parquet(file if file.is_file() else folder.parent / file.name)
        for name, file in named.items()
    }


def by_shard(frame: pl.DataFrame, shard: pl.Series) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of each shard, whose number every row has in `shard`, in their order."""
    shard, start = shard.fill_null(-1), 0
    order = shard.to_numpy().argsort(kind="stable")
    frame = frame[order]
    for size, number in shard[order].rle().struct.unnest().rows():
        yield number, frame[start : start + size]
        start += size


def name_of(shard: int | None) -> str:
    """The name of a shard by its number."""
    return STRANGE if shard is None or shard < 0 else f"{shard:05}"


def shard_of(folder: Path, columns: list[str] | None = None) -> pl.DataFrame:
    """The values of a shard, none where it has none."""
    parts = sorted(folder.glob("*.parquet"))
    read = (pl.read_parquet(part, columns=columns, glob=False) for part in parts)
    empty = pl.read_parquet(folder.parent / _EMPTY, columns=columns, glob=False)
    return pl.concat([empty, *read], how="diagonal")
