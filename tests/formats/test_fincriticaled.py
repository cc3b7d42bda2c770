import pytest

from formlab.benchmarks._own import OWN
from formlab.errors import DataBroken
from formlab.formats.fincriticaled import FORMAT


def folders(tmp_path, preds):
    (tmp_path / "gold").mkdir()
    for number in range(3):
        (tmp_path / "gold" / f"gold_{number}.txt").write_text(
            f"<p>Page <number>{number}7</number></p>"
        )
    out = tmp_path / "some-model_zero-shot"
    out.mkdir()
    for number, data in preds.items():
        (out / f"pred_{number}.txt").write_bytes(data)
    return OWN["fincriticaled"].load("test", tmp_path), out


def test_pages_are_read_by_number_and_the_folder_names_the_system(tmp_path):
    corpus, out = folders(tmp_path, {0: b"Page 07", 2: b"<p>Page 27</p>"})
    assert FORMAT.is_one(out)
    predictions = FORMAT.read(out, corpus).check()
    assert predictions.system == "some-model_zero-shot"
    assert predictions.records.select("doc_id", "value").rows() == [
        ("0", "Page 07"),
        ("2", "<p>Page 27</p>"),
    ]


def test_latin_1_is_read_and_counted_and_an_empty_page_stays(tmp_path):
    corpus, out = folders(tmp_path, {0: "café 07".encode("latin-1"), 1: b""})
    predictions = FORMAT.read(out, corpus)
    assert predictions.records["value"].to_list() == ["café 07", ""]
    assert predictions.notes == {"files in latin-1": 1}


def test_other_folders_are_not_this_format(tmp_path):
    (tmp_path / "pred_x.txt").write_text("")
    assert not FORMAT.is_one(tmp_path)
    assert not FORMAT.is_one(tmp_path / "pred_x.txt")


def test_two_pages_of_one_number_are_an_error(tmp_path):
    corpus, out = folders(tmp_path, {"2": b"Page 27", "02": b"Page 28"})
    with pytest.raises(DataBroken, match=r"two pages of number 2, the first in pred_02?\.txt"):
        FORMAT.read(out, corpus)
