"""How each family of tasks is scored: one file each, one registry line each."""

from __future__ import annotations

from collections.abc import Callable

from formlab.analysis.tasks import text
from formlab.analysis.tasks._spec import Scored

# A task that no benchmark's gold has is not scored; one without an entry here has no scorer yet.
TASKS: dict[str, Callable[..., Scored]] = {
    "text": text.score,
}
