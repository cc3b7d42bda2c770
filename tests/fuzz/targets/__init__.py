"""All that reads files of others, by name."""

from tests.fuzz.targets import (
    answers,
    arena,
    benchmarks,
    chat,
    commands,
    formats,
    logs,
    own_data,
    own_files,
    pages,
    review,
)
from tests.fuzz.verdicts import Target

_ROOMS = (
    benchmarks, formats, logs, own_data, own_files, arena, review, pages, answers, chat, commands,
)  # fmt: skip
TARGETS: dict[str, Target] = {target.name: target for room in _ROOMS for target in room.TARGETS}
