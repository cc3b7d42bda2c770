"""The pages of an experiment are read and scored as those of any benchmark."""

from pathlib import Path
from typing import Any

from formlab import benchmarks, systems
from formlab.folders import Corpus, Evaluation
from formlab.scoring.batches import ALL
from formlab.scoring.evaluate import evaluate
from formlab.systems import System

RUNS, EVALS = "runs", "evals"


def read_and_score(
    corpus: Corpus,
    system: str | System,
    *,
    out: str | Path,
    settings: dict[str, Any] | None = None,
    workers: int | str = 1,
    name: str | None = None,
    limit: int | None = None,
) -> Evaluation:
    """Read the pages of `corpus`, score what was read, and save both below `out`.

    The same call again reads no finished page again.

    Parameters
    ----------
    corpus
        The pages of an experiment with their gold.
    system
        What reads them, or its name.
    out
        The folder of the experiment: the run goes into ``out/runs/<name>``, the evaluation into
        ``out/evals/<name>``.
    settings
        Those of the system that differ from its defaults.
    workers
        As for `formlab.run`.
    name
        What the run is called; by default the system with its settings.
    limit
        Read and score only the first so many documents.

    Returns
    -------
    Evaluation
        As it was saved.

    Raises
    ------
    UnknownName, NotAvailable, DataMissing, DataBroken
        As `formlab.run` and `formlab.evaluate`.

    Examples
    --------
    >>> import formlab, tempfile
    >>> nothing = System("nothing", "reads nothing", start=lambda settings, threads: lambda *_: [])
    >>> with tempfile.TemporaryDirectory() as out:
    ...     evaluation = read_and_score(formlab.load("funsd"), nothing, out=out, limit=2)
    >>> evaluation.system, evaluation.documents.height
    ('nothing', 2)
    """
    system = systems.get(system) if isinstance(system, str) else system
    changed = system.defaults | (settings or {})
    name = name or system.run_name(changed)
    run, scores = (Path(out) / folder / name.replace("/", "-") for folder in (RUNS, EVALS))
    predictions = systems.run(
        corpus, system, out=run, settings=changed, limit=limit, workers=workers,
        name=name,
    )  # fmt: skip
    chosen = ALL if limit is None else predictions.responses["doc_id"].unique().to_list()
    is_large = corpus.records.height > benchmarks.BATCH
    count = workers if is_large else 1
    return evaluate(corpus, predictions, documents=chosen, out=scores, workers=count)
