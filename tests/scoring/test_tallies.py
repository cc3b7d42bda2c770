"""Tallies by hand, and those of parts beside those of the whole."""

import pytest

from formlab.scoring.tallies import COUNTS as TALLY_COUNTS
from formlab.scoring.tallies import tallies
from formlab.tables import only
from tests.analysis.made_pairs import in_shards
from tests.analysis.test_finding_list import random
from tests.made_readings import read_as

__all__ = ["read_as"]
COUNTS = ["n_docs", "n_cases", "n_missing", "n_undefined"]


def test_sums_counts_and_slices_by_hand(read_as):
    # a has Name: (question), Ada Berg and an empty value (answers), b Total 9.00 (other).
    evaluation = read_as("x", a1="Ada Borg", b0=None)
    table = only(tallies(evaluation, ["kind"]), level="field", metric="exact_accuracy")
    # Of a Name: and the empty value are right, of b nothing.
    assert counted(only(table, asked=False)) == {
        None: ([2, 4, 1, 0], None, [2, 3, 0, 1]),
    }  # fmt: skip
    # Documents are numbered in the order of their names: b is number 1.
    assert counted(only(table, asked=True)) == {
        "answer": ([1, 2, 0, 0], [0], [1, 2]),
        "other": ([1, 1, 1, 0], [1], [0, 1]),
        "question": ([1, 1, 0, 0], [0], [1, 1]),
    }
    rates = only(tallies(evaluation, ["kind"]), level="field", metric="cer")
    # Of a 0 of 5 characters, 1 of 8 and, undefined, of none; of b all 10.
    assert counted(only(rates, asked=False)) == {None: ([2, 4, 1, 1], None, [1, 13, 10, 10])}
    assert counted(only(rates, slice_value="answer")) == {"answer": ([1, 2, 0, 1], [0], [1, 8])}


def counted(table):
    """Counts, documents and parts of each slice."""
    names = [*COUNTS, "documents", "parts"]
    rows = table.select("slice_value", *names).iter_rows()
    return {row[0]: (list(row[1:-2]), *row[-2:]) for row in rows}


@pytest.mark.parametrize("count", [2, 5])
def test_tallies_of_shards_together_are_those_of_the_whole(count):
    whole = random(5, cause=lambda right: None if right else "reader")
    mixed = in_shards(whole, count, seed=count)
    sums, counts = summed([whole])
    assert (sums, counts) == summed(mixed.shards())
    # Nine fields of each of sixteen documents; every wrong one is of the cause reader.
    key = ("field", None, None, "normalised_accuracy")
    wrong = whole.cases.filter(outcome="mismatch").height
    assert counts[key] == {
        "n_docs": 16, "n_cases": 144, "n_missing": 0, "n_undefined": 0, "n_reader": wrong,
        "n_ambiguous": 0,
    }  # fmt: skip
    assert sum(hits for (*scope, _), (hits, _) in sums.items() if tuple(scope) == key) == (
        144 - wrong
    )


def summed(shards):
    """The parts of each scope and document, and the counts of each scope."""
    sums, counts = {}, {}
    for shard in shards:
        ids = shard.documents["doc_id"].unique().sort().to_list()
        for row in tallies(shard, ["kind", "modality"]).iter_rows(named=True):
            scope = tuple(row[name] for name in ("level", "slice_by", "slice_value", "metric"))
            own = counts.setdefault(scope, dict.fromkeys(TALLY_COUNTS, 0))
            for name in TALLY_COUNTS:
                own[name] += row[name]
            numbers = range(len(ids)) if row["documents"] is None else row["documents"]
            for number, parts in zip(numbers, batched(row["parts"]), strict=True):
                sums[(*scope, ids[number])] = parts
    return sums, counts


def batched(parts):
    """Hits and total of each document."""
    return list(zip(parts[::2], parts[1::2], strict=True))
