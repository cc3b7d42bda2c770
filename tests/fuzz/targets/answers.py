"""What models answer: a text of anything, read without an error, in a short time."""

from collections.abc import Callable
from pathlib import Path

from formlab.metrics._lines import parse_lines
from formlab.metrics.judge import parse as parse_judge
from formlab.text import answers, markup, values
from formlab.text.flow import read as read_flow
from formlab.text.ladder import ladder
from formlab.text.markup import unmarked
from formlab.text.normalise import address, as_text, normalise
from formlab_arena import notation
from tests.fuzz.targets.common import put
from tests.fuzz.verdicts import Found, Target

TEXT = 'Sure:\n```json\n{"fields": [{"label": "Name", "value": "Ada"}], "total": 9.00}\n```'
PAGE = (
    "<html><body><h1>Bill</h1><table><tr><td colspan=2>Tea</td><td>9 &amp; more</td></tr></table>"
    "<p>Total <number>1,279</number> of 03/05/2024</p></body></html>"
)
MARKDOWN = (
    "# Bill\n\n| Item | Price |\n|---|---|\n| tea | **9.00** |\n\n- [x] paid\n- May 3, 2024\n"
)


def _text(folder: Path, name: str) -> str:
    file = folder / name
    if not file.is_file():
        return ""
    return file.read_bytes().decode("utf-8", "replace")


def _target(name: str, file: str, text: str, read: Callable[[str], object]) -> Target:
    def tried(folder: Path) -> Found:
        read(_text(folder, file))
        return Found()

    return Target(f"text/{name}", lambda folder: put(folder, file, text), tried, placeless=True)


def _json(text: str) -> None:
    parsed = answers.parse(text)
    as_text(parsed.value)


def _typed(text: str) -> None:
    for line in text.splitlines()[:20] or [""]:
        for read in (
            values.number,
            values.money,
            values.date,
            values.choices,
            values.checked,
            address,
        ):
            read(line)
        ladder(line, "9.00", kind="money")
        normalise(line)


def _markup(text: str) -> None:
    markup.visible_text(text)
    list(markup.events(text))
    read_flow(text)
    unmarked(text)


VALUES = "9.00\n$1,234.50\n03/05/2024\nMay 3, 2024\nyes\n[x] a, [ ] b\n1 Main St\n1.5e3\n(12)\n٣٤\n"
TARGETS = [
    _target("json", "answer.json", TEXT, _json),
    _target(
        "lines", "answer.txt", "[640,585] Ada Berg\n- [1,2] x\n[A13_2][5,6] Fall\n", parse_lines
    ),
    _target("values", "values.txt", VALUES, _typed),
    _target("html", "page.html", PAGE, _markup),
    _target("markdown", "page.md", MARKDOWN, _markup),
    _target("judge", "answer.json", '{"verdicts": [{"id": 1, "verdict": "correct"}]}', parse_judge),
    _target(
        "actions",
        "actions.txt",
        'click(10, 20)\ntype("Ada")\n{"action": "click", "x": 1, "y": 2}\n',
        notation.parse,
    ),
]
