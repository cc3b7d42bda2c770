"""Buttons on a screenshot by their words and looks, and what pages say of what they refuse."""

import re

from formlab_arena.screen import ScreenField

ONWARD = re.compile(r"(?:next|continue|proceed|forward|review)\b", re.IGNORECASE)
SEND = re.compile(
    r"(?:submit|send|apply|register|sign up|place order|book|finish|done|confirm|complete|enrol"
    r"|join|order|request|report|pay|create|subscribe|get started|save)",
    re.IGNORECASE,
)
CONFIRM = re.compile(r"(?:confirm|yes|ok)\b", re.IGNORECASE)
OTHER = re.compile(
    r"(?:back|previous|cancel|reset|clear|close|log ?in|sign ?in|search|home|menu"
    r"|save (?:as |a )?draft|decline|reject)\b",
    re.IGNORECASE,
)
ACCEPT = re.compile(
    r"(?:accept|agree|allow|i agree|got it|ok|understood|i understand)", re.IGNORECASE
)
# What pages and browsers say of a field they refuse.
WRONG = re.compile(
    r"please (?:fill|select|check|enter|match|choose|provide|include|complete|correct|tick|answer)"
    r"|is required|(?:this|required) field|must (?:be|have|contain|match)|invalid|not (?:a )?valid"
    r"|can(?:no|['’])t be|value must|missing",
    re.IGNORECASE,
)


def goes_on(field: ScreenField) -> bool:
    """Whether a button says that it goes on or sends."""
    text = field.text.strip()
    return bool(ONWARD.match(text) or SEND.match(text))


def is_button(field: ScreenField) -> bool:
    """Whether a field is a button: it looks like one, or has the words of one and no label."""
    if field.kind == "button":
        return True
    text = field.text.strip()
    words = ONWARD.match(text) or SEND.match(text) or OTHER.match(text)
    # A box with a label and a typed sentence in it is none, however the sentence begins.
    low = field.box[2] - field.box[0] < 420 and not field.kind
    return words is not None and len(text) <= 30 and low
