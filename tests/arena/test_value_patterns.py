import pytest

from formlab_arena.option_matching import options_in
from formlab_arena.value_patterns import as_asked


def test_options_are_whole_words_and_the_longer_one_wins():
    assert options_in("Field methods and maths", ["Maths", "Math", "Field Methods"]) == [0, 2]
    assert options_in("", ["", "a"]) == []


@pytest.mark.parametrize(
    ("value", "hint", "written"),
    [
        ("3rd of May 1990", "DD/MM/YYYY", "03/05/1990"),
        ("May 3, 1990", "mm/dd/yyyy", "05/03/1990"),
        ("1990-05-03", "dd.mm.yy", "03.05.90"),
        ("3 May 1990", "", "3 May 1990"),
        ("soon", "DD/MM/YYYY", "soon"),
        ("31 February 2020", "YYYY-MM-DD", "31 February 2020"),
    ],
)
def test_dates_are_written_as_the_field_asks(value, hint, written):
    assert as_asked(value, hint) == written
