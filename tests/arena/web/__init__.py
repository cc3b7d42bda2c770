"""Web pages that are not formlab's, and the server that keeps its own account of what it gets."""
