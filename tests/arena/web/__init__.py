"""Web pages that are not formlab's, and the server that keeps its own account of what it gets."""

from tests.arena.web.hosting import PAGES, Page, hosting, lines, pages

__all__ = ["PAGES", "Page", "hosting", "lines", "pages"]
