import csv
import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = (ROOT / "requirements.lock").read_text()
ROWS = list(csv.reader((ROOT / "docs/licences.csv").read_text().splitlines()[1:]))
# What asks whoever passes a program on for more than a notice; MPL asks it for its own files alone.
ASKING = re.compile(r"GPL|General Public|EUPL|SSPL|BUSL|Non-?Commercial|Proprietary", re.I)


def test_every_pin_has_the_hashes_of_its_files_and_no_address():
    pins = re.split(r"\n(?=\S)", LOCK.strip())
    assert len(pins) > 200
    assert [pin for pin in pins if not re.search(r"--hash=sha256:[0-9a-f]{64}\b", pin)] == []
    assert re.findall(r"\w+://|^\s*-[^-]|--(?!hash)\S+", LOCK, re.M) == []


def test_the_licence_of_every_pin_is_listed():
    listed = [(name, version) for name, version, _ in ROWS]
    assert listed == re.findall(r"^([\w.-]+)==([^\s;\\]+)", LOCK, re.M)


def test_no_licence_asks_for_more_than_a_notice():
    assert [row for row in ROWS if ASKING.search(row[2])] == []
    # Its metadata say nothing; its source says BSD. It is an oracle of the tests.
    assert [name for name, _, licence in ROWS if licence == "not stated"] == ["zss"]
