"""What services of language models return, single or in batches, as the texts they answered."""

import json
from collections.abc import Collection, Mapping
from typing import Any

Row = Mapping[str, Any]


def text_of(reply: Any) -> str | None:
    """The last tool call, as JSON, or the text of a chat completion or message; None if neither."""
    # Of OpenAI, Anthropic, Gemini and Ollama, and the messages of a chat, without reasoning.
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
        case {"object": "text_completion", "choices": [{"text": str(text)}, *_]}:
            return text
        case {"model": _, "response": str(text), "done": _}:
            return text
        case {"generated_text": str(text), **more} if not more:
            return text
        # A form may have fields called role and content.
        case {"role": "assistant", "tool_calls": [*_, {"function": call}]}:
            return json.dumps(call)
        case {"role": "assistant", "function_call": {"name": _} as call}:
            return json.dumps(call)
        case (
            {"role": "assistant", "content": inner}
            | {"role": "model", "parts": inner}
            | {"object": "response", "output": inner}
        ):
            return inner if isinstance(inner, str) else _joined(inner or [])
    return None


def _joined(blocks: Any) -> str:
    """The last call among the blocks of a message, else their texts."""
    texts = []
    for block in reversed(blocks) if isinstance(blocks, list) else ():
        match block:
            case {"type": "thinking"} | {"thought": True}:
                continue
            case (
                {"name": str(name), "input": called}
                | {"name": str(name), "arguments": called}
                | {"functionCall": {"name": name, "args": called}}
                | {"toolUse": {"name": name, "input": called}}
            ):
                return json.dumps({"name": name, "arguments": called})
            case {"text": str(text)}:
                texts.append(text)
            case {"type": "message", "content": inner}:
                texts.append(_joined(inner))
    return "".join(reversed(texts))


def in_cells(row: Row) -> dict[str, str]:
    """The texts of the cells that are replies, by column."""
    cells = ((name, text_of(cell)) for name, cell in row.items() if isinstance(cell, Mapping))
    return {name: text for name, text in cells if text is not None}


def replaced(row: Row, documents: Collection[str], column: str) -> Row:
    """A row with the text in place of each reply; a row that is one has it in `column`."""
    text, cells = text_of(row), in_cells(row)
    match row:
        case {"custom_id": _, "response": _, "error": _} | {"custom_id": _, "result": {"type": _}}:
            text = next(iter(cells.values()), None) if text is None else text
        case _ if text is None:
            return {**row, **cells}
    found = {name: cell for name, cell in row.items() if name in documents}
    # A request is named by its `custom_id` or `key`; ``id`` names a reply.
    request = next((row[name] for name in ("custom_id", "key") if name in row), None)
    found |= {} if found or request is None else {"doc_id": request}
    return found | ({column: text} if text is not None else {column: None, "status": "api_error"})
