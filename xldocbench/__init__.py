"""xldocbench: the deterministic scorer of XL-DocBench, re-implemented.

``score`` judges one prediction; ``evaluate`` builds a whole report. Everything lives in
:mod:`xldocbench.evaluate`, which is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xldocbench.evaluate import (
        EvaluationError,
        Score,
        Totals,
        __version__,
        accuracy_score,
        anls_score,
        extract_number,
        levenshtein_distance,
        load_gold_records,
        load_predictions,
        normalize_answer,
        normalized_levenshtein_similarity,
        score,
        token_f1_score,
    )

__all__ = [
    "EvaluationError",
    "Score",
    "Totals",
    "__version__",
    "accuracy_score",
    "anls_score",
    "extract_number",
    "levenshtein_distance",
    "load_gold_records",
    "load_predictions",
    "normalize_answer",
    "normalized_levenshtein_similarity",
    "score",
    "token_f1_score",
]


def __getattr__(name: str) -> object:
    # Importing eagerly would load evaluate.py twice under `python -m xldocbench.evaluate`, with a warning.
    # The function `evaluate` is not exported: its name is the submodule's.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("xldocbench.evaluate"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
