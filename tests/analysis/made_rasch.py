"""Who is right on what, drawn from abilities and difficulties that are known."""

import numpy as np

ABILITIES = np.array([-1.0, 0.0, 0.7, 2.0])
# Fields of one document are alike: 0.8 of the deviation is the document's, 1.2 the field's own.
SPREAD = np.hypot(0.8, 1.2)


def simulated(seed, documents=40, fields=12, abilities=ABILITIES):
    """Who is right, shape (documents, fields, systems), and the difficulties behind it."""
    drawn = np.random.default_rng(seed)
    own = drawn.normal(0, 1.2, (documents, fields))
    difficulty = own + drawn.normal(0, 0.8, (documents, 1))
    chance = 1 / (1 + np.exp(-(abilities - difficulty[..., None])))
    return (drawn.random(chance.shape) < chance).astype(float), difficulty


def patterns_of(right):
    flat = right.reshape(-1, right.shape[-1])
    patterns, number = np.unique(flat, axis=0, return_inverse=True)
    number = number.reshape(right.shape[:2])
    return patterns, np.stack([np.bincount(row, minlength=len(patterns)) for row in number]), number
