"""Medians of figures that vary from round to round, for the scripts that compare programs."""
import math


def interval(values):
    """Of the median, 95 %: ranks by the binomial distribution; of fewer than six values the smallest and largest."""
    n, outside, beyond = len(values), 0, 0.5**len(values)
    while beyond + math.comb(n, outside + 1) * 0.5**n <= 0.025:
        outside += 1
        beyond += math.comb(n, outside) * 0.5**n
    return sorted(values)[outside], sorted(values)[n - 1 - outside]
