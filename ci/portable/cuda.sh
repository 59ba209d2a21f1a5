#!/usr/bin/env bash
# Makes the toolkit of the CUDA module for drivers from 450 on, in .cache/release/cuda11: nvcc, cuobjdump, runtime and headers of CUDA 11.8, unpacked
# from two packages of Debian's non-free section that ci/portable/inputs.txt pins (0.9 GB). Nothing is installed. ci/release.sh calls it;
# a second call does nothing.
#   CLUSTERBENCH_RELEASE_INPUTS=DIR   where the packages are or are put (.cache/release/inputs)
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
help_if_asked "$@"
# shellcheck source=ci/portable/inputs.sh
source "$root/ci/portable/inputs.sh"

toolkit=$place/cuda11
packages=(nvidia-cuda-toolkit nvidia-cuda-dev)
made=$(cat "$list" "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
if [ "$(cat "$toolkit/made" 2>/dev/null)" = "$made" ]; then exit 0; fi

work=$(mktemp -d -t clusterbench-cuda.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
mkdir -p "$inputs"
for name in "${packages[@]}"; do
  good "$name" || fetch "$name"
done

stage "unpacking CUDA 11.8"
dpkg-deb --fsys-tarfile "$inputs/$(entry nvidia-cuda-toolkit 5)" | tar -x -C "$work" ./usr/bin ./usr/lib/nvidia-cuda-toolkit
dpkg-deb --fsys-tarfile "$inputs/$(entry nvidia-cuda-dev 5)" | tar -x -C "$work" ./usr/include ./usr/share/doc/nvidia-cuda-dev \
  ./usr/lib/x86_64-linux-gnu/libcudart_static.a ./usr/lib/x86_64-linux-gnu/libcudadevrt.a
new=$place/cuda11.new
debian=$work/usr/lib/nvidia-cuda-toolkit
rm -rf --one-file-system "$new"
mkdir -p "$new/bin" "$new/nvvm/bin" "$new/lib64"
mv "$debian/bin/nvcc" "$debian/bin/crt" "$work"/usr/bin/{cudafe++,ptxas,fatbinary,nvlink,cuobjdump} "$new/bin/"
mv "$debian/bin/cicc" "$new/nvvm/bin/"
mv "$debian/libdevice" "$new/nvvm/"
mv "$work/usr/include" "$new/"
mv "$work"/usr/lib/x86_64-linux-gnu/libcuda*.a "$new/lib64/"
cp "$work/usr/share/doc/nvidia-cuda-dev/copyright" "$new/EULA.txt"
# Debian's names the folders of an installation.
cat >"$new/bin/nvcc.profile" <<'PROFILE'
TOP = $(_HERE_)/..
CICC_PATH = $(TOP)/nvvm/bin
NVVMIR_LIBRARY_DIR = $(TOP)/nvvm/libdevice
PATH += $(TOP)/nvvm/bin:$(_HERE_):
INCLUDES += "-I$(TOP)/include" $(_SPACE_)
LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64" $(_SPACE_)
PROFILE
echo "$made" >"$new/made"
rm -rf --one-file-system "$toolkit"
mv "$new" "$toolkit"
