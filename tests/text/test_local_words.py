"""Names of months and days, and signs of currencies: `python -m tests.text.test_local_words`.

They are written down in the package, since babel takes a second to load so many languages, and
another of its versions could read the same answer in another way.
"""

import json
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from unicodedata import normalize

import polars as pl
from babel import Locale, UnknownLocaleError
from babel.core import get_global
from babel.numbers import get_decimal_symbol

from formlab.text import ladders, values
from formlab.text.normalise import WORDS

FILE = Path(values.__file__).with_name("local_words.json")
LANGUAGES = (
    "en af ar az be bg bn bs ca cs cy da de el es et eu fa fi fr ga gl he hi hr hu hy id is it ka"
    " kk km lo lt lv mk mn ms nb ne nl nn pl pt ro ru sk sl sq sr sv sw ta th tr uk ur uz vi"
)


def of_babel():
    """Words of babel and of `words.toml`; what has several meanings in babel is left out."""
    months, signs, days = defaultdict(set), defaultdict(set), set(WORDS["weekdays"].split())
    for locale in map(Locale.parse, LANGUAGES.split()):
        for names in (*locale.days["format"].values(), *locale.days["stand-alone"].values()):
            days |= {values._plain(name).rstrip(".") for name in names.values()}
        for names in (*locale.months["format"].values(), *locale.months["stand-alone"].values()):
            for month, name in names.items():
                months[values._plain(name).rstrip(".")].add(month)
        for code, sign in locale.currency_symbols.items():
            signs[values._plain(sign)].add(code)
    known = sorted((min(numbers), name) for name, numbers in months.items() if len(numbers) == 1)
    months = {name: number for number, name in known}
    for number, names in enumerate(WORDS["other_months"], start=1):
        months |= dict.fromkeys(names.split(), number)
    # Capitals and typewriters leave out accents.
    bare = {"".join(filter(str.isalnum, normalize("NFD", name))): n for name, n in months.items()}
    # Letters alone are a code, or a sign that `words.toml` lists.
    signs = {sign: min(codes) for sign, codes in signs.items() if len(codes) == 1}
    signs = {sign: code for sign, code in signs.items() if not sign.isascii() or "$" in sign}
    codes = sorted(get_global("all_currencies"))
    return {
        "months": bare | months,
        "currencies": {code.lower(): code for code in codes} | signs | values._CURRENCIES,
        "days": sorted(days),
        # Currencies whose country, if it is one, has a decimal comma.
        "commas": [code for code in codes if has_comma(code)],
    }


def has_comma(code):
    with suppress(UnknownLocaleError, ValueError):
        return get_decimal_symbol(f"und_{code[:2]}") == ","


def test_words_of_the_package_are_those_of_babel():
    assert json.loads(FILE.read_text("utf-8")) == of_babel()


def test_a_value_is_right_as_many_countries_and_tools_write_it():
    table = pl.read_csv(Path(__file__).with_name("values.csv"), infer_schema=False)
    kinds = table["type"].replace("boolean", "checkbox")
    right = ladders(table["gold"], table["answer"], kinds)["typed"]
    assert table.filter(right != (table["verdict"] == "right")).is_empty()
    assert not any(map(values.is_null_word, ("[ ]", "☐", "no", "x", "0", "$", "нет")))
    assert all(map(values.is_null_word, ("Unknown", "(blank)", "…", '""', "____", "n.v.t.")))


if __name__ == "__main__":
    text = json.dumps(of_babel(), ensure_ascii=False).replace("], ", "],\n").replace("}, ", "},\n")
    FILE.write_text(f"{text}\n", "utf-8")
