"""The engine of forms: a template and a seed make pages, with their gold."""
