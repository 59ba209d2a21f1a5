# shellcheck shell=bash
# Shared by libraries.sh and cuda.sh: the files of ci/portable/inputs.txt, fetched once and compared with their sums.

place=${root:?}/.cache/release
inputs=${CLUSTERBENCH_RELEASE_INPUTS:-$place/inputs}
list=$root/ci/portable/inputs.txt

# entry NAME FIELD: of that line of the list; kind 1, name 2, version 3, sum 4, file 5.
entry() { awk -v name="$1" -v field="$2" '!/^#/ && $2 == name { print $field }' "$list"; }
good() { [ -f "$inputs/$(entry "$1" 5)" ] && sha256sum --quiet -c - <<<"$(entry "$1" 4)  $inputs/$(entry "$1" 5)" 2>/dev/null; }

# from_apt LINE WORDS…: apt-get WORDS with lists of its own, of the sources that apt-get indextargets prints as LINE: this machine's apt may
# not have them, and stays as it is. Options (-o NAME=VALUE) may stand before the other words.
from_apt() {
  local apt=$place/apt line=$1
  shift
  mkdir -p "$apt/lists/partial" "$apt/archives/partial"
  apt-get indextargets --format "$line" 'Created-By: Packages' 'Origin: Debian' | sort -u >"$apt/sources.list"
  local options=(-qq -o "Dir::Etc::SourceList=$apt/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$apt/lists" -o "Dir::Cache=$apt" -o APT::Sandbox::User=root)
  while [ "${1-}" = -o ]; do
    options+=(-o "$2")
    shift 2
  done
  apt-get "${options[@]}" update && (cd "$inputs" && apt-get "${options[@]}" "$@")
}

key='[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]'
fetch() {
  local name=$1 version
  version=$(entry "$name" 3)
  stage "fetching $(entry "$name" 5)"
  case $(entry "$name" 1) in
    source) from_apt "deb-src $key \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" source --download-only "$name=$version" ;;
    non-free) from_apt "deb $key \$(REPO_URI) \$(RELEASE) non-free" download "$name=$version" ;;
    wheel)
      python3 -m pip --version >/dev/null 2>&1 || die "needs pip; next: ci/bootstrap.sh --release"
      python3 -m pip download --quiet --no-deps --only-binary :all: --platform manylinux_2_12_x86_64 --dest "$inputs" "$name==$version"
      ;;
  esac >"$place/fetch.log" 2>&1 || tail -n 5 "$place/fetch.log" >&2
  good "$name" || die "$(entry "$name" 5) is missing or differs from its SHA-256 in $list; next: put it into $inputs (no network?)"
}
