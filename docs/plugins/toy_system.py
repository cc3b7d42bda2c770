"""A system of one's own: it reads ``name: value`` from the lines of a text file.

    formlab --plugin toy_benchmark.py --plugin toy_system.py run receipts --root FOLDER \
        --system lines --workers 2 --out RUN
"""

import formlab


@formlab.system("lines", title="lines of text", defaults={"separator": ":"}, images=False)
def start(settings, _threads):
    """Called once in each process; gives the function that reads one document."""

    def read(document, root):
        rows = []
        for line in (root / f"{document['doc_id']}.txt").read_text().splitlines():
            name, found, value = line.partition(settings["separator"])
            if found:
                path = f"/{name.strip().lower()}"
                rows.append({"task": "text", "path": path, "kind": "line", "value": value.strip()})
        return rows

    return read
