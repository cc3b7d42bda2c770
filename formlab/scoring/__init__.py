"""From gold and predictions to cases and scores."""
