"""Tests of scripts/figures/mann_whitney.py against enumeration and published tables."""

import itertools
import random
import unittest

from support import needs, test_seed

needs("numpy")

from figures import mann_whitney  # noqa: E402


def brute_force(first, second):
    """The two-sided p-value by going through every way to label the samples."""
    pooled = sorted([*first, *second])

    def rank(value):
        return sum((other < value) + (other == value) / 2 for other in pooled) + 0.5

    ranks = [rank(value) for value in [*first, *second]]
    mean = len(first) * (len(ranks) + 1) / 2
    seen = abs(sum(ranks[: len(first)]) - mean)
    sums = [sum(choice) for choice in itertools.combinations(ranks, len(first))]
    return sum(abs(value - mean) >= seen for value in sums) / len(sums)


class MannWhitneyTest(unittest.TestCase):
    def test_equals_enumeration_with_and_without_ties(self):
        seed = test_seed()
        dice = random.Random(seed)
        for _ in range(60):
            different = dice.choice([2, 4, 1000])  # few: many ties
            first, second = (
                [dice.randrange(different) / 7 for _ in range(dice.randint(1, 5))]
                for _ in range(2)
            )
            with self.subTest(seed=seed, first=first, second=second):
                self.assertAlmostEqual(
                    mann_whitney.p_value(first, second), brute_force(first, second), places=12
                )

    def test_published_critical_values(self):
        # Mann & Whitney's U of 2 and 3 for five against five: two-sided 8/252 and 14/252.
        below = [1, 2, 3, 4, 7]
        self.assertAlmostEqual(mann_whitney.p_value(below, [5, 6, 8, 9, 10]), 8 / 252)
        below = [1, 2, 3, 4, 8]
        self.assertAlmostEqual(mann_whitney.p_value(below, [5, 6, 7, 9, 10]), 14 / 252)

    def test_is_symmetric_and_knows_only_the_order(self):
        first, second = [3.0, 9.0, 4.0, 4.0], [5.0, 4.0, 20.0]
        p = mann_whitney.p_value(first, second)
        self.assertAlmostEqual(p, mann_whitney.p_value(second, first))
        cubes = [[value**3 for value in values] for values in (first, second)]
        self.assertAlmostEqual(p, mann_whitney.p_value(*cubes))

    def test_apart_equal_and_empty(self):
        self.assertAlmostEqual(mann_whitney.p_value([1] * 5, [2] * 5), 2 / 252)
        self.assertAlmostEqual(mann_whitney.p_value(range(5), range(9, 14)), 2 / 252)
        self.assertEqual(mann_whitney.smallest_p_value(5, 5), 2 / 252)
        self.assertEqual(mann_whitney.p_value([4, 4, 4], [4, 4]), 1)
        self.assertEqual(mann_whitney.p_value([], [4, 4]), 1)

    def test_many_samples_go_on_where_the_exact_ones_stop(self):
        first = list(range(0, 56, 2))
        second = [2 * i + 1 + (12 if i % 3 == 0 else 0) for i in range(28)]
        exact = mann_whitney.p_value(first, second)
        ranks = mann_whitney._doubled_ranks([*first, *second])
        distance = abs(int(ranks[:28].sum()) - 28 * 57)
        self.assertAlmostEqual(exact, mann_whitney._normal(ranks, 28, distance), delta=0.003)
        self.assertLess(mann_whitney.p_value(range(100), range(50, 150)), 1e-6)
        self.assertGreater(mann_whitney.p_value(range(0, 200, 2), range(1, 201, 2)), 0.5)
        self.assertEqual(mann_whitney.p_value([7] * 100, [7] * 100), 1)


if __name__ == "__main__":
    unittest.main()
