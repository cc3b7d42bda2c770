"""FORMCRAFT: forms with fields, groups, nested groups, and relations between fields.

The set is announced and not released, and the paper gives no file layout; this is formlab's own,
around the paper's schema (`forms`). A split is a folder::

    <root>/<split>/forms/<doc_id>.json       the form: fields, groups, and what is below
    <root>/<split>/images/<doc_id>.png       page 1; further pages as <doc_id>_2.png, …

or, for the split `test` alone, ``<root>/forms`` and ``<root>/images``. `formcraft.toml` lists
the attributes of a form and what is in it. The folders of FUNSD and of SROIE are read too, as forms
in FORMCRAFT's terms (`scans`); splits and documents keep their names.

The path of a field is its labels from the top, ``/Section A/Name``, with ``~`` and ``/`` in labels
escaped as in a JSON Pointer and ``#2`` after the second of equal paths.

A rule proposes a relation by the labels, links or places of its fields; it is kept, as a check and
a question of L3 made without a model, only where the printed values bear it out. docs/relations.md
lists the rules.
"""

import ast
import json
import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import count, takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from formlab import files, text
from formlab.benchmarks import funsd
from formlab.benchmarks.corpus import Part, Row, SplitReader, counts_of, image_columns
from formlab.benchmarks.formcraft import forms
from formlab.benchmarks.formcraft.forms import NotAFormError, field_rows, item_rows, tidied, walk
from formlab.errors import DataBroken, DataMissing

IMAGES = (".png", ".jpg", ".jpeg", ".webp", ".tif", ".tiff")
DISAGREE = "relations by labels that the numbers do not bear out"
_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub}
_OPERATORS |= {ast.Mult: operator.mul, ast.Div: operator.truediv}
_LONGEST = 200


def splits(root: Path) -> dict[str, int]:
    """The splits found under `root`, each with its count of forms."""
    return {split: len(annotations) for split, (annotations, _, _) in _splits(root).items()}


def reader(split: str, root: Path) -> SplitReader:
    """The forms of one split: a record per field, group, question and consistency check."""
    if (found := _splits(root).get(split)) is None:
        remedy = f"a folder with forms or {split}/forms in it"
        raise DataMissing("no folder of forms", where=root, remedy=remedy)
    annotations, images, form_of = found

    def read(file: Path, flaws: Counter[str]) -> Iterator[Part]:
        form = form_of(file, flaws)
        fields = list(field_rows(form, flaws))
        rows = [*fields, *item_rows(form, {row["path"] for row in fields}, flaws)]
        pages = _pages(images, form, file.stem)
        shown, *_ = [image_columns(root, page, flaws) for page in pages or [None]]
        shared = {"id": None, "question": None, "options": []}
        asked = [{k: item.get(k, v) for k, v in shared.items()} for item in form.get("vqa", ())]
        meta: Row = {"pages": [page.relative_to(root).as_posix() for page in pages]}
        meta |= {"questions": asked} if asked else {}
        document = {"doc_id": file.stem, "template": form.get("template")}
        document |= {"domain": form.get("domain"), "meta": json.dumps(meta)} | shown
        document |= counts_of(row for row in fields if row["kind"] != "group")
        yield document, [{"origin": f"{file.name}#{row['path']}"} | row for row in rows]

    return SplitReader("formcraft", split, root, annotations, read, empty="forms")


def _splits(root: Path) -> dict[str, tuple[list[Path], Path, Callable[..., Row]]]:
    """The splits of forms, of FUNSD or of SROIE in a folder: files, images, how a form is read."""
    from formlab.benchmarks.formcraft import scans  # Which needs the relations below.

    train, test = (root / funsd.FOLDERS[split] for split in ("train", "test"))
    places: list[tuple[str, Path, Path, Callable[..., Row]]] = [
        ("test", test / "annotations", test / "images", scans.of_entities),
        ("train", train / "annotations", train / "images", scans.of_entities),
        ("train", root / "key", root / "img", partial(scans.of_receipt, root)),
        ("test", root / "forms", root / "images", read_form),
    ]
    homes = [folder.parent for folder in sorted(root.glob("*/forms"))]
    places += [(home.name, home / "forms", home / "images", read_form) for home in homes]
    return {
        split: (sorted(folder.glob("*.json")), images, form_of)
        for split, folder, images, form_of in places
        if folder.is_dir()
    }


def read_form(file: Path, _: Counter[str] | None = None) -> Row:
    """The form in a file of annotations, where only what the schema names is accepted."""
    remedy = "an object with fields and groups"
    try:
        return tidied(files.read_json(file, dict[str, Any], remedy=remedy))[0]
    except NotAFormError as error:
        raise DataBroken(f"not a form: {error}", where=file, remedy=remedy) from error


def _pages(folder: Path, form: Row, stem: str) -> list[Path]:
    """The images of a form: those it names, else those named after it."""
    if named := form.get("pages"):
        # The last part only: a file of annotations has no say over other folders.
        return [folder / Path(name).name for name in named]
    first = next(filter(files.is_file, (folder / f"{stem}{end}" for end in IMAGES)), None)
    if first is None:
        return []
    others = (first.with_name(f"{stem}_{number}{first.suffix}") for number in count(2))
    return [first, *takewhile(files.is_file, others)]


class NoFormulaError(ValueError):
    """A text that is no arithmetic of the names given; the message says why."""


def value_of(formula: str, values: Mapping[str, Fraction]) -> Fraction:
    """What a formula of +, -, *, /, brackets, numbers and the names of `values` comes to.

    `NoFormulaError` if it is anything else, names what is not there, or divides by zero.

    >>> value_of("(a + 1) * b", {"a": Fraction(2), "b": Fraction("0.5")})
    Fraction(3, 2)
    """

    def worked_out(node: ast.expr) -> Fraction:
        match node:
            case ast.BinOp(left, kind, right) if type(kind) in _OPERATORS:
                return _OPERATORS[type(kind)](worked_out(left), worked_out(right))
            case ast.UnaryOp(ast.USub(), inner):
                return -worked_out(inner)
            case ast.Name(name) if name in values:
                return values[name]
            case ast.Constant(int() | float() as number) if not isinstance(number, bool):
                return Fraction(str(number))
        raise ValueError(f"{ast.unparse(node)!r} is no arithmetic of what is given")

    try:
        return worked_out(ast.parse(formula[:_LONGEST].strip(), mode="eval").body)
    except (SyntaxError, ValueError, MemoryError, RecursionError, ZeroDivisionError) as error:
        raise NoFormulaError(str(error).splitlines()[0]) from error


def number_in(written: str) -> Fraction | None:
    """The number or amount of money that a text is; a percent sign does not count.

    >>> number_in("$1,200.50"), number_in("25 %"), number_in("two")
    (Fraction(2401, 2), Fraction(25, 1), None)
    """
    plain = written.strip().removesuffix("%").strip()
    amount = text.money(plain)
    number: Any = amount.amount if amount else text.number(plain)
    return None if number is None else Fraction(number)


def is_written_as(exact: Fraction, written: str) -> bool:
    """Whether `written` is the number `exact`, to as many decimals as it shows.

    >>> is_written_as(Fraction(11, 3), "3.67"), is_written_as(Fraction(11, 3), "3.66")
    (True, False)
    """
    shown = number_in(written)
    digits = written.rpartition(".")[2] if "." in written else ""
    decimals = sum(character.isdecimal() for character in digits)
    return shown is not None and abs(exact - shown) <= Fraction(1, 2 * 10**decimals)


def same(value: str, other: str) -> bool:
    """Whether two texts are the same date or, case and white space aside, the same text."""
    dates = text.date(value), text.date(other)
    if all(dates):
        return dates[0] == dates[1]
    return text.normalise(value, text.LADDER_STEPS) == text.normalise(other, text.LADDER_STEPS)


class RuleRelation(NamedTuple):
    """A relation: the value of `dependent` follows from `sources`, by `formula` over their names.

    Without a formula the values are the same, as dates or as texts. `words` stand in the question
    that `formcraft.toml` has for the rule, or for what they call ``question``. Without `sources`
    these refer to each other and nothing follows: it is a question and no check.
    """

    rule: str
    dependent: Row
    sources: dict[str, Row]
    formula: str | None = None
    words: Mapping[str, str] = MappingProxyType({})

    def holds(self) -> bool:
        """Whether the printed values are as the relation says."""
        values = {name: source["value"] for name, source in self.sources.items()}
        if self.formula is None:
            return all(same(value, self.dependent["value"]) for value in values.values())
        found = ((name, number_in(value)) for name, value in values.items())
        numbers = {name: number for name, number in found if number is not None}
        try:
            return is_written_as(value_of(self.formula, numbers), self.dependent["value"])
        except NoFormulaError:
            # A value is no number, or the sum is longer than a formula may be.
            return False


def with_relations(form: Row, proposed: Iterable[RuleRelation], flaws: Counter[str]) -> Row:
    """The form with a check and a question for each relation that holds, rule by rule.

    Each dependent field gets one relation of a rule. The `derivation` of an item names the rule,
    the formula and the paths of all its fields, whose records have their places on the page.
    """
    fields = [(path, node) for path, node, is_group in walk(form) if not is_group]
    paths, alike = {id(field): path for path, field in fields}, defaultdict[str, list[int]](list)
    for _, field in fields:
        alike[field["label"]].append(id(field))

    def name(field: Row) -> str:
        """The label of a field in quotes, numbered where others have it too."""
        places = alike[field["label"]]
        which = f" (number {places.index(id(field)) + 1} on the page)" if len(places) > 1 else ""
        return f"“{field['label']}”{which}"

    claims = defaultdict[tuple[str, int], list[RuleRelation]](list)
    for relation in proposed:
        claims[relation.rule, id(relation.dependent)].append(relation)
    found = (next(filter(RuleRelation.holds, claim), None) for claim in claims.values())
    kept = list(filter(None, found))
    flaws[DISAGREE] += len(claims) - len(kept)
    derived = {id(relation.dependent) for relation in kept if relation.sources}
    numbers, items = Counter[str](), {"vqa": [], "consistency": []}
    for rule, dependent, sources, formula, words in kept:
        numbers[rule] += 1
        places = {name: paths[id(source)] for name, source in sources.items()}
        involved = [*places.values(), paths[id(dependent)]]
        groups, value = {path.rpartition("/")[0] for path in involved}, dependent["value"]
        complexity = "compound" if len(sources) > 1 or rule == "cell" else "simple"
        if any(id(source) in derived for source in sources.values()):
            complexity = "chained"
        derivation = {"rule": rule, "formula": formula, "fields": places}
        item = {
            "id": f"{rule}-{numbers[rule]}",
            "kind": dependent.get("kind"),
            "scope": "intra-group" if len(groups) == 1 else "inter-group",
            "reference": "constraint" if sources else "direct-link",
            "complexity": complexity,
            "modal": "single-modality",
            "derivation": {name: part for name, part in derivation.items() if part},
            "rationale": f"Found by the rule “{rule}”.",
        }
        *others, last = map(name, sources.values()) if sources else [""]
        listed = " and ".join(filter(None, (", ".join(others), last)))
        question = forms.QUESTIONS.get(words.get("question", rule), forms.QUESTIONS["usual"])
        asked = question.format(sources=listed, dependent=name(dependent), **words)
        items["vqa"].append(item | {"question": asked, "answers": [value], "fields": involved})
        if sources:
            ends = {"source": involved[0], "dependent": involved[-1], "expected": value}
            items["consistency"].append(item | ends)
    return form | items


def __getattr__(name: str) -> Any:
    return getattr(forms, name)
