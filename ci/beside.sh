#!/usr/bin/env bash
# The last stage of ci/test.sh at idle priority, beside tests that mostly wait: the build with sanitizers (build/asan), and its tests.
#   ci/beside.sh
# Says nothing. Exit 0: all of them passed, and build/asan/ctest.xml has them. Else the stage does and tells it once more.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

# Idle among this session's processes, and this session least among others.
echo 19 2>/dev/null >/proc/self/autogroup || true
renice -n 19 -p $$ >/dev/null 2>&1 || true
chrt --idle -p 0 $$ 2>/dev/null || true

exec >/dev/null 2>&1
build_preset asan
rm -rf build/asan/junit build/asan/ctest.xml build/asan/again.xml
ctest --preset asan --parallel 4 --label-regex '^(unit|fuzz)$' --output-junit "$root/build/asan/ctest.xml" </dev/null
