#!/usr/bin/env bash
# Tries a release file in bare roots of Debian, first with nothing installed, then with the MPI of the suite.
#   ci/release-roots.sh ARCHIVE [SUITE…]     SUITE is bullseye, bookworm or trixie; all three where none is named
# Needs root and mmdebstrap, as ci/fresh-machine.sh does. What was tried stands on standard output, a line a command
# (ci/portable/try.sh); exit 1 if one did not do as it should.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"
[ $# -ge 1 ] || die "which release file? ci/release.sh makes one"
archive=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- bullseye bookworm trixie

status=0
for suite in "$@"; do
  ci/fresh-machine.sh "$suite" --with "$archive" 'bash ci/portable/try.sh /srv/*.tar.gz' || status=1
  ci/fresh-machine.sh "$suite" --keep --with "$archive" 'apt-get update >/dev/null && apt-get install -y --no-install-recommends \
    openmpi-bin >/dev/null && bash ci/portable/try.sh /srv/*.tar.gz mpi' || status=1
done
exit "$status"
