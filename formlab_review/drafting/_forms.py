"""Forms of FORMCRAFT's schema that a model drafts from annotations of any shape."""

import dataclasses
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from formlab import files, text
from formlab.benchmarks.formcraft import IMAGES, NotAFormError, field_rows, label_of, tidied
from formlab.errors import DataBroken
from formlab.systems.chat.ask import Place, Question, Row, WrongShape
from formlab.systems.chat.benchmarks import FORM
from formlab_review.drafting._asking import asked, keep
from formlab_review.drafts import Draft
from formlab_review.faults import field_faults

SPLIT = "test"
# Short texts occur in any annotation by chance; a longer one that does not is made up or changed.
_SHORTEST = 2
_MARKS = ("checked", "unchecked", "signed", "true", "false", "yes", "no")


def forms(
    annotations: str | Path,
    *,
    model: str,
    out: str | Path,
    images: str | Path | None = None,
    settings: Mapping[str, Any] | None = None,
    limit: int | None = None,
) -> list[Draft]:
    """Forms with modalities and subtypes that a model drafts from annotated JSON and images.

    Parameters
    ----------
    annotations
        A folder of JSON files, one a form, of whatever shape (FUNSD's, say).
    model, settings
        As of `formlab.systems.chat.ChatSystem`; answers are kept in `out` and asked for once.
    out
        The forms as a folder that benchmark formcraft loads: ``forms``, ``images``, and a file of
        drafts with a line for each field. A form that is there already is left as it is.
    images
        The folder of images of the same names; beside `annotations` or in it if left out.
    limit
        Only the first so many files.

    Returns
    -------
    list of Draft
        A line for each field, with the faults found in it, and one for each form.

    Raises
    ------
    DataMissing, DataBroken, NotAvailable
        If there is no annotation, one is no JSON, or no call can succeed.
    """
    folder = files.folder(annotations, remedy="a folder of annotations, one JSON file a form")
    annotated = sorted(folder.glob("*.json"))[:limit]
    if not annotated:
        raise DataBroken("no annotations", where=folder, remedy="one JSON file a form")
    root, names = _images(folder, images)
    todo, contents = [], {}
    for file in annotated:
        contents[file.stem] = files.read_json(file)
        if not (Path(out) / "forms" / file.name).is_file():
            document = {"doc_id": file.stem, "image": names.get(file.stem)}
            document |= {"meta": None, "width": None}
            shown = {"ANNOTATION": contents[file.stem]}
            todo.append(Question(shown, FORM, _form, document=document))
    made: list[Draft] = []
    # A form without its image can be converted all the same, from the annotation alone.
    for shown in dict.fromkeys((root, None)):
        some = [one for one in todo if (not one.document["image"]) == (not shown)]
        for result, whole in asked(
            "draft_form", some, model=model, out=out, settings=settings, split=SPLIT, root=shown
        ):
            form = result.records[0]["form"] if result.records else None
            made += _drafts(whole, form, contents[whole.doc_id])
            if form is not None:
                image = names.get(result.doc_id)
                _write(form, whole.doc_id, shown / image if shown and image else None, Path(out))
    keep(made, out)
    return made


def _images(folder: Path, images: str | Path | None) -> tuple[Path | None, dict[str, str]]:
    """The folder of images, and the image of each form by the form's name."""
    if images:
        files.folder(images, remedy="the folder of the forms' images")
    for root in [Path(images)] if images else [folder.parent / "images", folder]:
        if names := {file.stem: file.name for file in root.glob("*") if file.suffix in IMAGES}:
            return root, names
    return None, {}


def _form(value: Any, _: Place) -> list[Row]:
    try:
        form, _ = tidied(value)
    except NotAFormError as error:
        raise WrongShape(str(error).splitlines()[0]) from error
    if not any(True for _ in field_rows(form, Counter())):
        raise WrongShape("a form without a field or group")
    return [{"form": form}]


def _write(form: Row, name: str, image: Path | None, out: Path) -> None:
    if image:
        with files.atomic(out / "images" / f"{name}{image.suffix}") as copy:
            shutil.copyfile(image, copy)
    files.write_json(out / "forms" / f"{name}.json", form)


def _drafts(whole: Draft, form: Row | None, annotation: Any) -> Iterator[Draft]:
    if form is None:
        yield whole
        return
    texts = [value for value in map(text.normalise, _texts(annotation)) if value]
    source = " ".join([*texts, *map(text.normalise, _names(annotation))])
    rows = [row for row in field_rows(form, Counter()) if row["kind"] != "group"]
    steps = {step for row in rows for step in row["path"].split("/")}
    drafted = text.normalise(" ".join([*map(label_of, steps), *(row["value"] for row in rows)]))
    lost = [value for value in texts if len(value) > _SHORTEST and value not in drafted]
    count = f"{len(lost)} of {len(texts)} annotated texts are in no field"
    why = (count, f"the first of them: {lost[0]!r}") if lost else ()
    yield dataclasses.replace(whole, rejected=why)
    for row in rows:
        item = {name: row[name] for name in ("value", "modality", "subtype", "page")}
        item |= {"label": label_of(row["path"])}
        why = tuple(_field_faults(item, source))
        yield dataclasses.replace(whole, path=row["path"], item=item, rejected=why)


def _field_faults(item: Row, source: str) -> Iterator[str]:
    value, label = text.normalise(item["value"]), text.normalise(item["label"])
    yield from field_faults(item["modality"], item["subtype"])
    if len(label) > _SHORTEST and label not in source:
        yield "its label is not in the annotation"
    # People may describe what a picture shows in other words.
    is_described = item["modality"] in ("visual", "cross") or value in _MARKS
    if len(value) > _SHORTEST and not is_described and value not in source:
        yield "its value is not in the annotation"


def _texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value. Of an object with a `text`, the other texts only describe it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        described = isinstance(value.get("text"), str)
        for name, member in value.items():
            if not described or name == "text" or not isinstance(member, str):
                yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)


def _names(value: Any) -> Iterator[str]:
    """The names of the members of all objects in a JSON value, which may be labels."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for member in value if isinstance(value, list) else ():
        yield from _names(member)
