from pathlib import Path

import yaml

from data.sample.generate import arena

SAMPLE = Path(__file__).parents[2] / "data" / "sample" / "arena" / "instances.yaml"


def test_sample_is_what_the_generator_makes(tmp_path):
    arena.write(tmp_path)
    assert (tmp_path / SAMPLE.name).read_bytes() == SAMPLE.read_bytes()
    assert len(yaml.safe_load(SAMPLE.read_text("utf-8"))) == 6
