from formlab.errors import DataBroken, FormlabError, UnknownName


def test_message_says_what_where_and_what_to_try():
    error = DataBroken("broken JSON", where="x.json:7", remedy="mend that line")
    assert str(error) == "broken JSON (x.json:7). Try: mend that line"
    assert isinstance(error, FormlabError)


def test_unknown_name_without_a_near_one_lists_what_is_known():
    assert str(UnknownName.of("system", "zzz", ["ocr"])) == "unknown system 'zzz'. Try: one of: ocr"
