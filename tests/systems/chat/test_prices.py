"""What answers cost, by a file of prices that the user gives."""

import pytest

from formlab.errors import DataBroken, DataMissing
from formlab.systems.chat.prices import Price, price_of
from tests.systems.chat.made_runs import FORM, ran
from tests.systems.scripted_server import serving

PRICE = Price(10_000, 50_000, "EUR", "2026-05-01")
FILES = {
    "p.csv": "model,input,output,currency,date\nother,1,1,,\nm,10000,50000,EUR,2026-05-01\n",
    "p.yaml": "currency: EUR\ndate: 2026-05-01\nmodels:\n  m: {input: 10000, output: 50000}\n",
    "p.json": '[{"model": "m", "input": 1e4, "output": "5e4", "currency": "EUR",'
              '\t"date": "2026-05-01"}]',
    "q.json": '{"date": "2026-05-01", "m": {"input": 10000, "output": 50000, "currency": "EUR"}}',
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_every_form_of_file_says_the_same(tmp_path, name):
    (tmp_path / name).write_text(FILES[name])
    assert price_of("m", prices=tmp_path / name) == PRICE
    assert price_of("absent", prices=tmp_path / name) is None


def test_the_cost_of_answers_has_its_date_and_currency(tmp_path):
    (tmp_path / "p.yaml").write_text(FILES["p.yaml"])
    prices = str(tmp_path / "p.yaml")
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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", "{"), ("p.json", '"m"'), ("p.yaml", "a: [1"), ("p.yaml", "- m\n"),
        ("p.json", '{"m": {"input": true, "output": null}}'), ("p.yaml", "m: 5\n"),
        ("p.json", '{"m": {"input": Infinity, "output": 1}}'),
    ],
)  # fmt: skip
def test_prices_that_are_none_are_one_error(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(DataBroken, match=r"p\.(json|yaml)"):
        price_of("m", prices=tmp_path / name)
    with pytest.raises(DataMissing, match="no such file"):
        price_of("m", prices=tmp_path / "absent.yaml")
