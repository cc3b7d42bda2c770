"""The form-filling platform: forms, a server for them, and agents that fill them in."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from formlab_arena.clicks import click_and_value, misses
    from formlab_arena.fault_chains import propagation
    from formlab_arena.form_url import fill_tasks, fill_url
    from formlab_arena.instances import Instance, make
    from formlab_arena.run import RunSettings, fill
    from formlab_arena.screens import by_screen
    from formlab_arena.spec import WebForm, form, forms
    from formlab_arena.stages import loss_stages

__all__ = [
    "Instance", "RunSettings", "WebForm", "by_screen", "click_and_value", "fill", "fill_tasks",
    "fill_url", "form", "forms", "loss_stages", "make", "misses", "propagation",
]  # fmt: skip

_HOME = {
    "Instance": "instances", "RunSettings": "run", "fill": "run", "fill_tasks": "form_url",
    "fill_url": "form_url", "make": "instances", "by_screen": "screens",
    "click_and_value": "clicks", "loss_stages": "stages", "misses": "clicks",
    "propagation": "fault_chains",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    # Imported when first used: the commands are listed without it.
    if name not in __all__:
        raise AttributeError(f"module 'formlab_arena' has no attribute {name!r}")
    home = import_module(f"formlab_arena.{_HOME.get(name, 'spec')}")
    return import_module("formlab.tables").either(getattr(home, name))


def register_env() -> None:
    """Make ``formlab/Form-v0`` known to Gymnasium, which calls this when it is imported."""
    import gymnasium

    if "formlab/Form-v0" not in gymnasium.registry:
        gymnasium.register("formlab/Form-v0", entry_point="formlab_arena.env:FormEnv")
