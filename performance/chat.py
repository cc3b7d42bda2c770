"""Speed and memory of the client: 1,000 calls to a server that answers in 200 ms, 16 in flight.

Beside it, in the same run: the `openai` package alone in a pool of 16 threads, with no store, no
retries and no limits. Run it as ``python performance/chat.py``.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

CALLS, FLIGHT, DELAY = 1000, 16, 0.2
SERVER = Path(__file__).parents[1] / "tests" / "systems" / "scripted_server.py"
ANSWER = '{"answers": [{"id": "q", "answer": "yes", "confidence": 0.9}]}'


def formlab_run(url: str) -> tuple[int, float]:
    from formlab import benchmarks, tables
    from formlab.folders import Corpus
    from formlab.systems import chat

    page = benchmarks.load("formcraft").documents.to_dicts()[0]
    documents = [page | {"doc_id": str(n), "meta": None} for n in range(CALLS)]
    # Every question is another one: equal ones are asked once.
    asked = [
        {
            "benchmark": "formcraft", "split": "test", "doc_id": row["doc_id"], "role": "gold",
            "task": "vqa", "path": "/vqa/q", "status": "ok",
            "meta": json.dumps({"question": f"Is {row['doc_id']} on this form?"}),
        }
        for row in documents
    ]  # fmt: skip
    corpus = Corpus(
        tables.table("documents", documents), tables.table("records", asked),
        "formcraft", "test", benchmarks.SAMPLES / "formcraft",
    )  # fmt: skip
    settings = {"base_url": url, "concurrency": FLIGHT, "tasks": "vqa"}
    with tempfile.TemporaryDirectory() as out:
        start = time.perf_counter()
        made = chat.system("chat:m").run(corpus, out=out, settings=settings)
        seconds = time.perf_counter() - start
    return made.responses.filter(status="ok").height, seconds


def plain_run(url: str) -> tuple[int, float]:
    import openai

    client = openai.OpenAI(base_url=url, api_key="none", max_retries=0)

    def call(number: int) -> bool:
        said = [{"role": "user", "content": f"form {number}"}]
        done = client.chat.completions.create(model="m", messages=said)  # type: ignore[arg-type]
        return bool(done.choices[0].message.content)

    start = time.perf_counter()
    with ThreadPoolExecutor(FLIGHT) as pool:
        count = sum(pool.map(call, range(CALLS)))
    return count, time.perf_counter() - start


def main() -> None:
    if len(sys.argv) > 1:
        count, seconds = {"formlab": formlab_run, "openai": plain_run}[sys.argv[1]](sys.argv[2])
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        used = time.process_time()
        print(
            f"{sys.argv[1]:8} {count} answers {seconds:6.1f} s, {used:.1f} s of processor, "
            f"{peak:.0f} MiB"
        )
        return
    with subprocess.Popen(
        [sys.executable, SERVER, str(DELAY), ANSWER], stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
        for name in ("openai", "formlab"):
            quiet = os.environ | {"FORMLAB_REPORT": "1"}
            subprocess.run([sys.executable, __file__, name, url], check=True, env=quiet)
        server.terminate()


if __name__ == "__main__":
    main()
