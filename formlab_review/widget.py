"""The review in JupyterLab: a widget that draws, and passes decisions to the session."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any

import anywidget
import traitlets

from formlab import decisions as decided
from formlab.charts.escaping import clean
from formlab.errors import FormlabError
from formlab_review.items import LISTS, Item

if TYPE_CHECKING:
    from formlab_review.editor import FormReview
    from formlab_review.session import Review

# Longer texts are shown cut, and cannot be edited here: what was cut would be lost.
LIMIT = 20_000
_KEYS = {"accept": "a", "edit": "e", "reject": "r", "label_error": "l", "ambiguous": "m"}
_KEYS |= {"wrong": "w", "first": "1", "second": "2"}
_TITLES = {"label_error": "Label error", "wrong": "Truly wrong"}


def _asset(name: str, package: str = "formlab") -> str:
    return resources.files(package).joinpath(name).read_text("utf-8")


def script(name: str) -> str:
    """The script of a widget, behind those that it uses."""
    shared = _asset("gallery/assets/parts.js") + _asset("assets/desk.js", "formlab_review")
    return shared + _asset(f"assets/{name}", "formlab_review")


class DeskWidget(anywidget.AnyWidget):
    """A page of a review; the session in the kernel holds all state, so a reload loses none.

    The page sends messages and gets one back for each, or ``refused`` with the reason. To
    ``page`` the answer is the image of a page.
    """

    # The tokens are a page's own; here they belong to the widget, not to JupyterLab's page.
    _css = _asset("charts/assets/tokens.css").replace(":root", ".fl-review")
    _css += _asset("assets/review.css", "formlab_review")
    setup = traitlets.Dict().tag(sync=True)

    def __init__(self, review: Review | FormReview, **traits: Any) -> None:
        setup = {"file": clean(review.file), "reviewer": review.reviewer} | traits.pop("setup")
        super().__init__(setup=setup, **traits)
        self._review: Any = review
        self.on_msg(self._hear)

    def _hear(self, _: Any, message: Any, __: Any) -> None:
        what = message.get("type") if isinstance(message, dict) else None
        try:
            if what == "page":
                self._page(str(message["doc"]), int(message["page"]))
            else:
                self._answer(what, message)
        except (FormlabError, OSError, LookupError, TypeError, ValueError) as error:
            # The reviewer sees why a decision was not saved, it did not count, and what stands.
            why = {"type": "refused", "what": what, "why": clean(error, limit=500)}
            self.send(why | self._stands(message))

    def _answer(self, what: Any, message: dict[str, Any]) -> None:
        raise NotImplementedError

    def _stands(self, message: Any) -> dict[str, Any]:
        """What stands where a message was refused, as far as it can be told."""
        raise NotImplementedError

    def _page(self, doc: str, page: int) -> None:
        answer: dict[str, Any] = {"type": "page", "doc": doc, "page": page}
        pages = self._review.pages
        try:
            if pages is None:
                raise FormlabError("no page image is known")
            data, width, height = pages.draw(doc, page)
        except (FormlabError, OSError) as error:
            self.send(answer | {"why": clean(error, limit=300)})
            return
        size = {"width": width, "height": height, "pages": pages.count(doc)}
        self.send(answer | size, buffers=[data])


class ReviewWidget(DeskWidget):
    """Draws a `Review`, one item after the other.

    To the messages `hello`, `decide` and `undo` the answers are `state`, `decided` and `undone`.
    """

    _esm = script("review.js")
    items = traitlets.List().tag(sync=True)

    def __init__(self, review: Review) -> None:
        own = {word: clean(title) for word, title in review.titles.items()}
        titles = _TITLES | own
        choices = [
            {
                "word": word, "key": _KEYS[word], "edits": word in ("edit", "label_error"),
                "title": titles.get(word, word.capitalize()),
                "name": own.get(word, word.replace("_", " ")),
            }
            for word in review.words
        ]  # fmt: skip
        words = tuple(review.words)
        super().__init__(
            review,
            items=[_sendable(item) for item in review.items],
            setup={
                "choices": choices, "audit": words == decided.LABEL_AUDIT,
                "values": words == decided.REVIEW,
            },
        )  # fmt: skip

    def _answer(self, what: Any, message: dict[str, Any]) -> None:
        if what == "hello":
            self._review.reload()
            state = {"type": "state", "entries": self._entries()}
            self.send(state | {"first": self._review.first_open})
        elif what == "decide":
            self._decide(message)
        elif what == "undo":
            at = self._review.undo()
            if at is None:
                raise FormlabError("there is nothing to undo")
            self.send(self._entry(at) | {"type": "undone"})

    def _decide(self, message: dict[str, Any]) -> None:
        at, parts = int(message["at"]), message.get("parts")
        if not 0 <= at < len(self.items):
            raise FormlabError(f"there is no item {at}")
        if parts is not None:
            parts = {str(name): str(text) for name, text in dict(parts).items()}
        self._review.decide(at, str(message["decision"]), parts=parts, note=message.get("note"))
        self.send(self._entry(at) | {"type": "decided"})

    def _stands(self, message: Any) -> dict[str, Any]:  # noqa: ARG002 - all of it
        return {"entries": self._entries()}

    def _entries(self) -> dict[str, Any]:
        return {str(at): _shown(row) for at, row in self._review.done.items()}

    def _entry(self, at: int) -> dict[str, Any]:
        row = self._review.done.get(at)
        return {"at": at, "entry": None if row is None else _shown(row)}


def _sendable(item: Item) -> dict[str, Any]:
    """What ``review.js`` draws."""
    texts = item.parts.items()
    return {
        "doc": clean(item.key["doc_id"]), "task": item.key["task"],
        "path": clean(item.key["path"] or "", limit=500),
        "parts": [[name, clean(text, limit=LIMIT), name in LISTS] for name, text in texts],
        "facts": [[name, clean(text, limit=2_000)] for name, text in item.facts],
        "boxes": [[page, *box] for page, box in item.boxes],
        "editable": all(len(text) <= LIMIT for _, text in texts),
    }  # fmt: skip


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    keys = ("decision", "value", "parts", "note", "time")
    return {name: None if row[name] is None else clean(row[name], limit=LIMIT) for name in keys}
