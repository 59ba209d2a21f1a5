#!/usr/bin/env bash
# From a clean clone to an acceptance report of this machine: packages (as root or through sudo), release build, the profile
# host-quick under mpirun, report. Takes 5 to 15 minutes on two processors, most of it the first build. Prints the verdict and the
# report's path, and exits as the acceptance does: 0 accepted, 1 not accepted, 3 incomplete (often: other work kept the processors).
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"
[ $# -eq 0 ] || { echo "quickstart.sh: $1: unknown option (it has none)" >&2 && exit 2; }

ranks=$(($(nproc) < 2 ? 1 : 2))
out="out/$(date +%Y%m%d-%H%M%S)-$(hostname -s)"

stage "1/4 packages"
ci/bootstrap.sh --build >&2

kernels=no
stage "2/4 build (release)"
started=$SECONDS
build_preset release clusterbench
if grep -q 'CUDA kernels: yes' build/release.log; then kernels=yes; fi
stage "    built in $(minutes $((SECONDS - started))), CUDA kernels: $kernels"

stage "3/4 acceptance of this machine with profiles/host-quick.json on $ranks ranks"
mkdir -p out
status=0
build/release/bin/clusterbench run host-quick --out "$out" --launcher mpirun \
  --hosts "$(hostname):$ranks" </dev/null || status=$?
[ -f "$out/campaign.json" ] || exit "$status"

stage "4/4 report"
build/release/bin/clusterbench report "$out" --html "$out/report.html" --md "$out/report.md" \
  --json "$out/report.json" >&2
# The report exists whatever the verdict is; the verdict is the exit code.
verdict=0
lines=$(build/release/bin/clusterbench gate "$out") || verdict=$?
tail -n 1 <<<"$lines" # run has printed the others
echo "$root/$out/report.html"
if [ "$status" -gt 3 ]; then exit "$status"; fi
exit "$verdict"
