"""Put the notebooks, samples and published tables of the top level into the wheel."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SHIPPED = "formlab/_shipped"


class ShipResources(BuildHookInterface):
    """Maps top-level folders into the package; an editable install reads them in place."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before it writes a wheel."""
        if version == "editable":
            return
        root = Path(self.root)
        chosen = [
            *root.glob("notebooks/*.ipynb"),
            *root.glob("data/published/*.csv"),
            # The generators draw the samples: whoever reads them needs none.
            *(path for path in root.glob("data/sample/*") if path.name != "generate"),
        ]
        for path in sorted(chosen):
            place = path.relative_to(root).as_posix()
            build_data["force_include"][str(path)] = f"{SHIPPED}/{place}"
