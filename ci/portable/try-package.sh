#!/usr/bin/env bash
# Tries a package of the release where it was just installed: ci/portable/try-package.sh install FILE | look
#   install FILE   by apt, without what it recommends; then look; then remove
#   look           the program, profiles, manual pages and completion, as far as man and bash-completion are there
# A line a check; exit 1 if one fails. ci/release-roots.sh starts it in bare roots.
set -euo pipefail
case ${1-} in
  -h | --help | '')
    sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
status=0
doc=/usr/share/doc/clusterbench

# holds TEXT COMMAND…: says whether it ends with 0, and the last line of what it said.
holds() {
  local text=$1 said
  shift
  if said=$(timeout 300 "$@" 2>&1 </dev/null); then
    printf 'ok     %s: %s\n' "$text" "$(grep -v '^$' <<<"$said" | tail -n 1 | cut -c1-100 || true)"
  else
    printf 'FAILED %s: %s\n' "$text" "$(tail -n 5 <<<"$said")"
    status=1
  fi
}

look() {
  holds "the program" clusterbench --version
  holds "list" clusterbench list
  holds "profiles" bash -c 'clusterbench profile list | grep -q h20-cluster && clusterbench profile validate host-quick'
  holds "report of the example" bash -c "clusterbench report $doc/docs/examples/host/campaign --html /tmp/en.html && cmp /tmp/en.html $doc/docs/examples/host/report.en.html"
  holds "gemm" clusterbench gemm --device cpu --dtype fp64,fp32 --size 1024 --duration 1s
  holds "licences and list of parts" bash -c "[ \$(ls $doc/licences | wc -l) -ge 10 ] && grep -q SPDX-2.3 $doc/sbom.spdx.json"
  # shellcheck disable=SC2016 # the dollar is the other shell's
  holds "completion" bash -c '. /usr/share/bash-completion/completions/clusterbench; compopt() { :; }; COMP_WORDS=(clusterbench gemm --dty); COMP_CWORD=2; _clusterbench; [ "${COMPREPLY[*]}" = --dtype ]'
  if [ -f /usr/share/bash-completion/bash_completion ]; then
    holds "completion is found by bash-completion" bash -c '. /usr/share/bash-completion/bash_completion; __load_completion clusterbench; complete -p clusterbench'
  fi
  if command -v man >/dev/null; then
    holds "a manual page" bash -c 'man -w clusterbench-run && man clusterbench-gemm | grep -q -e --dtype && man -k clusterbench 2>/dev/null | tail -n 1'
  fi
}

case $1 in
  install)
    # shellcheck source=/dev/null
    . /etc/os-release
    echo "$PRETTY_NAME, $(getconf GNU_LIBC_VERSION), $(dpkg-query -f '.' -W | wc -c) packages"
    export DEBIAN_FRONTEND=noninteractive
    holds "apt update" apt-get update
    holds "apt install $(basename "$2")" apt-get install -y --no-install-recommends "$2"
    # Before man and bash-completion: it needs neither.
    holds "nothing else was installed" bash -c "! dpkg-query -W -f '\${Package}\n' | grep -E '^(libibverbs1|openmpi-bin|libopenblas0)'"
    holds "apt install man-db bash-completion" apt-get install -y --no-install-recommends man-db bash-completion
    look
    # shellcheck disable=SC2016 # the dollars are dpkg's
    holds "what it depends on and recommends" dpkg-query -W -f '${Depends}; ${Recommends}' clusterbench
    holds "its sums" dpkg --verify clusterbench
    holds "apt remove" apt-get purge -y clusterbench
    holds "nothing is left" bash -c '! find /usr -name "*clusterbench*" | grep .'
    ;;
  look) look ;;
  *) echo "try-package.sh: $1: install FILE, or look" >&2 && exit 2 ;;
esac
exit "$status"
