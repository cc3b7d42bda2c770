"""The experiments' samples: pages drawn again from their seed, with what a system read on them."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import polars as pl

import formlab_experiments
from formlab import benchmarks, saving, systems
from formlab.analysis.samples import open_evaluation, state_of
from formlab.errors import DataMissing
from formlab.folders import MANIFEST, Corpus, Evaluation, Predictions
from formlab.scoring.evaluate import evaluate
from formlab_experiments.counterfactual import CHANGES, counterfactual_corpus
from formlab_experiments.design_analysis import designed_fields
from formlab_experiments.designs import CORPUS, FORMS, draw_rows
from formlab_experiments.forms.content import load_all
from formlab_experiments.forms.formcraft import SEED, Form
from formlab_experiments.reading import EVALS
from formlab_experiments.redrawn import Templates
from formlab_experiments.stress import stress_corpus

SAMPLES = benchmarks.SAMPLES / "experiments"
STRESS = ("scale=1:0.25:4", "blur=0:3:4", "ink=0:0.75:4")
STRESS_SETTINGS = {"angle": False}
DESIGN = {"fields": (5, 10, 20), "kinds": (1, 2, 4), "print": (4, 6, 12), "handwriting": (0, 1)}
DESIGN_OPTIONS = {"runs": 36, "seed": 7}
DESIGN_SETTINGS = {"angle": False}
COUNTERFACTUAL = SAMPLES / "counterfactual"
# The pages of the sample whose copies have pictures.
SHOWN = ("blood_report", "lease")


def stress_pages(out: str | Path) -> Corpus:
    """The pages of FUNSD's sample at the levels of `STRESS`, drawn into `out`."""
    return stress_corpus(benchmarks.load("funsd"), STRESS, out=out)


def counterfactual_pages(out: str | Path, names: Sequence[str] = ()) -> Corpus:
    """Copies of the FORMCRAFT sample with a changed value, of some pages or of all."""
    forms = [form for form in load_all("formcraft", Form) if not names or form.name in names]
    return counterfactual_corpus(Templates(forms, SEED), out=out, each=1, changes=CHANGES[1:])


def open_counterfactual(folder: str | Path = "") -> Evaluation:
    """The evaluation of a counterfactual experiment; without a folder, that of formlab's sample.

    The sample was read by `rules`; its pages `SHOWN` are drawn again, others have no picture.

    Parameters
    ----------
    folder
        As from ``formlab counterfactual --out``, with the evaluation of one system, or that one.

    Raises
    ------
    DataMissing
        If there is none, or several.
    """
    if str(folder):
        return open_evaluation(_evaluation_in(Path(folder)))
    state = state_of(systems.get("rules"), folders=(formlab_experiments,))
    drawn = counterfactual_pages(saving.run_folder(f"experiments-counterfactual-{state}"), SHOWN)
    corpus = Corpus.load(COUNTERFACTUAL / "corpus")
    has_picture = pl.col("page_of").is_in(SHOWN)
    documents = corpus.documents.with_columns(image=pl.when(has_picture).then("image"))
    corpus = dataclasses.replace(corpus, documents=documents, root=drawn.root)
    return evaluate(corpus, Predictions.load(COUNTERFACTUAL / "run"))


def open_stress(folder: str | Path = "") -> Evaluation:
    """The evaluation of a stress experiment; without a folder, that of formlab's own sample.

    Parameters
    ----------
    folder
        As from ``formlab stress --out``, with the evaluation of one system, or that evaluation.

    Raises
    ------
    DataMissing
        If there is none, or several.
    """
    if str(folder):
        return open_evaluation(_evaluation_in(Path(folder)))
    state = state_of(systems.get("ocr"), folders=(formlab_experiments,))
    pages = stress_pages(saving.run_folder(f"experiments-stress-{state}"))
    return evaluate(pages, Predictions.load(SAMPLES / "stress"))


def _evaluation_in(folder: Path) -> Path:
    if (folder / MANIFEST).is_file():
        return folder
    names = sorted(file.parent for file in (folder / EVALS).glob(f"*/{MANIFEST}"))
    if len(names) != 1:
        what = f"{len(names)} evaluations in this experiment" if names else "no evaluation here"
        remedy = str(names[0]) if names else "the folder that formlab stress wrote with --out"
        raise DataMissing(what, where=folder, remedy=remedy)
    return names[0]


def open_design(folder: str | Path = "", *, pages: int = 4) -> Evaluation:
    """The evaluation of designed forms; without a folder, that of formlab's own sample.

    Parameters
    ----------
    folder
        As from ``formlab design --system --out``, with the evaluation of one system, or that
        evaluation.
    pages
        How many forms of the sample are drawn, those with the most wrong values; the others have
        no picture.

    Raises
    ------
    DataMissing
        If there is none, or several.

    Examples
    --------
    >>> open_design(pages=0).documents.group_by("fields", "kinds").len()["len"].unique().to_list()
    [4]
    """
    if str(folder):
        return open_evaluation(_evaluation_in(Path(folder)))
    state = state_of(systems.get("ocr"), folders=(formlab_experiments,))
    home = saving.run_folder(f"experiments-design-{state}") / FORMS
    corpus = dataclasses.replace(Corpus.load(SAMPLES / "design" / CORPUS), root=home)
    evaluation = evaluate(corpus, Predictions.load(SAMPLES / "design" / "run"))
    wrong = designed_fields(evaluation).filter(pl.col("right").not_())
    worst = wrong.group_by("doc_id").len().sort("len", "doc_id", descending=[True, False])
    draw_rows(SAMPLES / "design", home, worst["doc_id"].head(pages).to_list())
    return evaluation
