"""The form-filling platform: forms, a server for them, and agents that fill them in."""

from formlab_arena.form_url import fill_url
from formlab_arena.instances import Instance, make
from formlab_arena.run import Settings, fill
from formlab_arena.spec import Form, form, forms

__all__ = ["Form", "Instance", "Settings", "fill", "fill_url", "form", "forms", "make"]
