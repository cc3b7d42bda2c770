"""The review of whole forms in JupyterLab: a tree to change, and the page it is of."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from formlab.charts.escaping import clean
from formlab.errors import FormlabError
from formlab_review.attributes import KINDS, WORDS, attributes
from formlab_review.faults import faults
from formlab_review.forms import ITEMS
from formlab_review.widget import LIMIT, DeskWidget, script

if TYPE_CHECKING:
    from formlab_review.editor import FormReview


class FormWidget(DeskWidget):
    """Draws a `FormReview`, one form after the other.

    To `hello` the answer is `state`, the forms and their progress. To `open`, to `change` (with
    `do`, a method of `FormNodes`, and its arguments) and to `undo` it is `form`, the form as it now
    is.
    """

    _esm = script("form.js")

    def __init__(self, review: FormReview) -> None:
        known = {kind: [list(pair) for pair in attributes(kind).items()] for kind in KINDS}
        super().__init__(review, setup={"attributes": known, "words": {**WORDS}})

    def _answer(self, what: Any, message: dict[str, Any]) -> None:
        review: FormReview = self._review
        if what == "hello":
            review.reload()
            rows = review.progress().to_dicts()
            first = next((row["doc_id"] for row in rows if not row["verified"]), None)
            forms = [[clean(row["doc_id"]), row["changes"], row["verified"]] for row in rows]
            self.send({"type": "state", "forms": forms, "first": first or review.documents[0]})
            return
        doc, node = str(message["doc"]), message.get("node")
        if what == "change":
            node = self._change(doc, message)
        elif what == "undo":
            node = review.undo(doc)
            if node is None:
                raise FormlabError("there is nothing to undo in this form")
        elif what != "open":
            return
        self.send(self._form(doc) | {"node": node})

    def _change(self, doc: str, message: dict[str, Any]) -> str:
        form, do = self._review.form(doc), message["do"]
        texts = {str(name): str(text) for name, text in dict(message.get("texts") or {}).items()}
        node, parent = str(message.get("node") or ""), str(message.get("parent") or "")
        index = message.get("index")
        changes = {
            "edit": lambda: form.edit(node, texts),
            "move": lambda: form.move(node, parent, int(index)),
            "add": lambda: form.add(parent, str(message["kind"]), texts, index=index),
            "delete": lambda: form.delete(node),
            "verify": form.verify,
        }  # fmt: skip
        change = changes[do]()
        self._review.make(doc, change)
        return change["node"]

    def _stands(self, message: Any) -> dict[str, Any]:
        try:
            return {"form": self._form(str(message["doc"])) | {"node": None}}
        except (FormlabError, OSError, LookupError, TypeError, ValueError):
            return {}

    def _form(self, doc: str) -> dict[str, Any]:
        form = self._review.form(doc)
        content, paths = form.content(), form.paths()
        fields, nodes = form.check(), []
        for node in form.walk():
            texts = form.texts(node.id, paths)
            notes: tuple[str, ...] = ()
            if node.kind in ITEMS:
                index = form.children("", node.kind).index(node.id)
                notes = faults(node.kind, content[node.kind][index], fields)
            nodes.append({
                "id": node.id, "parent": node.parent, "kind": node.kind, "path": clean(node.path),
                "texts": {name: clean(text, limit=LIMIT) for name, text in texts.items()},
                "long": [name for name, text in texts.items() if len(text) > LIMIT],
                "boxes": [[page, *box] for page, box in form.boxes(node.id)],
                "notes": [clean(note, limit=500) for note in notes],
            })  # fmt: skip
        return self._review.counts(doc) | {"type": "form", "doc": doc, "nodes": nodes}
