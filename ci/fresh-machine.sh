#!/usr/bin/env bash
# Runs one of the two commands of the README on a bare machine of Debian, and says what happened.
#   ci/fresh-machine.sh [SUITE] [quickstart|test|COMMAND] [OPTION…]
# SUITE is bookworm (the default), trixie, bullseye or forky. COMMAND is any other shell line, run in the clone.
#   --cold         with an empty compiler cache, as the first clone on a new machine
#   --no-name      without a line for the machine's own name in /etc/hosts
#   --no-network   the machine reaches nobody
#   --no-root      as a user without root and without sudo
#   --with FILE    is put into /srv
#   --keep         starts from the root that the last run left, instead of a bare one
# The root is a new one of mmdebstrap with nothing beyond apt, unpacked in .cache/fresh-machine. The clone in it
# is the last commit of this checkout. Needs root. The exit code is the command's. A quickstart or test
# that ends with 0 is recorded in ci/fresh-machine/, which ci/lint.sh compares.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

suite=bookworm
what=quickstart
cold=false keep=false named=true network=true user=root with=
words=()
while [ $# -gt 0 ]; do
  case $1 in
    --cold) cold=true ;;
    --no-name) named=false ;;
    --no-network) network=false ;;
    --no-root) user=engineer ;;
    --keep) keep=true ;;
    --with)
      [ -f "${2-}" ] || die "--with: ${2-}: no such file"
      with=$2
      shift
      ;;
    -*)
      echo "fresh-machine.sh: $1: unknown option (--cold --no-name --no-network --no-root --with --keep)" >&2
      exit 2
      ;;
    *) words+=("$1") ;;
  esac
  shift
done
case ${words[0]-} in bookworm | trixie | bullseye | forky)
  suite=${words[0]}
  words=("${words[@]:1}")
  ;;
esac
[ ${#words[@]} -eq 0 ] || what="${words[*]}"
case $what in quickstart | test) line="ci/$what.sh" ;; *) line=$what ;; esac

[ "$(id -u)" -eq 0 ] || die "needs root, to make a root directory and enter it"
command -v mmdebstrap >/dev/null || die "needs mmdebstrap; next: ci/bootstrap.sh --release"

place=$root/.cache/fresh-machine
base=$place/$suite.tar
machine=$place/$suite
mkdir -p "$place"
# Two runs in one root would spoil each other.
exec 9>"$place/$suite.lock"
flock --nonblock 9 || die "another run uses $machine"

# sources: the lines of this machine's apt for the same distribution, of the other suite.
sources() {
  local here
  here=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # shellcheck disable=SC2016 # the dollars are apt's
  apt-get indextargets --format 'deb $(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v here="$here" -v suite="$suite" '$3 == here || index($3, here "-") == 1 { sub(here, suite, $3); print }' | sort -u
}

# make_base: a minimal root as an archive, kept for the next run; a day old at most.
make_base() {
  if [ -n "$(find "$base" -mmin -1440 2>/dev/null)" ]; then return; fi
  stage "a bare root of $suite with mmdebstrap"
  sources | mmdebstrap --quiet --variant=minbase "$suite" "$place/$suite.new.tar" - >&2 ||
    die "mmdebstrap could not make a root of $suite; its own message is above"
  mv "$place/$suite.new.tar" "$base"
}

# unpack: a new root with this machine's way to the packages, and a clone of the last commit.
unpack() {
  rm -rf --one-file-system "$machine"
  mkdir -p "$machine"
  tar -xf "$base" -C "$machine"
  rm -f "$machine"/etc/apt/sources.list.d/*
  sources >"$machine/etc/apt/sources.list"
  apt-config dump | grep '^Acquire::' >"$machine/etc/apt/apt.conf.d/99fresh-machine" || true
  cp -L /etc/resolv.conf "$machine/etc/resolv.conf"
  git clone --quiet --no-hardlinks "file://$root" "$machine/home/clusterbench"
}

# settle: what differs from run to run.
settle() {
  echo '127.0.0.1 localhost' >"$machine/etc/hosts"
  if $named; then echo "127.0.1.1 fresh-$suite" >>"$machine/etc/hosts"; fi
  if [ "$user" != root ] && ! grep -q "^$user:" "$machine/etc/passwd"; then
    echo "$user:x:1000:1000::/home:/bin/bash" >>"$machine/etc/passwd"
    echo "$user:x:1000:" >>"$machine/etc/group"
    chown -R 1000:1000 "$machine/home"
  fi
  if [ -n "$with" ]; then
    rm -f "$machine"/srv/*
    cp "$with" "$machine/srv/"
  fi
  mkdir -p "$machine/root/.cache/ccache" "$place/apt-$suite/partial"
  $cold || mkdir -p "$place/ccache-$suite"
}

make_base
if ! $keep || [ ! -d "$machine/home/clusterbench" ]; then unpack; fi
settle
commit=$(git -C "$machine/home/clusterbench" rev-parse --short HEAD 2>/dev/null || git rev-parse --short HEAD)
[ -z "$(git status --porcelain --untracked-files=no)" ] || echo "fresh-machine: uncommitted changes are not in it" >&2

log=$place/$suite.log
# The namespaces end with the command, and with them whatever it started and mounted.
enter=(unshare --mount --pid --fork --kill-child --uts --ipc)
$network || enter+=(--net)
stage "$line in a bare $suite at $commit as $user"
started=$SECONDS
status=0
"${enter[@]}" ci/fresh-machine-enter.sh "$machine" "fresh-$suite" "$user" \
  "$place/apt-$suite" "$($cold || echo "$place/ccache-$suite")" "$line" </dev/null 2>&1 | tee "$log" || status=${PIPESTATUS[0]}
took=$(minutes $((SECONDS - started)))

stage "exit $status after $took; all it said is in $log"
if [ "$status" -eq 0 ] && [ "$user" = root ]; then
  case $what in quickstart | test) ci/fresh-machine-record.sh "$suite" "$what" "$(date +%F), $took" ;; esac
fi
exit "$status"
