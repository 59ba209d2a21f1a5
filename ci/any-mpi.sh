#!/usr/bin/env bash
# Runs the same binary under each MPI that can be had, and beside a plain loop that is linked to it.
#   ci/any-mpi.sh [BINARY] [ROUNDS [NAME…]]
#   NAME   only these: srun, or as it is printed, as "PyPI's Intel MPI". What was not decided is run again as a whole, for
#          all points: to repeat until one passes decides nothing
# Debian's Open MPI and MPICH, and from PyPI, in .cache/any-mpi: Open MPI 5, MPICH 5, the same by the standard ABI of MPI 5,
# and Intel MPI; then Debian's Open MPI by srun and PMIx, in a Slurm of two nodes of the namespace lab, which needs root.
# Prints for each the library that the binary found, whether every result was right, and the ratio of the times,
# clusterbench over the plain loop, of the slowest rank: median over the rounds and its 95 % interval. A round is one job for
# each point: the loop stands before the MPI as a library and runs in the same ranks, before and after clusterbench measures, since
# two starts of one program differ by 10 % and more. A line says what could not be had or compared. Exit 1 if a job failed, a result was wrong,
# a median is not shown to be at most 1.03 (its interval reaches over it: more rounds decide; or the loop takes longer, or changed
# itself by more than that from before to after), or none could be compared. With 0 rounds nothing is compared. 30 rounds take
# three quarters of an hour, on an idle machine.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"
binary=$(realpath "${1:-$root/build/ci/bin/clusterbench}")
rounds=${2:-30}
exec /usr/bin/python3 tests/tools/any_mpi.py "$binary" "$rounds" "$root/.cache/any-mpi" "${@:3}"
