#!/usr/bin/env bash
# What the last stage of ci/test.sh needs, made at idle priority beside tests that mostly wait: the build with sanitizers (build/asan).
#   ci/beside.sh
# Says nothing and fails never: what is not made here is made and told by the stage that needs it.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

# Idle among this session's processes, and this session least among others.
echo 19 2>/dev/null >/proc/self/autogroup || true
renice -n 19 -p $$ >/dev/null 2>&1 || true
chrt --idle -p 0 $$ 2>/dev/null || true

(build_preset asan) >/dev/null 2>&1 || true
