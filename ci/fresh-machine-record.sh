#!/usr/bin/env bash
# Remembers on what a run of ci/fresh-machine.sh depended, and says what has changed since.
#   ci/fresh-machine-record.sh                        what changed since each run, a line a run; exit 1 if anything
#   ci/fresh-machine-record.sh SUITE COMMAND WORDS…   writes ci/fresh-machine/SUITE-COMMAND; WORDS go with it
# Counted are packages, bootstrap, the command and CMake, without comments and blank lines; how tests are made counts for test alone.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

# digests COMMAND: "DIGEST FILE" of all that it depends on in a bare machine. Of packages only the names count.
digests() {
  local file files=(CMakeLists.txt CMakePresets.json ci/packages.txt ci/bootstrap.sh ci/common.sh)
  if [ "$1" = quickstart ]; then
    files+=(ci/quickstart.sh)
    for file in ci/cmake/*; do [ "$file" = ci/cmake/tests.cmake ] || files+=("$file"); done
  else
    files+=(ci/test.sh ci/beside.sh ci/cmake/*)
  fi
  for file in "${files[@]}"; do
    printf '%s %s\n' "$(awk -v packages="$file" '
      /^[ \t]*(#|$)/ { next }
      packages == "ci/packages.txt" { $0 = $1 }
      { print }' "$file" | sha256sum | cut -c1-16)" "$file"
  done
}

if [ $# -ge 2 ]; then
  record=ci/fresh-machine/$1-$2
  mkdir -p ci/fresh-machine
  { echo "# ${*:3}" && digests "$2"; } >"$record"
  echo "fresh-machine: recorded in $record; commit it"
  exit 0
fi

status=0
for run in bookworm-quickstart trixie-quickstart bookworm-test trixie-test; do
  record=ci/fresh-machine/$run
  if [ ! -f "$record" ]; then
    echo "fresh-machine: $run was never recorded; run ci/fresh-machine.sh ${run/-/ }"
    status=1
    continue
  fi
  # Files that differ, came or went: their names are the second word of lines that are in one list only.
  changed=$(grep -v '^#' "$record" | sort - <(digests "${run#*-}") | uniq -u | awk '{ print $2 }' | sort -u | paste -sd' ')
  [ -n "$changed" ] || continue
  echo "fresh-machine: $run: changed since it ran: $changed; run ci/fresh-machine.sh ${run/-/ }"
  status=1
done
exit "$status"
