#!/usr/bin/env bash
# Makes the example reports anew: the made-up 32-node H20 cluster with its planted defects.
#   usage: docs/examples/regenerate.sh [BUILD_DIR=build/dev] [OUT=docs/examples]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/dev}
out=${2:-$root/docs/examples}/h20-32-nodes
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"

"$build/bin/synth_cluster" "$work/campaign" --hosts 32 \
  --profile "$root/tests/data/synth/h20-cluster.json" >"$out/planted.txt"
cp "$root/docs/examples/site.json" "$work/campaign/site.json"
for lang in en zh; do
  "$build/bin/clusterbench" report "$work/campaign" --lang "$lang" \
    --html "$out/report.$lang.html" --md "$out/report.$lang.md" >"$work/log"
done
# A verdict is no failure of this script: 0, 1 and 3 are verdicts.
"$build/bin/clusterbench" gate "$work/campaign" --junit "$out/gate.xml" --prom "$out/gate.prom" \
  --md "$out/gate.md" >"$out/gate.txt" || [ $? -eq 1 ] || [ $? -eq 3 ]
cp "$work/campaign/MANIFEST.sha256" "$out/MANIFEST.sha256"
