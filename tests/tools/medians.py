"""Figures that vary from round to round and from call to call, for the scripts that compare programs."""
import math


def interval(values):
    """Of the median, 95 %: ranks by the binomial distribution; of fewer than six values the smallest and largest."""
    n, outside, beyond = len(values), 0, 0.5**len(values)
    while beyond + math.comb(n, outside + 1) * 0.5**n <= 0.025:
        outside += 1
        beyond += math.comb(n, outside) * 0.5**n
    return sorted(values)[outside], sorted(values)[n - 1 - outside]


def middle_of_bucket(bucket):
    """The value that stands for a bucket of a histogram: docs/guide/result.md."""
    return 2.0 ** (bucket // 128 - 40) * (1 + (bucket % 128 + 0.5) / 128)


def mean_of_the_middle(metric, of=lambda value: value):
    """Of a metric of a result, over its samples or its histogram: the mean without the 5 % at either end, each value as `of` has it.
    Where ranks poll for each other the times of a call lie on several peaks, and a median between two of them moves by what is between
    them if one in a hundred calls takes the other."""
    pairs = [(middle_of_bucket(b), n) for b, n in metric["histogram"]["buckets"]] if "histogram" in metric else [(v, 1) for v in metric["samples"]]
    pairs = sorted((of(value), count) for value, count in pairs)
    total = sum(count for _, count in pairs)
    low, high = 0.05 * total, 0.95 * total
    before, weighed = 0, 0.0
    for value, count in pairs:
        weighed += max(min(before + count, high) - max(before, low), 0) * value
        before += count
    return weighed / (high - low)
