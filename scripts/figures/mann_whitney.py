"""The test of Mann and Whitney (1947): do the samples of one set lie above those of another?

It ranks, and so asks nothing of the distribution; times have a long tail. Equal samples share
their mean rank.
"""

import math

import numpy as np

# So many samples, both sets together: then all counts of the exact distribution are whole numbers
# that a double holds. 28 can be chosen of 56 in less than 2^53 ways.
_EXACT_SAMPLES = 56


def _doubled_ranks(values):
    """Twice the rank of each value, 1 for the smallest, so that shared ranks are whole as well."""
    _, group, size = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    return (2 * last - size + 1)[group]


def _exact(ranks, chosen, distance):
    """The share of all ways to choose that many ranks whose sum is at least so far from the mean.

    ways[k, s] counts the ways to choose k of the ranks so far with sum s.
    """
    total = int(ranks.sum())
    ways = np.zeros((chosen + 1, total + 1))
    ways[0, 0] = 1
    for rank in ranks:
        ways[1:, rank:] += ways[:-1, : total + 1 - rank]
    far = np.abs(np.arange(total + 1) - chosen * (len(ranks) + 1)) >= distance
    return float(ways[chosen, far].sum() / math.comb(len(ranks), chosen))


def _normal(ranks, chosen, distance):
    """The same by the normal distribution, corrected for continuity; `ranks` carry the ties."""
    number = len(ranks)
    variance = np.var(ranks) * chosen * (number - chosen) / (number - 1)
    if variance == 0:
        return 1.0
    return math.erfc(max(distance - 1, 0) / math.sqrt(2 * variance))


def p_value(first, second):
    """How probable it is that samples that come from one distribution differ at least so much.

    Two-sided; exact, ties included, unless there are too many samples, then by the normal
    distribution. 1 if one of the sets is empty.
    """
    if len(first) == 0 or len(second) == 0:
        return 1.0
    ranks = _doubled_ranks(np.concatenate([first, second]))
    distance = abs(int(ranks[: len(first)].sum()) - len(first) * (len(ranks) + 1))
    test = _exact if len(ranks) <= _EXACT_SAMPLES else _normal
    return test(ranks, len(first), distance)


def smallest_p_value(first, second):
    """The p-value if all of the one set lay below all of the other; arguments are numbers."""
    return min(1.0, 2 / math.comb(first + second, first))
