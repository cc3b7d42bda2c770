"""It has what the gold has, at the places of the page as it was, and loses what is planted."""

import polars as pl

import formlab


@formlab.system("planted", title="known weaknesses", defaults={"weak": "off"}, images=False)
def start(settings, _threads):
    def read(document, root):
        name, kind, amount = (document.get(key) for key in ("doc_id", "degradation", "amount"))
        if document.get("print") == 6 or (kind == "blur" and amount > 1):
            return []
        rows = (root if (root / "corpus").is_dir() else root.parent) / "corpus/records"
        gold = pl.read_parquet(rows) if rows.is_dir() else formlab.load("funsd", root=root).records
        gold = gold.filter(doc_id=f"{document['page_of']}~none" if kind else name)
        wanted = pl.col("value") != "" if "change" in document else pl.col("kind") == "word"
        page = int(name) if name.isdigit() else 0
        lost = page % 3 + (settings["weak"] == "on" and page > 1)
        size = amount if kind == "scale" else 1
        places = pl.col("x0", "y0", "x1", "y1") * size
        gold = gold.filter(wanted)[lost:]
        return gold.select("task", "kind", "path", "page", "value", places).to_dicts()

    return read
