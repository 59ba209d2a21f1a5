#!/usr/bin/env bash
# Makes the example reports anew: of the made-up 32-node H20 cluster with its planted defects, and of the
# real host whose campaign lies in docs/examples/host/campaign.
#   usage: docs/examples/regenerate.sh [BUILD_DIR=build/dev] [OUT=docs/examples]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build/dev}
examples=${2:-$root/docs/examples}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Report in both languages and the gate's formats of the campaign $1 into the folder $2.
render() {
  mkdir -p "$2"
  for lang in en zh; do
    "$build/bin/clusterbench" report "$1" --lang "$lang" \
      --html "$2/report.$lang.html" --md "$2/report.$lang.md" >"$work/log"
  done
  # A verdict is no failure of this script: 0, 1 and 3 are verdicts.
  "$build/bin/clusterbench" gate "$1" --junit "$2/gate.xml" --prom "$2/gate.prom" \
    --md "$2/gate.md" >"$2/gate.txt" || [ $? -eq 1 ] || [ $? -eq 3 ]
}

cluster=$examples/h20-32-nodes
mkdir -p "$cluster"
"$build/bin/synth_cluster" "$work/campaign" --hosts 32 \
  --profile "$root/tests/data/synth/h20-cluster.json" >"$cluster/planted.txt"
cp "$root/docs/examples/site.json" "$work/campaign/site.json"
render "$work/campaign" "$cluster"
cp "$work/campaign/MANIFEST.sha256" "$cluster/MANIFEST.sha256"

render "$root/docs/examples/host/campaign" "$examples/host"
