"""pairs.py - what two contestants differ by, where the machine's speed wanders by more than that.

Contestants of a paired contest take short turns in one process, in another order each round, and are
compared within the round: what the machine did meanwhile is in both. The median of the differences
counts, with an interval that holds it in 95 of 100 such runs whatever the differences are spread like.
"""

from __future__ import annotations

import math
import operator
import statistics
from collections.abc import Callable, Sequence

LEVEL = 0.95


def by_round(a: Sequence[float], b: Sequence[float],
             how: Callable[[float, float], float] = operator.sub) -> list[float]:
    """What each round of one is to the same round of the other; both took part in each."""
    return [how(x, y) for x, y in zip(a, b, strict=True)]


def of_places(values: Sequence[float], n_places: int) -> list[float]:
    """What counts of rounds at several places, as many at each and one place after the other: the
    median of each place. The rounds of one tell nothing of another. At a single place all count."""
    if n_places == 1:
        return list(values)
    n, left = divmod(len(values), n_places)
    if left != 0:
        raise ValueError(f"{len(values)} rounds are not as many at each of {n_places} places")
    return [statistics.median(values[i * n:(i + 1) * n]) for i in range(n_places)]


def interval(values: Sequence[float], level: float = LEVEL) -> tuple[float, float]:
    """Of the median of what the values are drawn from. As many of n values lie below it as n coins
    show heads; the ends are the k-th value from either side, where fewer than k heads are rare
    enough. Of fewer than six values even the outermost hold it less often than that."""
    ordered = sorted(values)
    n = len(ordered)
    k, fewer = 1, 1 / 2**n  # the chance of fewer than k heads
    while True:
        fewer += math.comb(n, k) / 2**n
        if fewer > (1 - level) / 2:
            return ordered[k - 1], ordered[n - k]
        k += 1
