#!/usr/bin/env bash
# Compares `mpi` with a plain MPI loop in one job (tests/tools/mpi_compare.cpp): prints the ratio of
# the median times and its spread per operation and size. Two ranks per core or more say nothing.
# Usage: ci/compare-mpi.sh [BUILD_DIRECTORY] [ROUNDS] [RANKS] [SIZE…]
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
build=${1:-$root/build/release}
rounds=${2:-9}
ranks=${3:-2}
shift $(($# < 3 ? $# : 3))
exec mpirun --oversubscribe --bind-to none -np "$ranks" "$build/bin/mpi_compare" "$rounds" "$@"
