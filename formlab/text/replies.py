"""What services of language models return, single or in batches, as the texts they answered."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

# Names of a request, which its reply repeats.
_REQUESTS = ("custom_id", "key")
# Rows that tell whether any is a reply.
_LOOKED_AT = 20


def text_of(reply: Any) -> str | None:
    """The last tool call, as JSON, or the text of a chat completion or message; None if neither.

    Those of OpenAI, Anthropic, Gemini and Ollama are known, and the messages of a chat. Reasoning
    is left out. An answer without text is the empty text.

    >>> text_of({"choices": [{"message": {"role": "assistant", "content": "9.00"}}]})
    '9.00'
    """
    match reply:
        case (
            {"response": {"body": inner}}
            | {"result": {"message": inner}}
            | {"choices": [{"message": inner}, *_]}
            | {"candidates": [{"content": inner}, *_]}
            | {"message": {"role": _} as inner}
            | {"messages": [*_, {"role": "assistant"} as inner]}
            | {"response": {"candidates": _} as inner}
            | {"output": {"message": {"role": _} as inner}}
            | [{"generated_text": _} as inner]
        ):
            return text_of(inner)
        case {"object": "text_completion", "choices": [{"text": str(text)}, *_]} | {
            "model": _,
            "response": str(text),
            "done": _,
        }:
            return text
        # A form may have fields called role and content.
        case {"generated_text": str(text), **more} if not more:
            return text
        case {"role": "assistant", "tool_calls": [*_, {"function": call}]} | {
            "role": "assistant",
            "function_call": {"name": _} as call,
        }:
            return json.dumps(call)
        case (
            {"role": "assistant", "content": inner}
            | {"role": "model", "parts": inner}
            | {"object": "response", "output": inner}
        ):
            return inner if isinstance(inner, str) else _joined(inner or [])
    return None


def _joined(blocks: Any) -> str | None:
    """The last call among the blocks of a message, else their texts."""
    texts = []
    for block in reversed(blocks) if isinstance(blocks, list) else ():
        match block:
            case {"type": "thinking"} | {"thought": True}:
                continue
            case {"name": str(name), "input": called} | {"name": str(name), "arguments": called}:
                return json.dumps({"name": name, "arguments": called})
            case {"functionCall": {"name": name, "args": called}} | {
                "toolUse": {"name": name, "input": called}
            }:
                return json.dumps({"name": name, "arguments": called})
            case {"text": str(text)}:
                texts.append(text)
            case {"type": "message", "content": inner}:
                texts.append(_joined(inner) or "")
    return "".join(reversed(texts))


def replaced(
    rows: Sequence[Mapping[str, Any]], documents: Collection[str], column: str
) -> Sequence[Mapping[str, Any]]:
    """Rows with the text in place of each reply; a row that is one has it in `column`.

    Of such a row the columns `documents` stay, of which ``id`` is none: it names a reply. A request
    is named by its `custom_id` or `key`, and one that failed has the status ``api_error``.

    >>> body = {"choices": [{"message": {"role": "assistant", "content": "9.00"}}]}
    >>> replaced([{"custom_id": "a", "response": {"body": body}}], ["doc_id"], "response")
    [{'doc_id': 'a', 'response': '9.00'}]
    """
    first = rows[:_LOOKED_AT] if isinstance(rows, list) else ()
    if not any(_is_request(row) or _texts(row) for row in first):
        return rows
    return [_row(row, documents, column) for row in rows]


def _is_request(row: Mapping[str, Any]) -> bool:
    match row:
        case {"custom_id": _, "response": _, "error": _} | {"custom_id": _, "result": {"type": _}}:
            return True
    return False


def in_cells(row: Mapping[str, Any]) -> dict[str, str]:
    """The texts of the cells that are replies, by column."""
    cells = ((name, text_of(cell)) for name, cell in row.items() if isinstance(cell, Mapping))
    return {name: text for name, text in cells if text is not None}


def _texts(row: Mapping[str, Any]) -> dict[str, str]:
    """Those of a row's cells; of a row that is a reply itself, its text at ""."""
    text = text_of(row)
    return in_cells(row) if text is None else {"": text}


def _row(row: Mapping[str, Any], documents: Collection[str], column: str) -> Mapping[str, Any]:
    texts, is_request = _texts(row), _is_request(row)
    if "" not in texts and not is_request:
        return {**row, **texts}
    found = {name: cell for name, cell in row.items() if name in documents}
    request = next((row[name] for name in _REQUESTS if name in row), None)
    found |= {} if found or request is None else {"doc_id": request}
    found[column] = texts.get("", next(iter(texts.values()), None))
    return found if found[column] is not None else found | {"status": "api_error"}
