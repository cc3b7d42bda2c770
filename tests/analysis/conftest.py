from tests.scoring.conftest import corpus, evaluate

__all__ = ["corpus", "evaluate"]
