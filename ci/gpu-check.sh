#!/usr/bin/env bash
# Runs every GPU case and GPU test on this machine's GPUs within ten minutes, compares with PyTorch
# and nvbandwidth where they are there, and writes the results and a table to a folder.
#   ci/gpu-check.sh OUT                    builds with what is here (nvcc, the packages of ci/packages.txt)
#   ci/gpu-check.sh OUT --bundle DIR       nothing is built: runs what --make-bundle put into DIR
#   ci/gpu-check.sh --make-bundle DIR      on a machine with nvcc: builds, and copies the program, the
#                                          GPU tests and the shared libraries that they need to DIR
# A step that ends otherwise than it should is listed in OUT/table.txt, and the script exits 1.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  sed -n '2,9s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit "$1"
}

build=build/gpu
build_here() {
  stage "build"
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCLUSTERBENCH_CUDA=ON
  local tests=()
  for source in tests/gpu/*_test.cu; do
    tests+=("gpu_$(basename "$source" _test.cu)")
  done
  cmake --build "$build" --target clusterbench "${tests[@]}"
}

make_bundle() {
  local to=$1
  build_here
  mkdir -p "$to/lib"
  cp "$build"/bin/clusterbench "$build"/bin/gpu_* "$to/"
  # The C library belongs to the machine; all else is brought along.
  ldd "$to/clusterbench" "$to"/gpu_* | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so' |
    xargs -I{} cp -L {} "$to/lib/"
  echo "bundle: $(du -sh "$to" | cut -f1) in $to"
}

out='' bundle=''
while [ $# -gt 0 ]; do
  case $1 in
    --make-bundle) [ $# -eq 2 ] || usage 2 && make_bundle "$2" && exit 0 ;;
    --bundle) [ $# -ge 2 ] || usage 2 && bundle=$(realpath "$2") && shift ;;
    --help | -h) usage 0 ;;
    -*) usage 2 ;;
    *) out=$1 ;;
  esac
  shift
done
[ -n "$out" ] || usage 2
mkdir -p "$out"
out=$(realpath "$out")
if [ -n "$bundle" ]; then
  programs=$bundle
  export LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
  build_here >"$out/build.log" 2>&1 || die "the build failed: $out/build.log"
  programs=$build/bin
fi
clusterbench=$programs/clusterbench
# Where there is no toolkit, PyTorch's packages usually bring cuBLASLt.
if ! ldconfig -p | grep -q 'libcublasLt\.so' && [ ! -e /usr/local/cuda/lib64/libcublasLt.so ]; then
  found=$(timeout 60 find /usr /opt /root /home -name 'libcublasLt.so.1[23]' 2>/dev/null | sort | tail -1 || true)
  [ -z "$found" ] || export CLUSTERBENCH_CUBLASLT_LIBRARY=$found
fi

: >"$out/steps.tsv"
# step NAME WANTED-EXIT SECONDS COMMAND…: its output in OUT/NAME.log, a line in OUT/steps.tsv.
step() {
  local name=$1 wanted=$2 limit=$3 begun=$SECONDS code=0
  shift 3
  stage "$name"
  timeout -k 10 "$limit" "$@" >"$out/$name.log" 2>&1 </dev/null || code=$?
  printf '%s\t%s\t%s\t%s\n' "$name" "$wanted" "$code" "$((SECONDS - begun))" >>"$out/steps.tsv"
}
# measure NAME WANTED-EXIT SECONDS CASE OPTIONS…: as step, with OUT/NAME.json.
measure() {
  local name=$1 wanted=$2 limit=$3
  shift 3
  step "$name" "$wanted" "$limit" "$clusterbench" "$@" --json "$out/$name.json"
}

step nvidia-smi 0 30 nvidia-smi
measure info 0 60 info
measure health 0 60 health
for test in "$programs"/gpu_*; do
  step "$(basename "$test")" 0 60 "$test"
done

measure host-copy 0 60 bandwidth --device gpu --op host_to_device,device_to_host,two_way --duration 1s
measure pageable 0 40 bandwidth --device gpu --op host_to_device,device_to_host --memory pageable --duration 1s
measure memory 0 60 bandwidth --device gpu --op copy,triad,read,latency --duration 2s
if [ "$(nvidia-smi -L 2>/dev/null | wc -l)" -gt 1 ]; then
  measure peer 0 120 bandwidth --device gpu --op peer_write,peer_read,peer_latency --engine ce,sm --duration 500ms
fi
# The types that this GPU lacks are skipped, which is exit 3: so each type is a step of its own.
measure gemm-bf16 0 60 gemm --device gpu --dtype bf16 --size 8192 --duration 5s
for dtype in fp64 fp32 tf32 fp16 fp8_e4m3 fp8_e5m2 int8 fp4; do
  measure "gemm-$dtype" 0,3 40 gemm --device gpu --dtype "$dtype" --size 8192 --warm-up 2s --duration 2s
done
measure gemm-search 0 150 gemm --device gpu --dtype bf16 --search --algorithms 8 --duration 3s
step reference 0,3 90 python3 ci/gpu_reference.py "$out/gemm-search.json" "$out/reference.json"
if command -v nvbandwidth >/dev/null; then
  step nvbandwidth 0 60 nvbandwidth -j -t device_local_copy host_to_device_memcpy_ce device_to_host_memcpy_ce
fi

measure burn 0 120 burn --device gpu --phase bf16,fp64,hbm,sm,march --duration 60s
for fault in bitflip nan; do
  measure "fault-$fault" 1 40 burn --device gpu --phase bf16 --duration 3s --inject-fault "$fault"
done
measure fault-sm 1 40 burn --device gpu --phase sm --duration 3s --inject-fault bitflip
measure fault-march 1 40 burn --device gpu --phase march --duration 3s --inject-fault bitflip
measure fault-hang 1 60 burn --device gpu --phase bf16 --duration 3s --hang-after 5s --inject-fault hang

python3 ci/gpu_table.py "$out" | tee "$out/table.txt"
exit "${PIPESTATUS[0]}"
