"""All that reads files of others, by name."""

from tests.fuzz.targets import (
    answers,
    benchmarks,
    commands,
    formats,
    logs,
    own_data,
    own_files,
    pages,
)
from tests.fuzz.verdicts import Target

_ROOMS = (benchmarks, formats, logs, own_data, own_files, pages, answers, commands)
TARGETS: dict[str, Target] = {target.name: target for room in _ROOMS for target in room.TARGETS}
