#!/usr/bin/env bash
# The last stage of ci/test.sh at idle priority, beside tests that mostly wait: the build with sanitizers (build/asan), and its tests.
#   ci/beside.sh LABELS       of the tests, such as "unit|fuzz"
# All it says is in build/asan-beside.log. build/asan/ctest.xml is there once all tests have ended; exit 0: they passed.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

# Idle among this session's processes, and this session least among others.
echo 19 2>/dev/null >/proc/self/autogroup || true
renice -n 19 -p $$ >/dev/null 2>&1 || true
chrt --idle -p 0 $$ 2>/dev/null || true

mkdir -p build
exec >build/asan-beside.log 2>&1
build_preset asan
ctest --preset asan --parallel 4 --label-regex "^($1)\$" --output-junit "$root/build/asan/ctest.xml" </dev/null
