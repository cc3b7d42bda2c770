from formlab import benchmarks
from formlab.systems._runs import first


def test_limit_takes_documents_that_have_an_image(shared):
    corpus = benchmarks.load("sroie", root=shared / "data/sroie")
    there = [bool(i) and (corpus.root / i).is_file() for i in corpus.documents["image"]]
    found, skipped = first(corpus, 8)
    last = [place for place, has in enumerate(there) if has][7]
    assert found.height == 8
    assert all((corpus.root / image).is_file() for image in found["image"])
    assert skipped == there[: last + 1].count(False) > 0
    assert first(corpus, None)[0].height == corpus.documents.height
    whole, none = first(corpus, 8, images=False)
    assert (whole["doc_id"].to_list(), none) == (corpus.documents["doc_id"].to_list()[:8], 0)
