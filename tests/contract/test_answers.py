"""A model's text is one answer by whatever door it comes."""

import json
from pathlib import Path

import polars as pl

from tests.contract.doors import SCORE, WORDS, cli, long_table, rows, value
from tests.contract.test_models import ADA, completion, server  # noqa: F401

NAME, DATE, TOTAL = ADA.values()
WHOLE = json.dumps(ADA)
WRONG = json.dumps(dict(zip(ADA, (TOTAL, NAME, DATE), strict=True)))
CALL = {"id": "1", "type": "function", "function": {"name": "send", "arguments": WHOLE}}
# Each text with the share of its three fields that are right: a draft is none, whatever its size.
TEXTS = {
    f"<think>```json\n{WRONG}\n```</think>It is:\n```json\n{WHOLE}\n```": 1,
    f"Perhaps {WRONG} is it?\n</thinking>\n\n{WHOLE[:-1]}": 1,
    f"First {WHOLE[:-1]}, {WRONG[1:]} and, corrected, {WHOLE}": 1,
    f"<think>{WHOLE}": 0, f"```json\n{WHOLE[:-1]}\n```": 1, WRONG: 0,
    json.dumps({"tool_calls": [CALL]}): 1,
}  # fmt: skip


def test_b01_one_text_has_one_score_through_every_door(server):  # noqa: F811
    long_table({"form-1": ADA}).write_csv("truth.csv")
    for number, (text, right) in enumerate(TEXTS.items()):
        for column in ("prediction", "output", "text"):
            frame = pl.DataFrame({"doc_id": ["form-1"], column: [text], "gold": [WHOLE]})
            frame.drop("gold").write_csv(f"{column}.csv")
            frame.with_columns(seconds=1).drop("gold").write_ndjson(f"{column}.jsonl")
        for ending in ("txt", "json"):
            Path(f"{number}-{ending}").mkdir()
            Path(f"{number}-{ending}/form-1.{ending}").write_text(text)
        server.replies = [completion(content=text)]
        server.run[server.run.index("--out") + 1] = f"{number}-run"
        cli(*server.run)
        doors = ["text.csv", "output.csv", "prediction.jsonl", f"{number}-txt", f"{number}-json"]
        for door in (*doors, f"{number}-run"):
            # A run of one document whose answer is cut off has nothing to score at all.
            if door.endswith("run") and text.startswith("<think>{"):
                continue
            table = rows(*SCORE, door, "--resamples", 0)
            assert value(table, "match_f1") == right, (text, door)
        frame.write_csv("log.csv")
        (log,) = rows(*WORDS["score a log"], "log.csv", "--columns", "value=text")
        ours = {row["measure"]: row["value"] for row in log["headlines"] if row["by"] == "formlab"}
        assert right in ours.values(), (text, ours)
