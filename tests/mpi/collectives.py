"""What the tests of mpi and nccl know of collectives, and how figures are found in a record."""

OPS = ["all_reduce", "all_gather", "reduce_scatter", "alltoall", "broadcast", "reduce", "sendrecv",
       "gather", "scatter", "alltoallv", "pingpong", "pair_one_way", "pair_two_way"]


def factor(op, n):
    """Bus bandwidth over algorithm bandwidth with n ranks."""
    if op == "all_reduce":
        return 2 * (n - 1) / n
    partial = ("all_gather", "reduce_scatter", "alltoall", "alltoallv", "gather", "scatter")
    return (n - 1) / n if op in partial else 1


def metrics(record, name):
    return [m for m in record["metrics"] if m["name"] == name]
