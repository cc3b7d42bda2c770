"""The entries of formlab's own benchmarks; their readers are imported when used."""

from __future__ import annotations

from typing import Any

from formlab.benchmarks._spec import Benchmark


def _entry(name: str, **entry: Any) -> Benchmark:
    """An entry whose module is called like it."""
    module = f"formlab.benchmarks.{name}"
    return Benchmark(name=name, read=f"{module}:read", reader=f"{module}:reader", **entry)


_OWN = (
    _entry(
        "fincriticaled",
        title="FinCriticalED: are the financial facts right?",
        licence="research only, by its paper; the filings themselves are public",
        citation="He, Peng, Cao, Wang et al. FinCriticalED. arXiv:2511.14998, 2025.",
        source="https://huggingface.co/datasets/TheFinAI/FinCriticalED",
        splits={"test": 859},
        tasks=("fact",),
        slices=("kind", "domain"),
        modes=("fixed", "official"),
    ),
    _entry(
        "formcraft",
        title="FORMCRAFT: content, layout and relations of forms",
        licence="not released; the project's own sample is Apache-2.0",
        citation="FORMCRAFT: beyond documents, benchmarking form intelligence. Under review, 2025.",
        source="not released yet; the paper gives no address",
        splits={"test": 366},
        # Textual fields go with the other modalities: fields are matched once, over all of them.
        tasks=("marking", "visual", "cross", "vqa", "consistency", "layout"),
        slices=("modality", "subtype"),
        find_splits="formlab.benchmarks.formcraft:splits",
    ),
    _entry(
        "formfactory",
        title="FormFactory: filling in web forms from a text, by clicks and typing",
        licence="MIT",
        citation="Li et al. FormFactory. arXiv:2506.01520, 2025.",
        source="https://formfactory-ai.github.io",
        splits={"all": 1240},
        tasks=("click",),
        slices=("kind", "domain", "template"),
        modes=("official", "fixed"),
    ),
    _entry(
        "funsd",
        title="FUNSD: form understanding in noisy scanned documents",
        licence="for non-commercial, research and educational use",
        citation="Jaume, Ekenel, Thiran. FUNSD. ICDAR-OST 2019.",
        source="https://guillaumejaume.github.io/FUNSD/",
        splits={"test": 50, "train": 149},
        tasks=("text", "layout"),
    ),
    _entry(
        "ocrbench_v2",
        title="OCRBench v2: questions about images of many datasets, FUNSD and SROIE among them",
        licence="that of each of its datasets",
        citation="Fu et al. OCRBench v2. arXiv:2501.00321, 2024.",
        source="https://github.com/Yuliang-Liu/MultimodalOCR",
        tasks=("text", "vqa"),
        find_splits="formlab.benchmarks.ocrbench_v2:splits",
    ),
    _entry(
        "omniai",
        title="OmniAI: JSON from open forms and documents",
        licence="MIT (the tool and its open data)",
        citation="OmniAI. OCR benchmark. 2025.",
        source="https://github.com/getomni-ai/benchmark",
        splits={"test": 1000},
        tasks=("text", "value"),
        modes=("official", "fixed"),
    ),
    Benchmark(
        name="own",
        title="forms of one's own, with gold in a table or in JSON files",
        licence="the user's own",
        source="formlab score GOLD",
        tasks=("text",),
        read="formlab.readers.gold:read",
        find_splits="formlab.readers.gold:splits",
        schema="formlab.readers.gold:schema_of",
    ),
    _entry(
        "sroie",
        title="SROIE: key values of scanned receipts",
        licence="not stated by the publisher; for research, as given to the competition",
        citation="Huang et al. ICDAR2019 competition on scanned receipt OCR. ICDAR 2019.",
        source="https://rrc.cvc.uab.es/?ch=13",
        splits={"train": 626},
        tasks=("text",),
    ),
    _entry(
        "vrdu",
        title="VRDU: visually-rich document understanding, ad-buy and registration forms",
        licence="CC BY 4.0",
        citation="Wang, Zhou, Wei, Lee, Tata. VRDU: a benchmark for visually-rich document "
        "understanding. KDD 2023.",
        source="https://github.com/google-research-datasets/vrdu",
        splits={},
        tasks=("entity",),
        slices=("kind", "subtype"),
        modes=("official", "fixed"),
        find_splits="formlab.benchmarks.vrdu:splits",
        parts=("test", "train", "valid"),
    ),
)
OWN = {benchmark.name: benchmark for benchmark in _OWN}
