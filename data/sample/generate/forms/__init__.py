"""The sample forms; every name, number and place in them is invented."""

from data.sample.generate.forms import measurements, office, people, trade
from data.sample.generate.forms._spec import Form

FORMS: tuple[Form, ...] = (*office.FORMS, *trade.FORMS, *people.FORMS, *measurements.FORMS)

__all__ = ["FORMS", "Form"]
