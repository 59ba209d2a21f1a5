#!/usr/bin/env bash
# Measures what builders wait for: a cold build, a build after one .cpp and after one header, in processor time, since that
# depends little on what else runs, and by the clock.
#   usage: ci/build_times.sh [REVISION...]      default: the commit that is checked out
# Each revision is built in a folder of its own with the preset ci, without a compiler cache, and removed again.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"
root=$PWD
export CCACHE_DISABLE=1
work=$(mktemp -d)
trap 'git -C "$root" worktree prune; rm -rf "$work"' EXIT

# Runs "$@" and writes its processor time and its time by the clock behind the word $what.
timed() {
  local what=$1
  shift
  /usr/bin/time -a -o "$work/times" -f "$what: %U s + %S s of processors, %e s by the clock" "$@" >>"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" && exit 1; }
}

for revision in "${@:-HEAD}"; do
  tree=$work/tree
  git -C "$root" worktree add -q --detach "$tree" "$revision"
  : >"$work/times"
  (cd "$tree" && cmake --preset ci >>"$work/log" 2>&1)
  timed "cold build" cmake --build "$tree/build/ci"
  touch "$tree/src/judge/verdict.cpp" 2>/dev/null || touch "$tree/src/analysis/verdict.cpp"
  timed "after one .cpp (verdict.cpp)" cmake --build "$tree/build/ci"
  touch "$tree/src/core/result.h"
  timed "after one header (result.h)" cmake --build "$tree/build/ci"
  git -C "$root" rev-parse --short "$revision"
  sed 's/^/  /' "$work/times"
  git -C "$root" worktree remove --force "$tree"
done
