"""Mutations of tables: their cells, columns and types."""

import io
import random

import polars as pl

from tests.fuzz.text_mutations import TEXTS, flipped


def cells(dice: random.Random, data: bytes) -> bytes:
    lines = data.decode("utf-8", "replace").split("\n")
    row = dice.randrange(len(lines))
    mark = "\t" if "\t" in lines[0] else ","
    cells = lines[row].split(mark)
    cell, what = dice.randrange(len(cells)), dice.randrange(6)
    if what < 3:
        cells[cell] = dice.choice(TEXTS)
    elif what == 3:
        del cells[cell]
    elif what == 4:
        cells.insert(cell, cells[cell])
    else:
        cells[cell] = f'"{cells[cell]}' + dice.choice(('"', "", '""', '"x', '\n"'))
    lines[row] = mark.join(cells)
    return "\n".join(lines).encode("utf-8", "surrogatepass")


def parquet(dice: random.Random, data: bytes) -> bytes:
    """The same table with another column, type, order or rows."""
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except pl.exceptions.PolarsError:
        return flipped(dice, data)
    if not frame.width:
        return data
    name, what = dice.choice(frame.columns), dice.randrange(9)
    column = pl.col(name)
    if what == 0:
        frame = frame.drop(name)
    elif what == 1:
        frame = frame.rename(
            {name: dice.choice([n for n in ("x", "", "doc_id ") if n not in frame.columns])}
        )
    elif what == 2:
        frame = frame.with_columns(pl.lit(None).alias(name))
    elif what == 3:
        kind = dice.choice(
            (pl.String, pl.Int8, pl.UInt64, pl.Float32, pl.Boolean, pl.Binary, pl.Date)
        )
        frame = frame.with_columns(column.cast(kind, strict=False))
    elif what == 4:
        word = dice.choice(("", "\x00", "x" * 70_000, "\u202e", "[", "../x", "nan"))
        frame = frame.with_columns(pl.lit(word).alias(name))
    elif what == 5:
        number = dice.choice((2**62, -1, float("nan"), float("inf")))
        frame = frame.with_columns(pl.lit(number).alias(name))
    elif what == 6:
        frame = pl.concat([frame, frame.sample(min(1, frame.height), seed=dice.randrange(99))])
    elif what == 7:
        frame = (
            frame.clear() if dice.random() < 0.3 else frame.slice(dice.randrange(frame.height + 1))
        )
    else:
        frame = frame.with_columns(pl.concat_list(column).alias(name))
    out = io.BytesIO()
    frame.write_parquet(out)
    return out.getvalue()
