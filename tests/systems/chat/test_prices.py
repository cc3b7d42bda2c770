"""What answers cost, by a table of prices that the user gives."""

import pytest

from formlab.errors import DataBroken, DataMissing
from formlab.systems.chat.limits import Price, price_of
from tests.systems.chat.made_runs import FORM, ran
from tests.systems.scripted_server import serving

PRICE = Price(10_000, 50_000, "EUR", "2026-05-01")
TABLE = "model,input,output,currency,date\nother,1,1,,\nm,10000,50000,EUR,2026-05-01\n"


def test_the_cost_of_answers_has_its_date_and_currency(tmp_path):
    (tmp_path / "p.csv").write_text(TABLE)
    prices = str(tmp_path / "p.csv")
    assert price_of("m", prices=prices) == PRICE
    assert price_of("absent", prices=prices) is None
    with serving(then=FORM) as server:
        unknown = ran(server, tmp_path / "run")
        # Prices that come later price the answers that are there.
        found = ran(server, tmp_path / "run", prices=prices)
        assert len(server.calls) == 1
        new = ran(server, tmp_path / "new", prices=prices)
    # 100 tokens in at 10,000 a million are 1, 20 out at 50,000 a million are 1.
    assert (unknown.responses["cost"][0], "price" in unknown.settings) == (None, False)
    for run in (found, new):
        assert run.responses["cost"].to_list() == [2.0]
        expected = "10000 in, 50000 out, EUR a million tokens, 2026-05-01"
        assert run.settings["price"] == expected


@pytest.mark.parametrize("sides", ["true,null", "inf,1", "-1,1", ",", "1"])
def test_prices_that_are_none_are_one_error(tmp_path, sides):
    (tmp_path / "p.csv").write_text(f"model,input,output\nm,{sides}\n")
    with pytest.raises(DataBroken, match=r"p\.csv:2"):
        price_of("m", prices=tmp_path / "p.csv")
    with pytest.raises(DataMissing, match="no such file"):
        price_of("m", prices=tmp_path / "absent.csv")
