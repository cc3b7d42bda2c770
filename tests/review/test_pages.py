import io

import polars as pl
import pytest
from PIL import Image

import formlab_review as review
from formlab.errors import FormlabError


def test_a_page_comes_with_its_size_in_the_unit_of_the_boxes(corpus):
    data, width, height = review.Pages(corpus.documents, corpus.root).draw("form", 1)
    assert (width, height) == (400, 200)
    assert Image.open(io.BytesIO(data)).size == (400, 200)


def test_further_pages_are_those_that_the_document_names(corpus):
    Image.new("L", (100, 50), 0).save(corpus.root / "second.png")
    meta = pl.lit('{"pages": ["form.png", "second.png"]}').alias("meta")
    pages = review.Pages(corpus.documents.with_columns(meta), corpus.root)
    assert pages.count("form") == 2
    assert pages.draw("form", 2)[1:] == (100, 50)
    with pytest.raises(FormlabError, match="no image of page 3"):
        pages.draw("form", 3)
