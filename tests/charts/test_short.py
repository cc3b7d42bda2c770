import math

from formlab import analysis
from formlab.charts import score_cards

TITLES = {"click_accuracy": "clicks", "form_completed": "forms without a fault"}


def test_cards_follow_the_titles_and_the_sentence_has_their_figures(summary_of):
    rows = summary_of(
        ("form_completed", 0.0, "document"), ("click_accuracy", 0.4, "field"),
        ("cer", 0.1, "field"),
    )  # fmt: skip
    cards = score_cards(rows, TITLES)
    assert [(card.label, card.value) for card in cards.cards] == [
        ("clicks", 0.4), ("forms without a fault", 0.0),
    ]  # fmt: skip
    assert cards.finding == "x: clicks 0.400; forms without a fault 0.000."


def test_a_claim_follows_the_figures(summary_of):
    rows = summary_of(("click_accuracy", 0.4, "field"))
    finding = analysis.Finding("Dates are ahead", "kinds")
    assert score_cards(rows, TITLES, finding).finding == "x: clicks 0.400. Dates are ahead."


def test_nothing_scored_is_said(summary_of):
    for rows in (summary_of(), summary_of(("click_accuracy", math.nan, "field"))):
        cards = score_cards(rows, TITLES)
        assert (list(cards.cards), cards.finding) == ([], "Nothing was scored.")
