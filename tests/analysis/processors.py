"""What is said of made-up answers, in all digits: run by a test as other processors would."""

import random

import formlab
from formlab import analysis
from formlab.analysis.summarise import surface
from formlab.analysis.what_if import what_if
from tests.analysis.made_pairs import built
from tests.analysis.test_what_if import random_cases


def answered(seed, name):
    """Twelve documents of eight values, of which some are misread, cut short or not there."""
    draw = random.Random(seed)
    gold = {
        f"d{doc}": {f"field {n}": f"{draw.randrange(10**6)} Elm Road {n}" for n in range(8)}
        for doc in range(12)
    }
    spoilt = [
        str,
        str,
        str,
        lambda text: text[2:],
        lambda text: text.replace("m", "rn", 1),
        str.upper,
    ]
    draw = random.Random(f"{seed} {name}")
    answers = {
        doc: {key: draw.choice(spoilt)(text) for key, text in fields.items() if draw.random() < 0.9}
        for doc, fields in gold.items()
    }
    return formlab.evaluate(gold, answers).changed(system=name)


def main():
    one, other = (answered(7, name) for name in ("one", "other"))
    print(
        *(repr(table.rows()) for table in (
            analysis.summarise(one, resamples=200),
            analysis.compare([one, other], resamples=200),
            surface(one, "cer", "length", "path", resamples=50),
            what_if(one, resamples=200),
            what_if(built(random_cases(4, documents=30), []), resamples=200),
            analysis.find_slices(one, alpha=1, min_docs=2, min_cases=4, resamples=20),
        )),
        sep="\n",
    )  # fmt: skip


if __name__ == "__main__":
    main()
