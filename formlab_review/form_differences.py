"""Two reviewers of the same forms: where they agree, what a third decides, and the gold."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from formlab import decisions as decided
from formlab.errors import DataBroken, FormlabError
from formlab_review.acceptance import Accepted
from formlab_review.agreement import grouped
from formlab_review.attributes import attributes, numbers_in
from formlab_review.editor import FormReview
from formlab_review.forms import INSIDE, ITEMS, FormNode, FormNodes
from formlab_review.items import Item, ItemDecisions
from formlab_review.pages import Pages
from formlab_review.session import Review

# Boxes that two people draw are never the same; these are of the same thing.
SAME_BOX = 0.5
PRESENCE, KEPT, LEFT_OUT = "presence", "kept", "left out"
_NAMES = {"": "form", "fields": "field", "groups": "group", "vqa": "question"}
_NAMES |= {"consistency": "check"}
_ORDER = "order of "


class Rating(NamedTuple):
    """One attribute of one node of a form, as two reviewers left it."""

    doc_id: str
    node: str
    kind: str
    attribute: str
    first: str
    second: str
    # Whether it stands for itself: what is in a group that was left out follows the group.
    own: bool = True


def form_agreement(
    first: FormReview, second: FormReview, *, resamples: int = 1000, seed: int = 0
) -> pl.DataFrame:
    """How far two reviewers agree on each attribute of the forms that both verified.

    Parameters
    ----------
    first, second
        The reviews, of the same corpus.
    resamples, seed
        Of the intervals; documents are drawn, whose nodes are not independent.

    Returns
    -------
    polars.DataFrame
        `of attribute raters kappa ci_low ci_high share n_items n_same`: `of` is ``field``,
        ``group``, ``question``, ``check`` or ``form``. Besides the attributes of the schema there
        are `presence` (kept, or left out), `parent` (the group that a field or group stands in) and
        the order in a group, of those that both left there. `kappa` is Cohen's, NaN where all
        values are the same; `share` of the `n_items` is equal, in [0, 1]. What both left empty is
        not counted, and boxes are equal from an intersection over union of `SAME_BOX` on.
    """
    ratings = sorted((r for r in _ratings(first, second) if r.first or r.second), key=_rank)
    rows = [(_NAMES[r.kind], r.attribute, r.doc_id, r.first, r.second) for r in ratings]
    names = [first.reviewer, second.reviewer]
    schema = dict.fromkeys(("of", "attribute", "doc_id", *names), pl.String)
    table = pl.DataFrame(rows, schema=schema, orient="row")
    groups = table.partition_by("of", "attribute", as_dict=True, maintain_order=True)
    rated = ((key, group, names) for key, group in groups.items())
    whole = grouped(("of", "attribute"), rated, resamples=resamples, seed=seed)
    share = pl.col("n_same") / pl.col("n_items")
    return whole.with_columns(share=share).select(
        pl.exclude("n_items", "n_same"), "n_items", "n_same"
    )


def differences(first: FormReview, second: FormReview) -> list[Rating]:
    """What two reviewers left differently in the forms that both verified, form by form."""
    return [r for r in _ratings(first, second) if r.first != r.second and r.own]


def form_queue(
    first: FormReview, second: FormReview, decisions: pl.DataFrame | None = None
) -> pl.DataFrame:
    """`differences` as a table, with what was decided on them.

    Parameters
    ----------
    first, second
        The reviews, of the same corpus.
    decisions
        Of those who adjudicate, as from `formlab.decisions.read`.

    Returns
    -------
    polars.DataFrame
        `doc_id path attribute`, a column for each reviewer with the value, `decision` (``first``,
        ``second``, ``edit``, or ``disputed`` where those who adjudicate differ) and the `value`
        decided on; null where it is open. `path` is that in the form as drafted.
    """
    settled = ItemDecisions(decisions, decided.ADJUDICATION)
    schema = dict.fromkeys(
        ("doc_id", "path", "attribute", first.reviewer, second.reviewer, "decision", "value"),
        pl.String,
    )
    rows = []
    for rating in differences(first, second):
        rows.append((*rating[:2], *rating[3:6], *_ruling(_item(rating, first), settled)))
    return pl.DataFrame(rows, schema=schema, orient="row")


def adjudicate(
    first: FormReview, second: FormReview, folder: str | Path, reviewer: str,
    pages: Pages | None = None,
) -> Review:  # fmt: skip
    """The session of a third person, who decides on what two reviewers left differently.

    Parameters
    ----------
    first, second
        The reviews, of the same corpus.
    folder
        Of decisions, another one than those of other reviews.
    reviewer
        Who adjudicates.
    pages
        Draws the pages; None shows none.
    """
    items = [_item(rating, first, second) for rating in differences(first, second)]
    titles = {"first": first.reviewer, "second": second.reviewer, "edit": "Another value"}
    return Review(items, folder, reviewer, pages, words=decided.ADJUDICATION, titles=titles)


def gold(
    first: FormReview, second: FormReview | None = None, decisions: pl.DataFrame | None = None
) -> Accepted:
    """The forms as verified: by one reviewer, or by two and whoever decided between them.

    Parameters
    ----------
    first, second
        The reviews, of the same corpus; without the second one, the first alone decides.
    decisions
        On what they left differently, as from `formlab.decisions.read`.

    Returns
    -------
    Accepted
        A form is in it once everybody verified it and each difference is decided; its outcome is
        ``accepted`` if nothing was changed, ``edited``, ``undecided``, ``disputed``, or
        ``kept_out`` where the decisions contradict each other. A form that nobody changed is
        written as its file was, byte for byte.
    """
    settled = ItemDecisions(decisions, decided.ADJUDICATION)
    by_form: dict[str, list[Rating]] = {}
    for rating in differences(first, second) if second else ():
        by_form.setdefault(rating.doc_id, []).append(rating)
    forms: dict[str, Any] = {}
    fates: list[tuple[str, str, str | None, str, str]] = []
    for doc_id in first.documents:
        form, why = first.form(doc_id), ""
        outcome = "undecided"
        if form.verified and (second is None or second.form(doc_id).verified):
            ruled = [(r, *_ruling(_item(r, first), settled)) for r in by_form.get(doc_id, ())]
            open_words = {word for _, word, _ in ruled} & {None, "disputed"}
            if open_words:
                outcome = "undecided" if None in open_words else "disputed"
            else:
                try:
                    # A form of its own: the session goes on with its reviewer's.
                    form = _merged(first, second, doc_id, ruled) if second else form
                    form.check()
                    outcome = "edited" if form.is_changed else "accepted"
                    forms[doc_id] = form.text()
                except FormlabError as error:
                    outcome, why = "kept_out", str(error)
        fates.append((doc_id, "form", None, outcome, why))
    notes = {"decisions on what the reviewers left otherwise by now": settled.stale}
    return Accepted(first.corpus, forms, fates, {k: n for k, n in notes.items() if n})


def _rank(rating: Rating) -> tuple[int, int]:
    names = [PRESENCE, "parent", *attributes(rating.kind)]
    place = names.index(rating.attribute) if rating.attribute in names else len(names)
    return list(_NAMES).index(rating.kind), place


def _ratings(first: FormReview, second: FormReview) -> Iterator[Rating]:
    corpora = {(each.corpus.benchmark, each.corpus.split) for each in (first, second)}
    if len(corpora) > 1:
        raise DataBroken("the reviews are of different corpora", remedy="two reviews of one corpus")
    if first.reviewer == second.reviewer:
        raise DataBroken(f"{first.reviewer} cannot be compared with {first.reviewer}")
    for doc_id in first.documents:
        forms = first.form(doc_id), second.form(doc_id)
        if all(form.verified for form in forms):
            yield from _compared(doc_id, *forms)


def _compared(doc_id: str, form: FormNodes, other: FormNodes) -> Iterator[Rating]:
    ours, theirs = ({node.id: node for node in each.walk()} for each in (form, other))
    shared = ours.keys() & theirs.keys()
    for name, node in (theirs | ours).items():
        here, there = ours.get(name), theirs.get(name)
        presence = [KEPT if side else LEFT_OUT for side in (here, there)]
        own = node.parent == "" or node.parent in shared
        yield Rating(doc_id, name, node.kind, PRESENCE, *presence, own)
        if here and there:
            yield from _attributes(doc_id, form, other, here, there)
    for name in ("", *(name for name, node in ours.items() if name in shared)):
        for kind in INSIDE["groups"] if not name or ours[name].kind == "groups" else ():
            lists = [form.children(name, kind), other.children(name, kind)]
            both = set(lists[0]) & set(lists[1])
            texts = ["\n".join(child for child in side if child in both) for side in lists]
            if len(both) > 1:
                yield Rating(doc_id, name, "groups" if name else "", _ORDER + kind, *texts)


def _attributes(
    doc_id: str, form: FormNodes, other: FormNodes, here: FormNode, there: FormNode
) -> Iterator[Rating]:
    rating = (doc_id, here.id, here.kind)
    if here.kind in INSIDE["groups"]:
        yield Rating(*rating, "parent", here.parent or "/", there.parent or "/")
    # Other nodes by their ids, which are the same in both.
    ours, theirs = form.texts(here.id, {}), other.texts(here.id, {})
    for name, notation in attributes(here.kind).items():
        texts = ours[name], theirs[name]
        if notation == "box" and all(texts) and _overlap(*texts) >= SAME_BOX:
            texts = (texts[0], texts[0])
        yield Rating(*rating, name, *texts)


def _overlap(first: str, second: str) -> float:
    """The intersection over union of two boxes."""
    boxes = [np.array(numbers_in(text)) for text in (first, second)]
    if not len(boxes[0]) == len(boxes[1]) == 4:
        return 0.0
    sides = np.min(boxes, axis=0)[2:] - np.max(boxes, axis=0)[:2]
    inner = sides.clip(0).prod()
    union = sum((box[2:] - box[:2]).prod() for box in boxes) - inner
    return inner / union if union > 0 else float(first == second)


def _item(rating: Rating, *reviews: FormReview) -> Item:
    """A difference as an item to decide on; what stands in its label makes a decision stale."""
    corpus, values = reviews[0].corpus, (rating.first, rating.second)
    task = rating.kind if rating.kind in ITEMS else "layout"
    path = f"{rating.node}@{rating.attribute}"
    key = (corpus.benchmark, corpus.split, rating.doc_id, task, path)
    facts = [("attribute", f"{_NAMES[rating.kind]}: {rating.attribute.replace('_', ' ')}")]
    boxes = []
    # Without the second review there is nobody to look at the item.
    for review, value in zip(reviews, values, strict=True) if len(reviews) > 1 else ():
        facts.append((review.reviewer, value or "(empty)"))
        boxes += review.form(rating.doc_id).boxes(rating.node)
    return Item(
        dict(zip(decided.KEY, key, strict=True)), json.dumps(values, ensure_ascii=False),
        {rating.attribute: rating.first}, tuple(facts), tuple(dict.fromkeys(boxes)),
    )  # fmt: skip


def _ruling(item: Item, decisions: ItemDecisions) -> tuple[str | None, str | None]:
    """The word and the value decided on; None where nobody decided."""
    rows = decisions.on(item)
    if rows is None:
        return None, None
    first, second = json.loads(item.label or "[]")
    values = set()
    for row in rows.iter_rows(named=True):
        # The value of a field has a column of its own in a decision.
        edited = next(iter(json.loads(row["parts"] or "{}").values()), row["value"] or "")
        edited = "\n".join(edited) if isinstance(edited, list) else str(edited)
        values.add({"first": first, "second": second}.get(row["decision"], edited))
    return (rows["decision"][0], values.pop()) if len(values) == 1 else ("disputed", None)


def _merged(
    first: FormReview, second: FormReview, doc_id: str,
    ruled: Sequence[tuple[Rating, str | None, str | None]],
) -> FormNodes:  # fmt: skip
    """The first reviewer's form with all that was decided against it."""
    fresh = FormReview(first.corpus, first.folder, first.reviewer)
    form, other = fresh.form(doc_id), second.form(doc_id)
    values = {(r.node, r.attribute): value or "" for r, _, value in ruled if value != r.first}
    ours, theirs = set(form.paths()), {node.id: node for node in other.walk()}
    # First: what is added or moved goes behind its neighbours.
    for (node, name), value in values.items():
        if name.startswith(_ORDER):
            form.reorder(node, name.removeprefix(_ORDER), value.split("\n"))
    for name, node in theirs.items():
        word = values.get((name, PRESENCE))
        follows = node.parent in form.paths() and node.parent not in ours
        if name not in ours and (word == KEPT or (follows and word is None)):
            form.apply(_copied(form, other, node))
    parents = {node: value for (node, name), value in values.items() if name == "parent"}
    _move(form, other, {node: "" if value == "/" else value for node, value in parents.items()})
    for (node, name), value in values.items():
        if name == PRESENCE and value not in (KEPT, LEFT_OUT):
            raise DataBroken(f"{value!r:.80} is neither {KEPT} nor {LEFT_OUT}", where=node)
        if name in (PRESENCE, "parent") or name.startswith(_ORDER):
            continue
        # With another modality, its subtype may have gone already.
        if form.texts(node, {})[name] != value:
            form.apply(form.edit(node, {name: value}))
    # Last, when what is to stay has been moved out of the groups that go.
    for (node, name), value in values.items():
        if (name, value) == (PRESENCE, LEFT_OUT) and node in ours:
            form.apply(form.delete(node))
    if lost := sorted((ours & theirs.keys()) - form.paths().keys()):
        raise DataBroken(f"{lost[0]} is kept, and its group is left out", where=doc_id)
    return form


def _copied(form: FormNodes, other: FormNodes, node: FormNode) -> dict[str, Any]:
    whole = other.delete(node.id)["before"]
    values = {k: v for k, v in whole.items() if k not in (*INSIDE.get(node.kind, ()), "place")}
    index = _index(form, other, node.id, node.parent, node.kind)
    after = {"place": [node.parent, node.kind, index]} | values
    return {"node": node.id, "before": None, "after": after}


def _index(form: FormNodes, other: FormNodes, node: str, parent: str, kind: str) -> int:
    """Behind the nearest sibling before it in the other form; at the end if it is not there."""
    here = [child for child in form.children(parent, kind) if child != node]
    there = other.children(parent, kind)
    if node not in there:
        return len(here)
    before = [here.index(child) for child in there[: there.index(node)] if child in here]
    return before[-1] + 1 if before else 0


def _move(form: FormNodes, other: FormNodes, parents: Mapping[str, str]) -> None:
    todo = dict(parents)
    while todo:
        error, waiting = None, {}
        for node, parent in todo.items():
            try:
                index = _index(form, other, node, parent, form.kind(node))
                form.apply(form.move(node, parent, index))
            except FormlabError as problem:
                # A group may have to leave another before that can go into it.
                error, waiting[node] = problem, parent
        if error and len(waiting) == len(todo):
            raise error
        todo = waiting
