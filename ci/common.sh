# shellcheck shell=bash
# Shared by the scripts in this directory: where the repository is, and the stage headings.

set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cd "$root"
export CLUSTERBENCH_SOURCE_DIR="$root"
jobs=$(nproc)

# Open MPI refuses to start as root unless told twice. Root is the usual user in a CI container.
if [ "$(id -u)" -eq 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi

# help_if_asked "$@": with -h or --help prints the comment at the script's head and ends.
help_if_asked() {
  case ${1:-} in
    -h | --help)
      sed -n '2,/^[^#]/p' "${BASH_SOURCE[1]}" | sed -n '/^# shellcheck/d; s/^# \{0,1\}//p'
      exit 0
      ;;
  esac
}

# stage TEXT: a heading on stderr, so that stdout stays for results.
stage() { printf '── %s\n' "$*" >&2; }

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# built_of: of the builder's lines on standard input the count "[12/345]", in place, where a person sees it.
built_of() {
  local line
  while read -r line; do
    if [ -t 2 ] && [[ $line =~ ^\[[0-9]+/[0-9]+\] ]]; then printf '\r   %s ' "${BASH_REMATCH[0]}" >&2; fi
  done
  if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

# build_preset PRESET [TARGET…]: configures and builds; the output is shown only when it fails.
build_preset() {
  local preset=$1 log="$root/build/$1.log"
  shift
  mkdir -p "$root/build"
  local command=(cmake --build --preset "$preset" --parallel "$jobs")
  [ $# -eq 0 ] || command+=(--target "$@")
  stage "    what the build says goes to $log"
  if ! { cmake --preset "$preset" && "${command[@]}"; } </dev/null 2>&1 | tee "$log" | built_of; then
    grep -nE -A12 'FAILED:|CMake Error|error:' "$log" >&2 || tail -n 60 "$log" >&2
    die "the $preset build failed; everything it said is in $log"
  fi
}

# minutes SECONDS: "1 m 40 s" or "40 s".
minutes() {
  if [ "$1" -ge 60 ]; then printf '%d m %d s' $(($1 / 60)) $(($1 % 60)); else printf '%d s' "$1"; fi
}
