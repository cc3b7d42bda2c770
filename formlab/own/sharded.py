"""Gold and answers of any size: cut into shards of whole documents, each read on its own.

A plan is made once, with little memory: the rows of both sides are partitioned into Parquet files
of one shard each, and what depends on the whole (which columns are what, which paths are lists,
the types, how answers name documents) is decided and written beside them. Any process then opens
any shard; together the shards are what `own.pair` of the whole is.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from formlab.folders import Corpus, Predictions

# How many gold records a shard has at most, unless one document has more.
RECORDS = 20_000
# The name of the shard of answers to documents that the gold does not have.
STRANGE = "strange"


@dataclasses.dataclass(frozen=True)
class Plan:
    """The shards of gold and answers, in the order in which the gold names their documents.

    Each of `sources` is plain data, valid as JSON, that `open` makes a corpus and predictions of,
    in any process that sees `folder`: ``folder`` and ``shard`` (its name: ``00000``, ``00001`` …,
    and ``strange`` last for answers to documents that the gold does not have, where there are any:
    a corpus without documents); ``documents``, ``records`` and ``answers``, which count it; and
    ``digest``, the same exactly if gold, answers and all arguments are. Flaws and notes of the
    shards sum to those of the whole; `sources` of the opened folders name the user's own files.

    `split`, `system` and `root` are those of every shard. Which kinds of records there are is
    not in the plan: whoever needs it merges it from opened shards.
    """

    folder: Path
    split: str
    system: str
    root: Path | None
    sources: list[dict[str, Any]]

    @property
    def documents(self) -> int:
        """How many documents the gold has."""
        return sum(source["documents"] for source in self.sources)


def plan(
    gold: Any,
    answers: Any,
    *,
    folder: str | Path,
    images: str | Path | None = None,
    types: Any = None,
    columns: Mapping[str, str] | None = None,
    records: int = RECORDS,
) -> Plan:
    """Gold and answers partitioned by document into `folder`, as `own.pair` would read them.

    A plan in `folder` that was made of the same files with the same arguments stays as it is; any
    other is replaced.

    Parameters
    ----------
    gold, answers
        As for `own.pair`. CSV, TSV, JSON lines, Parquet and folders of JSON are read in pieces,
        with memory that does not grow with them; workbooks and single JSON files as a whole.
    folder
        Where the partition goes; it takes about as much space as the files themselves.
    images, types, columns
        As for `own.pair`.
    records
        How many gold records a shard has at most; a document is never cut.

    Raises
    ------
    DataMissing, DataBroken, UnknownName
        As for `own.pair`.
    """
    raise NotImplementedError


def open(source: Mapping[str, Any]) -> tuple[Corpus, Predictions]:  # noqa: A001
    """The corpus and the predictions of one shard of a plan, its documents in the gold's order.

    Raises
    ------
    DataMissing, DataBroken
        If the folder of the plan is not there, or damaged.
    """
    raise NotImplementedError
