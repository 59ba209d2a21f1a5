#!/usr/bin/env bash
# Installs the packages of ci/packages.txt that are missing, with apt, as root or through sudo.
#   --print   only list what is missing
#   --build   only what building and running needs, not the test tools
#   --release also what is tried before a release needs: ci/release.sh, ci/release-roots.sh, ci/any-mpi.sh, ci/matrix.sh
#   --cross   also what ci/release.sh --arch aarch64 needs
# Does nothing, and needs no network and no root, when everything is there. Exits 2, and names the packages,
# where they cannot be installed: no root, no sudo, no way to the package sources.
set -euo pipefail
list=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/packages.txt

print_only=false
sections='build test'
for argument in "$@"; do
  case $argument in
    --print) print_only=true ;;
    --build) sections='build' ;;
    --release) sections='build test release' ;;
    --cross) sections='build test release cross' ;;
    --help | -h)
      sed -n '2,8s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    *)
      echo "bootstrap.sh: $argument: unknown option (--print --build --release --cross)" >&2
      exit 2
      ;;
  esac
done

die() {
  printf 'bootstrap.sh: %s\n' "$@" >&2
  exit 2
}

command -v dpkg-query >/dev/null ||
  die "this system has no dpkg; install the equivalents of $list by hand (written for Debian 12 and 13)"

# Names of the wanted sections: the first word of each line that is neither comment nor heading.
mapfile -t wanted < <(awk -v sections=" $sections " '
  /^\[/ { gsub(/[][]/, ""); active = index(sections, " " $0 " "); next }
  active && NF && !/^#/ { print $1 }' "$list")

installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${wanted[@]}" 2>/dev/null |
  awk '$2 == "installed" { print $1 }' || true)
mapfile -t missing < <(comm -23 <(printf '%s\n' "${wanted[@]}" | sort) <(sort -u <<<"$installed"))

if [ ${#missing[@]} -eq 0 ]; then
  echo "packages: all ${#wanted[@]} already there"
  exit 0
fi
echo "packages: ${#missing[@]} of ${#wanted[@]} missing: ${missing[*]}"
if $print_only; then exit 0; fi

by_hand="apt-get install --no-install-recommends ${missing[*]}"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || die "needs root, and there is no sudo" "next: run as root: $by_hand"
  # sudo may ask for a password only where somebody can answer.
  sudo -n true 2>/dev/null || [ -t 0 ] || die "needs root" "next: run as root: $by_hand"
  as_root=(sudo)
fi
# A lock held by another apt is waited for, for a bounded time.
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -o DPkg::Lock::Timeout=120 -o Acquire::Retries=3 "$@" </dev/null
}

echo "packages: installing ${missing[*]}"
# The lists may be absent (fresh container) or old (a version that is gone): refresh and try once more.
if ! apt install -y --no-install-recommends "${missing[@]}"; then
  # A source that does not answer fails no update, so the installation tells.
  apt update || apt update || true
  apt install -y --no-install-recommends "${missing[@]}" ||
    die "could not install: ${missing[*]}" "apt's own message is above: no network, or a source that lacks them" \
      "next: mend /etc/apt, or run where the network is: $by_hand"
fi
