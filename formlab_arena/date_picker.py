"""Chooses a day in the calendars that pages open."""

import datetime
import re
from collections.abc import Collection, Sequence

from formlab_arena.actions import Action, Click, Select
from formlab_arena.observation import Element
from formlab_arena.page_fields import day_of

_MONTH = re.compile(r"\b([A-Z][a-z]{2})[a-z]*\.? (\d{4})\b")
_LATER = re.compile(r"\bnext\b|^[›»>→]$", re.IGNORECASE)
_EARLIER = re.compile(r"\bprev(ious)?\b|^[‹«<←]$", re.IGNORECASE)


class DatePicker:
    """Goes to a day in a calendar that a page has opened: by lists, arrows, and the day itself."""

    def __init__(self, day: datetime.date, before: Collection[str]) -> None:
        self.day, self.before = day, before
        self._turned, self._chosen = 0, set[str]()

    def next(self, elements: Sequence[Element]) -> Action | None:
        """The next action, of the elements that are there now; None where there is no way on."""
        new = [element for element in elements if element.id not in self.before]
        for element in new:
            if element.kind == "select" and (text := self._listed(element)):
                self._chosen.add(element.name + text)
                return Select(element.id, (text,))
            if day_of(element.name) == self.day:
                return Click(element=element.id)
        if months := self._months(new):
            arrow = _LATER if months > 0 else _EARLIER
            for element in new:
                if arrow.search(element.name.strip()) and element.kind != "select":
                    self._turned += 1 if months > 0 else -1
                    return Click(element=element.id)
        # The last days of the month before stand in front of the first.
        named = [e for e in new if e.name.strip() == str(self.day.day)]
        late = self.day.day > 20
        return Click(element=named[-1 if late else 0].id) if named else None

    def _listed(self, element: Element) -> str | None:
        months = [text for text in element.options if text[:3] == f"{self.day:%b}"]
        years = [text for text in element.options if text.strip() == str(self.day.year)]
        text = (months or years or [None])[0]
        return text if text and element.name + text not in self._chosen else None

    def _months(self, new: Sequence[Element]) -> int:
        """How many months there are to go, from the one that is shown or else from today."""
        if self._chosen:
            return 0
        today = datetime.date.today()
        shown = next((match for e in new if (match := _MONTH.search(e.name))), None)
        first = day_of(f"1 {shown[0]}") if shown else None
        turned = 0 if first else self._turned
        year, month = ((first or today).year, (first or today).month)
        return (self.day.year - year) * 12 + self.day.month - month - turned
