#!/usr/bin/env bash
# Brings nvml.h, which some CUDA toolkits lack, to .cache/nvml, where CMake looks for it. It is taken
# from NVIDIA's package nvidia-nvml-dev of PyPI, or from a copy of it (wheel or header).
#   ci/nvml-header.sh          does nothing if the header is there; else asks pip
#   ci/nvml-header.sh FILE     from this wheel (.whl) or header, without any network
# Without the header everything builds but what NVML tells of GPUs.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

target=.cache/nvml
for directory in "$target" /usr/include /usr/include/nvidia "${CUDA_HOME:-/usr/local/cuda}/include"; do
  if [ -f "$directory/nvml.h" ] && [ $# -eq 0 ]; then
    echo "nvml.h: already there, $directory/nvml.h"
    exit 0
  fi
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$target"
file=${1-}
if [ -z "$file" ]; then
  timeout 60 python3 -m pip download -q --no-deps --disable-pip-version-check --retries 1 \
    --timeout 15 -d "$work" nvidia-nvml-dev || die "pip could not bring nvidia-nvml-dev; give its wheel or nvml.h as an argument"
  file=$(echo "$work"/*.whl)
fi
case $file in
  *.whl)
    python3 - "$file" "$target/nvml.h" <<'PYTHON' || die "$file: no nvml.h in it"
import sys, zipfile

wheel = zipfile.ZipFile(sys.argv[1])
name = next(n for n in wheel.namelist() if n.endswith("/nvml.h"))
open(sys.argv[2], "wb").write(wheel.read(name))
PYTHON
    ;;
  *) cp "$file" "$target/nvml.h" ;;
esac
echo "nvml.h: $target/nvml.h; configure again for it to be found"
