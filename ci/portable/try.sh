#!/usr/bin/env bash
# Tries the release file on a machine that has nothing: ci/portable/try.sh ARCHIVE. ci/release-roots.sh starts it in bare roots.
# Prints a line a command: its exit code, whether that is the right one, seconds, and the last line that it said. Exit 1 if one differs.
# With "mpi" as the second word Open MPI and MPICH are there, and a profile is run with two processes. With "laptop" nothing is measured: a
# campaign of the documents is judged, reported, compared, signed, verified and bundled.
set -euo pipefail
case ${1-} in
  -h | --help | '')
    sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
archive=$(realpath "$1")
with=${2-alone}
case $with in alone | mpi | laptop) ;; *) echo "try.sh: $with: unknown word (mpi, laptop)" >&2 && exit 2 ;; esac
place=$(mktemp -d)
trap 'rm -rf --one-file-system "$place"' EXIT
cd "$place"
tar -xzf "$archive"
folder=$(echo clusterbench-*)
program=$place/$folder/bin/clusterbench
examples=$place/$folder/share/doc/clusterbench/docs/examples
status=0

# expect CODES WORDS…: runs it, at most ten minutes; CODES is one right exit code or several with commas.
expect() {
  local want=$1 code=0 begun
  shift
  begun=$(date +%s%N)
  timeout 600 "$@" >"$place/said" 2>&1 </dev/null || code=$?
  local verdict=ok
  if [[ ",$want," != *",$code,"* ]]; then
    verdict=WRONG
    status=1
  fi
  printf '%-5s exit %d %6.2f s  %s: %s\n' "$verdict" "$code" "$((($(date +%s%N) - begun) / 1000000))e-3" \
    "${*//$place\//}" "$(grep -v '^$' "$place/said" | tail -n 1 | cut -c1-110)"
  [ "$verdict" = ok ] || sed 's/^/      | /' "$place/said" | tail -n 20
}

# says TEXT: what the last command printed has it.
says() {
  if ! grep -qF -- "$1" "$place/said"; then
    echo "WRONG without the words: $1"
    status=1
  fi
}

# laptop: what needs a campaign alone. A copy of it is signed with the key pair of RFC 8032, 7.1, which is known to everybody.
laptop() {
  local campaign=$examples/host/campaign signed=$place/signed
  expect 0 "$program" gate "$campaign"
  expect 0 "$program" report "$campaign" --html "$place/en.html" --md "$place/en.md"
  expect 0 cmp "$place/en.html" "$examples/host/report.en.html"
  expect 0 "$program" report "$campaign" --html "$place/zh.html" --lang zh
  expect 0 cmp "$place/zh.html" "$examples/host/report.zh.html"

  cp -r "$campaign" "$signed"
  expect 0 "$program" compare "$campaign" "$signed"
  says "compared: 0 worse, 0 better, 0 undecided"
  expect 3 "$program" signoff verify "$signed"
  says "there is no signature"
  pem PRIVATE MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g >"$place/key.pem"
  pem PUBLIC MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo= >"$place/public.pem"
  expect 0 "$program" signoff "$signed" --role witness --name try.sh --verdict accepted --key "$place/key.pem" --yes
  expect 0 "$program" signoff verify "$signed" --public-key "$place/public.pem"
  says "intact: 1 signature by listed keys"

  expect 0 "$program" bundle "$signed" --out "$place/once.tar.gz"
  says "$(sha256sum "$place/once.tar.gz" | cut -d' ' -f1)"
  expect 0 "$program" bundle "$signed" --out "$place/again.tar.gz"
  expect 0 cmp "$place/once.tar.gz" "$place/again.tar.gz"
  expect 0 "$program" signoff verify "$place/once.tar.gz" --public-key "$place/public.pem"
  says "intact: 1 signature by listed keys"

  expect 0 "$program" profile list
  expect 0 "$program" profile show h20-cluster+ib-ndr400
  expect 0 "$program" profile validate host-quick
  expect 0 "$program" profile capture "$campaign" --name ours --out "$place/ours.json"
  expect 0 "$program" profile validate "$place/ours.json"

  rm "$signed/records/004-triad.json"
  expect 1 "$program" signoff verify "$signed" --public-key "$place/public.pem"
  says "NOT VERIFIED"
  expect 1 "$program" compare "$campaign" "$signed"
  says "no longer measured"
}

# pem KIND BASE64: a key as a file.
pem() { printf -- '-----BEGIN %s KEY-----\n%s\n-----END %s KEY-----\n' "$1" "$2" "$1"; }

# profile WORDS…: every step of host-quick measures, but those between ranks without an MPI. On a machine that does
# something else the verdict may be open (3).
profile() {
  expect 0,3 "$program" run host-quick --out "$place/campaign" "$@"
  echo "      $(grep -cE '^ {3}[a-z0-9-]+ +✓' "$place/said" || true) steps measured with every check passing"
  if [ "$with" = alone ]; then sed -E -i '/^ {3}(all-reduce|pingpong) /d' "$place/said"; fi
  if grep -E '^ {3}[a-z0-9-]+ +✗' "$place/said"; then status=1; fi
}

# shellcheck source=/dev/null
. /etc/os-release
echo "$PRETTY_NAME, $(getconf GNU_LIBC_VERSION), kernel $(uname -r), $(dpkg-query -f '.' -W | wc -c) packages, $with"
if (cd "$folder" && sha256sum --quiet -c SHA256SUMS); then echo "the files are those of SHA256SUMS"; else status=1; fi
if [ "$with" != mpi ]; then
  expect 0 "$program" --version
  expect 0 "$program" list
  laptop
fi
if [ "$with" = alone ]; then
  expect 0 "$program" info
  expect 0 "$program" gemm --device cpu --dtype fp64,fp32 --size 1024 --duration 1s
  expect 0 "$program" bandwidth --op triad --size 16M
  expect 0 "$program" io --dir "$place" --size 16M --duration 1s
  expect 0 "$program" burn --device cpu --duration 2s
  expect 3 "$program" verbs
  expect 3 "$program" nics
  profile --launcher none
fi
if [ "$with" = mpi ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  expect 0 mpirun.openmpi --oversubscribe -np 4 "$program" mpi --op all_reduce,alltoall --size 64K
  says "8 checks, none failed"
  expect 0 mpirun.mpich -np 4 "$program" mpi --op all_reduce,alltoall --size 64K
  says "8 checks, none failed"
  profile --launcher mpirun --hosts "$(hostname):2"
fi
exit "$status"
