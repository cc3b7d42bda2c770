import pytest

from formlab_arena.option_matching import closest, file_named, options_in, several


def test_options_are_whole_words_and_the_longer_one_wins():
    assert options_in("Field methods and maths", ["Maths", "Math", "Field Methods"]) == [0, 2]
    assert options_in("", ["", "a"]) == []


@pytest.mark.parametrize(
    ("value", "options", "chosen"),
    [
        ("No", ["Please select", "Yes", "No"], "No"),
        ("true", ["No", "Yes"], "Yes"),
        ("urgent", ["Urgent - System Down", "Normal"], "Urgent - System Down"),
        ("Urgent-System Down", ["Urgent - System Down", "Normal"], "Urgent - System Down"),
        ("UK", ["United States", "United Kingdom"], "United Kingdom"),
        ("12", ["1-10", "11-50", "51+"], "11-50"),
        ("5", ["1", "5", "50"], "5"),
        ("Enginering", ["Sales", "Engineering"], "Engineering"),
        ("the second one", ["First", "Third"], None),
        ("Select", ["Select…", "Other"], None),
        ("", ["", "a"], None),
    ],
)
def test_option_is_found_by_what_it_means(value, options, chosen):
    at = closest(value, options)
    assert (None if at is None else options[at]) == chosen


def test_several_options_stand_between_commas_lines_and_words():
    options = ["Choose", "Rail", "Bus pass", "Milk, cold", "Tea"]
    assert several("- rail\n- BUS PASS", options) == [1, 2]
    assert several("Milk, cold & tea", options) == [3, 4]
    assert several("none of them", options) == []


def test_file_is_named_by_the_text_its_label_or_alone():
    files = ("cv.pdf", "my-cv.pdf", "photo.png")
    assert file_named("Résumé", "see my-cv.pdf", files) == "my-cv.pdf"
    assert file_named("Photo of you", "", files) == "photo.png"
    assert file_named("Résumé", "", files) is None
    assert file_named("Résumé", "", files[:1]) == "cv.pdf"
