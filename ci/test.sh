#!/usr/bin/env bash
# Everything that must hold before a change is merged: packages, build with warnings as errors, lint,
# every test, and the unit, command line and fuzz tests once more under ASan and UBSan.
# Exit 0 only if nothing failed. The last line is the count.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

started=$SECONDS
failed=0

# run_tests PRESET [CTEST OPTION…]: goes on after a failure, so that one run shows all of them.
run_tests() {
  local preset=$1
  shift
  rm -rf "build/$preset/junit" "build/$preset/ctest.xml"
  ctest --preset "$preset" --parallel 8 --output-junit "$root/build/$preset/ctest.xml" "$@" \
    </dev/null || failed=1
}

stage "1/4 packages"
ci/bootstrap.sh
stage "2/4 build (ci)"
build_preset ci
stage "3/4 lint and all tests                                   after $(minutes $((SECONDS - started)))"
run_tests ci
stage "4/4 unit, command line and fuzz tests with ASan and UBSan    after $(minutes $((SECONDS - started)))"
build_preset asan
run_tests asan --label-regex '^(unit|cli|fuzz)$'

stage "done in $(minutes $((SECONDS - started)))"
ci/count_tests.py build/ci build/asan || failed=1
exit "$failed"
