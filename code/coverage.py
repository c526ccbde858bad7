"""Do the 95% intervals hold what they promise? Simulated clustered scores, whose true mean is known.

    python code/coverage.py [--simulations N]

Each simulation draws documents of 1 to 12 questions, a difficulty for each document, and right or wrong for
each question. The cluster-robust interval should hold the true mean in 93% to 97% of all simulations; the
naive one, which takes questions for independent, does so in less than 90%. Exit code 1 where that is not so.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from xldocbench.uncertainty import ErrorBar, error_bar

DOCUMENTS, LARGEST_DOCUMENT = 80, 12
# Difficulties are drawn from this beta distribution: mean 0.4, alike within a document, far apart between.
ALPHA, BETA = 0.8, 1.2
TRUE_MEAN = ALPHA / (ALPHA + BETA)


def simulate(draws: random.Random) -> tuple[list[float], list[str]]:
    """Return the scores of one simulated benchmark, and the document of each."""
    scores, documents = [], []
    for document in range(DOCUMENTS):
        ease = draws.betavariate(ALPHA, BETA)
        for _ in range(draws.randint(1, LARGEST_DOCUMENT)):
            scores.append(float(draws.random() < ease))
            documents.append(f"document {document}")
    return scores, documents


def coverage(simulations: int, seed: int = 1345) -> tuple[float, float]:
    """Return how often the cluster-robust and the naive interval hold the true mean."""
    draws = random.Random(seed)
    robust = naive = 0
    for _ in range(simulations):
        scores, documents = simulate(draws)
        robust += _holds(error_bar(scores, documents))
        naive += _holds(error_bar(scores, [str(index) for index in range(len(scores))]))
    return robust / simulations, naive / simulations


def _holds(bar: ErrorBar) -> bool:
    return bar.low is not None and bar.high is not None and bar.low <= TRUE_MEAN <= bar.high


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--simulations", type=int, default=4000, help="default: 4000")
    robust, naive = coverage(parser.parse_args(argv).simulations)
    print(f"cluster-robust 95% interval holds the true mean in {robust:.1%}, the naive one in {naive:.1%}")
    return 0 if 0.93 <= robust <= 0.97 and naive < 0.90 else 1


if __name__ == "__main__":
    sys.exit(main())
