#!/usr/bin/env bash
# What later stages of ci/test.sh need, made at idle priority beside tests that mostly wait: clang-tidy's marks of clean files
# (build/lint), then the build with sanitizers (build/asan).
#   ci/beside.sh
# Says nothing and fails never: what is not made here, or not clean, is made and told by the stage that needs it.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

# Idle among this session's processes, and this session least among others.
echo 19 2>/dev/null >/proc/self/autogroup || true
renice -n 19 -p $$ >/dev/null 2>&1 || true
chrt --idle -p 0 $$ 2>/dev/null || true

mkdir -p build
{ cmake --preset release -B build/lint -DCLUSTERBENCH_TESTS=OFF && ci/lint_tidy.py build/lint; } >build/lint-beside.log 2>&1 </dev/null || true
(build_preset asan) >/dev/null 2>&1 || true
