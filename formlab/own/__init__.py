"""A user's own forms, as `formlab.readers.gold` reads them; see there."""

from formlab.readers.gold import *  # noqa: F403
