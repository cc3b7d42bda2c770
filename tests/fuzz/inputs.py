"""Small valid inputs, with an item a line: a change of one leaves the lines of the others."""

import dataclasses
import json
import shutil
from pathlib import Path

import polars as pl
import yaml
from PIL import Image

from formlab import resources
from formlab_arena import spec
from formlab_review import drafts
from tests import made_arena, made_formfactory, made_vrdu
from tests.fuzz.mutations import lined

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
INPUTS = yaml.safe_load((HERE / "inputs.yml").read_text("utf-8"))
SAMPLES = resources.folder("data/sample")
DOCS = ("ada", "bob", "cyd")  # Names that stand nowhere else in an input.


def put(path, content, doc=""):
    """A file of bytes, of text, an image of a size, JSON Lines by its ending, or JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif path.suffix in (".png", ".jpg"):
        Image.new("L", content, 255).save(path)
    else:
        if path.suffix == ".jsonl" and not isinstance(content, str):
            content = "".join(json.dumps(row) + "\n" for row in content)
        text = content if isinstance(content, str) else lined(content)
        path.write_text(text.replace("{doc}", doc))


def maker(made, below=""):
    """Makes these files."""

    def make(folder):
        for name, content in made.items():
            for doc in DOCS if "{doc}" in name else ("",):
                put(folder / below / name.replace("{doc}", doc), content, doc)

    return make


def form(name):
    return json.loads((SAMPLES / f"formcraft/test/forms/{name}.json").read_text())


def formcraft(folder):
    for name in ("lease", "travel_claim", "repair_order"):
        put(folder / f"test/forms/{name}.json", form(name))
        for image in SAMPLES.glob(f"formcraft/test/images/{name}*.png"):
            put(folder / f"test/images/{image.name}", (600, 800))


def vrdu(folder):
    # Data sets stand in folders of their own below the root.
    home = made_vrdu.make(folder / "made")
    items = [[made_vrdu.one("tea"), made_vrdu.one("5")]]
    made_vrdu.put(home, [["who", [made_vrdu.one("Ann")]], [["what", "sum"], items]])
    for name in "abc":
        put(home / f"main/pdfs/{name}.pdf", (HERE / "page.pdf").read_bytes())


def fincriticaled(folder):
    for number in (3, 4, 7):
        put(folder / f"images/{number}.png", (300, 400))
        for name in (f"gold_{number}.txt", f"meta_{number}.json", f"images/{number}.json"):
            shutil.copy(SAMPLES / "fincriticaled" / name, folder / name)


MAKERS = {n: maker(INPUTS[f"load/{n}"]) for n in ("funsd", "sroie", "ocrbench_v2")}
MAKERS |= {"formcraft": formcraft, "formfactory": made_formfactory.make, "vrdu": vrdu}
MAKERS["fincriticaled"] = fincriticaled
HOMES = {
    "funsd": "testing_data/annotations/{}.json",
    "sroie": "key/{}.json",
    "formcraft": "test/forms/{}.json",
    "fincriticaled": "gold_{}.txt",
}


def form_answer(name):
    answer = {key: value for key, value in form(name).items() if key in ("fields", "groups")}
    return answer | {"vqa": {"q1": ["a"]}, "consistency": [{"id": "c1", "answer": "Ada"}]}


FACTORY = "A12_json_grant_applications_20260102_03040{0[5]}.json"
FORMS = {f"{name}.json": form_answer(name) for name in ("lease", "travel_claim")}
FORMS["repair_order.txt"] = 'Sure:\n```json\n{fields: [{label: "Name", value: "Ada"}\n```'
FOUND = [["what", made_vrdu.one("tea")], ["who", made_vrdu.one("Ann")]]
RESULTS = {"meta": {"model": "m"}, "results": {"a.pdf": FOUND, "b.pdf": []}}
PAGES = {f"pred_{n}.txt": "<p>Page <number>47</number> of <b>Tarn</b></p>" for n in (3, 4, 7)}


def make_funsd_bench(folder):
    documents = []
    figures = {"success": True, "cer": 0.25, "wer": 0.0, "word_match_accuracy": 1}
    ((path, parse),) = INPUTS["log/funsd_bench"].items()
    for one in sorted((SAMPLES / "funsd/testing_data/annotations").glob("*"))[:3]:
        put(folder / path.format(form=one.stem), parse | {"filename": f"{one.stem}.png"})
        documents.append(figures | {"filename": one.stem, "ref_text": "N", "hyp_text": "N"})
    summary = {"summary": {"successful_parses": 3}, "cer_stats": {"mean": 0.25}}
    put(folder / "results/results.json", summary | {"documents": documents})


GOLD = INPUTS["own/gold"]


def make_own(ending, folder):
    folder.mkdir(exist_ok=True)
    given = [{"doc_id": name, "path": path, "value": "2"} for name in DOCS for path in GOLD[0]]
    for stem, rows in (("gold", GOLD), ("answers", given)):
        frame, file = pl.DataFrame(rows), folder / f"{stem}.{ending}"
        if ending == "xlsx":
            frame.to_pandas().to_excel(file, index=False)
        elif ending in ("csv", "parquet"):
            getattr(frame, f"write_{ending}")(file)
        else:
            put(file, rows)


def make_image(name, folder):
    modes = {"16.png": "I;16", "a.png": "RGBA", "c.jpg": "CMYK"}
    picture = Image.radial_gradient("L").resize((40, 30)).convert("I")
    picture = picture if name == "16.png" else picture.convert("RGB")
    picture = picture.convert(modes.get(name, picture.mode))
    exif = Image.Exif()
    exif[0x0112] = 6
    more = {"save_all": True, "append_images": [picture] * 2} if name == "a.tiff" else {}
    picture.save(folder / name, **more, **({"exif": exif} if name == "exif.jpg" else {}))


def make_pdf(folder):
    shutil.copy(min((SAMPLES / "vrdu/ad-buy-form/main/pdfs").glob("*.pdf")), folder / "a.pdf")


def make_arena_run(folder):
    right = [made_arena.screen()]
    for name, value in made_arena.VALUES.items():
        right += made_arena.fill(name, value)
    sent = {"status": "submitted", "answers": made_arena.VALUES, "right": 5}
    made_arena.run(folder / "run", (right, sent), (made_arena.CLUMSY, {}), (right, sent))


DRAFT = dataclasses.asdict(
    drafts.Draft("test", "", "vqa", "/vqa/d1", "repaired", item=INPUTS["review/drafts"])
)
DECIDED = {
    f"decided/{who}.jsonl": [
        INPUTS["review/decisions"] | {"doc_id": doc, "reviewer": who} for doc in DOCS
    ]
    for who in ("me", "you")
}
DRAFTS = [DRAFT | {"doc_id": doc} for doc in DOCS]
EXPORT = json.loads((SAMPLES / "fincriticaled/annotations/label_studio.json").read_text())[:2]
A12 = maker({"A12.yaml": (spec.FOLDER / "A12.yaml").read_text()})


def made(name):
    """Makes the files of an entry of `inputs.yml`."""
    return maker(INPUTS[name])
