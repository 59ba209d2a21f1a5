#!/usr/bin/env bash
# Tries a release in bare roots of Debian: the archive with nothing installed, then with the Open MPI and MPICH of the suite; the .deb beside it; the
# .rpm with `rpm --root`, where rpm is.
#   ci/release-roots.sh [--packages] ARCHIVE [SUITE…]   SUITE is bullseye, bookworm, trixie or forky; the first three where none is named
#   --packages   the .deb and .rpm beside it alone
# Needs root and mmdebstrap, as ci/fresh-machine.sh does. What was tried stands on standard output, a line a command
# (ci/portable/try.sh, ci/portable/try-package.sh); exit 1 if one did not do as it should.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"
packages_alone=false
if [ "${1-}" = --packages ]; then packages_alone=true && shift; fi
[ $# -ge 1 ] || die "which release file? ci/release.sh makes one"
archive=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- bullseye bookworm trixie
# Of the archive's own version and processor: others may lie there too.
[[ $(basename "$archive") =~ ^clusterbench-(.+)-([^-]+)\.tar\.gz$ ]] || die "$archive is named like no release: clusterbench-VERSION-PROCESSOR.tar.gz"
version=${BASH_REMATCH[1]} processor=${BASH_REMATCH[2]} debian=${BASH_REMATCH[2]}
case $processor in x86_64) debian=amd64 ;; aarch64) debian=arm64 ;; esac
deb=$(dirname "$archive")/clusterbench_$version-1_$debian.deb
rpm=$(dirname "$archive")/clusterbench-$version-1.$processor.rpm
for file in "$archive" "$deb" "$rpm"; do [ -f "$file" ] || die "there is no $file; ci/release.sh makes the archive and both packages"; done

# try_rpm FILE SUITE: into the root that the last run left. Nothing in it provides "glibc" by that name, which rpm has to say first.
try_rpm() {
  local file=$1 machine=$root/.cache/fresh-machine/$2 said
  command -v rpm >/dev/null || { echo "not run: rpm --root ($2): no rpm here" && return; }
  rpm --root "$machine" --initdb
  if said=$(rpm --root "$machine" --install "$file" 2>&1); then
    echo "FAILED rpm does not ask for glibc" && return 1
  fi
  grep -q 'glibc >= 2.28 is needed' <<<"$said" || { echo "FAILED rpm: $said" && return 1; }
  rpm --root "$machine" --install --nodeps "$file" || return 1
  echo "ok     rpm --root, after it asked for glibc >= 2.28"
  ci/fresh-machine.sh "$2" --keep 'bash ci/portable/try-package.sh look' || return 1
  rpm --root "$machine" --verify --nodeps clusterbench && rpm --root "$machine" --erase clusterbench || return 1
  [ -z "$(find "$machine/usr" -name '*clusterbench*')" ] || { echo "FAILED rpm left files" && return 1; }
  echo "ok     rpm --verify, rpm --erase: nothing is left"
}

status=0
for suite in "$@"; do
  $packages_alone || ci/fresh-machine.sh "$suite" --with "$archive" 'bash ci/portable/try.sh /srv/*.tar.gz' || status=1
  ci/fresh-machine.sh "$suite" --with "$deb" 'bash ci/portable/try-package.sh install /srv/*.deb' || status=1
  try_rpm "$rpm" "$suite" || status=1
  $packages_alone || ci/fresh-machine.sh "$suite" --keep --with "$archive" 'apt-get update >/dev/null && apt-get install -y --no-install-recommends \
    openmpi-bin mpich >/dev/null && bash ci/portable/try.sh /srv/*.tar.gz mpi' || status=1
done
exit "$status"
