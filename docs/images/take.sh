#!/usr/bin/env bash
# Takes the pictures of docs/guide/report.md and README.md anew from the example reports.
#   usage: docs/images/take.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
picture() { # page, file, height
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="1100,$3" \
    --screenshot="$root/docs/images/$2" "file://$root/docs/examples/$1" 2>/dev/null
}
picture h20-32-nodes/report.en.html report-h20.png 900
picture h20-32-nodes/report.zh.html report-h20.zh.png 1100
picture host/report.en.html report-host.png 1000
