"""Write the sample of VRDU: PDFs, annotations and few-shot splits of both kinds of forms.

Run from the project's root: ``python -m data.sample.generate.vrdu --out DIR [--seed N]``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from data.sample.generate.vrdu import templates
from data.sample.generate.vrdu.sheet import Sheet, photographed
from formlab import files

SEED = 21


class Kind(NamedTuple):
    """One of the two data sets."""

    folder: str
    dataset: str
    each: int
    say: Callable[[random.Random], dict[str, Any]]
    templates: dict[str, templates.Template]
    matches: dict[str, str]
    patterns: dict[str, str]
    tasks: tuple[str, str, str]


_SINGLE = {
    "advertiser": "GeneralStringMatch", "agency": "GeneralStringMatch",
    "contract_num": "NumericalStringMatch", "flight_from": "DateMatch", "flight_to": "DateMatch",
    "gross_amount": "PriceMatch", "product": "GeneralStringMatch", "tv_address": "AddressMatch",
    "property": "NameMatch",
}  # fmt: skip
_PARTS = {
    "program_desc": "GeneralStringMatch", "program_start_date": "DateMatch",
    "program_end_date": "DateMatch", "sub_amount": "PriceMatch",
}  # fmt: skip
_FILING = {
    "file_date": "DateMatch", "foreign_principle_name": "NameMatch", "registrant_name": "NameMatch",
    "registration_num": "NumericalStringMatch", "signer_name": "NameMatch",
    "signer_title": "GeneralStringMatch",
}  # fmt: skip
KINDS = (
    Kind(
        "ad-buy-form", "MadeAds", 6, templates.campaign, templates.AD_BUY, _SINGLE | _PARTS,
        dict.fromkeys(_SINGLE, "unrepeated") | dict.fromkeys(_PARTS, "line_item"),
        ("kno_template", "mixed_template", "unk_template"),
    ),
    Kind(
        "registration-form", "MadeFilings", 4, templates.filing, templates.REGISTRATION, _FILING,
        {}, ("lv1-single_{}", "lv2-mixed_template", "lv3-unk_{}"),
    ),
)  # fmt: skip


def write(out: Path, seed: int) -> None:
    """Write both data sets below `out`."""
    for kind in KINDS:
        generator = random.Random(f"{seed}/{kind.dataset}")
        home = out / kind.folder
        names: dict[str, list[str]] = {template: [] for template in kind.templates}
        lines = []
        for place in range(kind.each * len(names)):
            template = list(names)[place % len(names)]
            sheet = Sheet()
            kind.templates[template](sheet, kind.say(generator))
            name = f"{uuid.UUID(int=generator.getrandbits(128), version=4)}.pdf"
            pdf = sheet.pdf()
            # The last of each data set is a scan.
            scan = place == kind.each * len(names) - 1
            with files.atomic(home / "main" / "pdfs" / name) as part:
                part.write_bytes(photographed(pdf, name) if scan else pdf)
            line = {"filename": name, "file_path": f"pdfs/{name}", "ocr": sheet.ocr}
            lines.append(json.dumps(line | {"annotations": sheet.annotations}))
            names[template].append(name)
        data = "".join(f"{line}\n" for line in lines).encode()
        with files.atomic(home / "main" / "dataset.jsonl.gz") as part:
            part.write_bytes(gzip.compress(data, mtime=0))
        meta = {"dataset_name": kind.dataset, "entity_name_to_match_func": kind.matches}
        pattern = {"entity_appearance_pattern": kind.patterns} if kind.patterns else {}
        files.write_json(home / "main" / "meta.json", meta | pattern)
        _write_splits(home / "few_shot-splits", kind, names)


def _write_splits(folder: Path, kind: Kind, names: dict[str, list[str]]) -> None:
    """One split for each task; the last template is the one that task 3 has not seen."""
    *seen, unseen = names
    single = names[seen[0]]
    mixed = [name for group in zip(*names.values(), strict=True) for name in group]
    known = [name for template in seen for name in names[template]]
    tasks = (
        (kind.tasks[0].format(seen[0]), single[:2], single[2:3], single[3:]),
        (kind.tasks[1], mixed[:3], mixed[3:5], mixed[5:]),
        (kind.tasks[2].format(unseen), known[:3], known[3:5], names[unseen]),
    )
    for task, train, valid, test in tasks:
        name = f"{kind.dataset}-{task}-train_{len(train)}-test_{len(test)}-valid_{len(valid)}-SD_0"
        split = {"train": train, "valid": valid, "test": test}
        files.write_json(folder / f"{name}.json", split)


def main() -> None:
    """Read the arguments and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    write(arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
