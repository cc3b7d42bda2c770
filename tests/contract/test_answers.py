"""A model's text is one answer by whatever door it comes."""

import json
from pathlib import Path

import polars as pl

import formlab
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
    f"<think>{WHOLE}": 0, f"```json\n{WHOLE[:-1]}\n```": 1, WRONG: 0, f'{WHOLE} {{"score": 1}}': 1,
    json.dumps({"tool_calls": [CALL]}): 1,
}  # fmt: skip


def test_b01_one_text_has_one_score_through_every_door(server):  # noqa: F811
    texts = {f"form-{number}": text for number, text in enumerate(TEXTS)}
    right = dict(zip(texts, TEXTS.values(), strict=True))
    long_table(dict.fromkeys(texts, ADA)).write_csv("truth.csv")
    frame = pl.DataFrame({"doc_id": texts.keys(), "text": texts.values(), "gold": WHOLE})
    for column in ("text", "output"):
        frame.select("doc_id", pl.col("text").alias(column)).write_csv(f"{column}.csv")
    frame.select("doc_id", prediction="text", seconds=1).write_ndjson("prediction.jsonl")
    for ending in ("txt", "json"):
        Path(ending).mkdir()
        for name, text in texts.items():
            Path(f"{ending}/{name}.{ending}").write_text(text)
            Path(f"{name}.txt").write_text(f"page {name}")
    server.replies = [completion(content=text) for text in texts.values()]
    cli(*server.run)
    for door in ("text.csv", "output.csv", "prediction.jsonl", "txt", "json", "run"):
        table = rows(*SCORE, door, "--resamples", 0, "--by", "doc_id", "--all")
        assert {name: value(table, "match_f1", slice_value=name) for name in texts} == right, door
    frame.write_csv("log.csv")
    (log,) = rows(*WORDS["score a log"], "log.csv", "--columns", "value=text", "--out", "log")
    fields = formlab.open_evaluation(log["out"]).fields.group_by("doc_id")
    assert dict(fields.agg((pl.col("outcome") == "match").mean()).rows()) == right
    # How a file is read rests on all that stands in it: each text is alone in one, too.
    for text, share in TEXTS.items():
        answer = pl.DataFrame({"doc_id": "a", "prediction": text, "seconds": 1})
        alone = formlab.evaluate({"a": ADA}, answer).fields["outcome"] == "match"
        assert alone.to_list() == [share == 1] * 3, text
