#!/usr/bin/env bash
# Compares `mpi` with a plain MPI loop in one job (tests/tools/mpi_compare.cpp): prints the ratio of
# the median times and its spread per operation and size. Two ranks per core or more say nothing.
# Sizes as 1K, 64M; exit code 1 where a median is further than 3 % from the plain loop's.
# Usage (after a build with tests): ci/compare-mpi.sh [BUILD_DIRECTORY] [ROUNDS] [RANKS] [SIZE…]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"
build=${1:-$root/build/ci}
rounds=${2:-9}
ranks=${3:-2}
shift $(($# < 3 ? $# : 3))
# glibc keeps freed memory, for both loops: else Open MPI's temporary memory of a large all_reduce is
# mapped and faulted in again by every call, or not, as the heap happens to look, and that is half of
# the time.
export MALLOC_MMAP_MAX_=0 MALLOC_TRIM_THRESHOLD_=8589934592
exec mpirun --oversubscribe --bind-to none -np "$ranks" "$build/bin/mpi_compare" "$rounds" "$@"
