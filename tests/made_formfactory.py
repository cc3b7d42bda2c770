"""A tiny FormFactory made on the spot: two grant applications and one medical study."""

from pathlib import Path

import yaml
from PIL import Image

FILES = yaml.safe_load(Path(__file__).with_suffix(".yml").read_text("utf-8"))


def make(root):
    """Write the files in the released layout below `root`, and give `root` back."""
    for name, content in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
        if name.startswith("labeled-images"):
            Image.new("RGB", (200, 100), "white").save((root / name).with_suffix(".png"))
    return root
