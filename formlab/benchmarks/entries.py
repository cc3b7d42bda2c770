"""The entries of formlab's own benchmarks; what reads them is imported when used."""

from __future__ import annotations

from collections.abc import Callable
from pkgutil import resolve_name
from typing import Any

from formlab.benchmarks.spec import Benchmark


def _later(name: str, package: str = "formlab.benchmarks") -> Callable[..., Any]:
    """A function ``module:name`` that is imported when it is called."""
    return lambda *values: resolve_name(f"{package}.{name}")(*values)


_ENTRIES = (
    Benchmark(
        "fincriticaled",
        _later("fincriticaled:reader"),
        title="FinCriticalED: are the financial facts right?",
        licence="research only, by its paper; the filings themselves are public",
        citation="He, Peng, Cao, Wang et al. FinCriticalED. arXiv:2511.14998, 2025.",
        source="https://huggingface.co/datasets/TheFinAI/FinCriticalED",
        splits={"test": 859},
        tasks=("fact",),
        slices=("kind", "domain"),
        modes=("fixed", "official"),
    ),
    Benchmark(
        "formcraft",
        _later("formcraft:reader"),
        title="FORMCRAFT: content, layout and relations of forms",
        licence="not released; the project's own sample is Apache-2.0",
        citation="FORMCRAFT: beyond documents, benchmarking form intelligence. Under review, 2025.",
        source="not released yet; the paper gives no address",
        splits={"test": 366},
        # Textual fields go with the other modalities: fields are matched once, over all of them.
        tasks=("marking", "visual", "cross", "vqa", "consistency", "layout"),
        slices=("modality", "subtype"),
        find_splits=_later("formcraft:splits"),
    ),
    Benchmark(
        "formfactory",
        _later("formfactory:reader"),
        title="FormFactory: filling in web forms from a text, by clicks and typing",
        licence="MIT",
        citation="Li et al. FormFactory. arXiv:2506.01520, 2025.",
        source="https://formfactory-ai.github.io",
        splits={"all": 1240},
        tasks=("click",),
        slices=("kind", "domain", "template"),
        modes=("official", "fixed"),
    ),
    Benchmark(
        "funsd",
        _later("funsd:reader"),
        title="FUNSD: form understanding in noisy scanned documents",
        licence="for non-commercial, research and educational use",
        citation="Jaume, Ekenel, Thiran. FUNSD. ICDAR-OST 2019.",
        source="https://guillaumejaume.github.io/FUNSD/",
        splits={"test": 50, "train": 149},
        tasks=("text", "layout"),
    ),
    Benchmark(
        "ocrbench_v2",
        _later("ocrbench_v2:reader"),
        title="OCRBench v2: questions about images of many datasets, FUNSD and SROIE among them",
        licence="that of each of its datasets",
        citation="Fu et al. OCRBench v2. arXiv:2501.00321, 2024.",
        source="https://github.com/Yuliang-Liu/MultimodalOCR",
        tasks=("text", "vqa"),
        find_splits=_later("ocrbench_v2:splits"),
    ),
    Benchmark(
        "omniai",
        _later("omniai:reader"),
        title="OmniAI: JSON from open forms and documents",
        licence="MIT (the tool and its open data)",
        citation="OmniAI. OCR benchmark. 2025.",
        source="https://github.com/getomni-ai/benchmark",
        splits={"test": 1000},
        tasks=("text", "value"),
        modes=("official", "fixed"),
    ),
    Benchmark(
        "own",
        _later("gold:read", "formlab.readers"),
        title="forms of one's own, with gold in a table or in JSON files",
        licence="the user's own",
        source="formlab score GOLD",
        find_splits=_later("gold:splits", "formlab.readers"),
        schema=_later("gold:schema_of", "formlab.readers"),
    ),
    Benchmark(
        "sroie",
        _later("sroie:reader"),
        title="SROIE: key values of scanned receipts",
        licence="not stated by the publisher; for research, as given to the competition",
        citation="Huang et al. ICDAR2019 competition on scanned receipt OCR. ICDAR 2019.",
        source="https://rrc.cvc.uab.es/?ch=13",
        splits={"train": 626},
    ),
    Benchmark(
        "vrdu",
        _later("vrdu:reader"),
        title="VRDU: visually-rich document understanding, ad-buy and registration forms",
        licence="CC BY 4.0",
        citation="Wang, Zhou, Wei, Lee, Tata. VRDU: a benchmark for visually-rich document "
        "understanding. KDD 2023.",
        source="https://github.com/google-research-datasets/vrdu",
        tasks=("entity",),
        slices=("kind", "subtype"),
        modes=("official", "fixed"),
        find_splits=_later("vrdu:splits"),
        parts=("test", "train", "valid"),
    ),
)
ENTRIES = {benchmark.name: benchmark for benchmark in _ENTRIES}
