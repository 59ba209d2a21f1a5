#!/usr/bin/env bash
# Runs profiles/host-quick.json again and again on this machine, however busy it is, and counts the
# verdicts. usage: ci/repeat-host-quick.sh [TIMES=20] [DIRECTORY]
# Exit 1 if the same machine was both accepted and rejected; about 70 s a run on a quiet machine.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

times=${1:-20}
directory=${2:-$(mktemp -d)}
[ -x build/release/bin/clusterbench ] || build_preset release clusterbench
exec /usr/bin/python3 tests/tools/repeat_verdict.py \
  build/release/bin/clusterbench profiles/host-quick.json "$directory" "$times"
