#!/usr/bin/env bash
# Runs every GPU case and GPU test on this machine's GPUs within ten minutes, compares with PyTorch
# and nvbandwidth where they are there, and writes the results and a table to a folder.
#   ci/gpu-check.sh OUT                    builds with what is here (nvcc, the packages of ci/packages.txt)
#   ci/gpu-check.sh OUT --bundle DIR       nothing is built: runs what --make-bundle put into DIR
#   ci/gpu-check.sh --make-bundle DIR      on a machine with nvcc: builds, and copies the program, the
#                                          GPU tests and the shared libraries that they need to DIR
#   --build DIR                            the build directory, if not build/gpu
#   --seconds N                            what all steps together may take, if not 560
# Every step has a limit of its own and what is left of the whole; what comes too late is listed as
# not run. A step that ends otherwise than it should is listed in OUT/table.txt, and the script exits
# 1. If the script itself is ended, it still writes the table of what was done.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

usage() {
  sed -n '2,12s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
  exit "$1"
}

build=build/gpu
build_here() {
  stage "build"
  cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON \
    -DCLUSTERBENCH_CUDA=ON
  local tests=()
  for source in tests/gpu/*_test.cu; do
    tests+=("gpu_$(basename "$source" _test.cu)")
  done
  cmake --build "$build" --target clusterbench cublaslt_reference "${tests[@]}"
}

make_bundle() {
  local to=$1 libraries=() missing
  build_here
  mkdir -p "$to/lib"
  cp "$build"/bin/clusterbench "$build"/bin/cublaslt_reference "$build"/bin/gpu_* "$to/"
  strip "$to/clusterbench" "$to/cublaslt_reference" "$to"/gpu_*
  missing=$(ldd "$to/clusterbench" "$to"/gpu_* | grep 'not found' || true)
  [ -z "$missing" ] || die "cannot be brought along: $missing"
  # The C library belongs to the machine; all else is brought along.
  mapfile -t libraries < <(ldd "$to/clusterbench" "$to/cublaslt_reference" "$to"/gpu_* |
    awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*)\.so')
  cp -L "${libraries[@]}" "$to/lib/"
  echo "bundle: $(du -sh "$to" | cut -f1) in $to"
}

out='' bundle='' make='' budget=560
while [ $# -gt 0 ]; do
  case $1 in
    --make-bundle | --bundle | --build | --seconds)
      [ $# -ge 2 ] || usage 2
      case $1 in
        --make-bundle) make=$2 ;;
        --bundle) bundle=$(realpath "$2") ;;
        --build) build=$2 ;;
        --seconds) budget=$2 ;;
      esac
      shift
      ;;
    --help | -h) usage 0 ;;
    -*) usage 2 ;;
    *) out=$1 ;;
  esac
  shift
done
if [ -n "$make" ]; then
  make_bundle "$make"
  exit 0
fi
[ -n "$out" ] || usage 2
mkdir -p "$out"
out=$(realpath "$out")
if [ -n "$bundle" ]; then
  programs=$bundle
else
  build_here >"$out/build.log" 2>&1 || die "the build failed: $out/build.log"
  programs=$build/bin
fi
clusterbench=$programs/clusterbench
# find_library VARIABLE FILE: where the loader does not know it, PyTorch's packages usually bring it.
find_library() {
  local found
  if ldconfig -p 2>/dev/null | grep -q "$2" || [ -e "/usr/local/cuda/lib64/$2" ]; then return; fi
  found=$(timeout 30 find /usr /opt /root /home -name "$2.[0-9]*" 2>/dev/null | sort | tail -1 || true)
  [ -z "$found" ] || export "$1=$found"
}
find_library CLUSTERBENCH_CUBLASLT_LIBRARY libcublasLt.so
find_library CLUSTERBENCH_NCCL_LIBRARY libnccl.so
find_library CLUSTERBENCH_CUFILE_LIBRARY libcufile.so

: >"$out/steps.tsv"
begun_all=$SECONDS child=''
finish() {
  trap - EXIT TERM INT
  local code=0
  [ -z "$child" ] || kill "$child" 2>/dev/null || true
  python3 ci/gpu_table.py "$out" >"$out/table.txt" 2>&1 || code=$?
  cat "$out/table.txt"
  exit "$code"
}
trap finish EXIT TERM INT

# step NAME WANTED-EXIT SECONDS COMMAND…: its output in OUT/NAME.log, a line in OUT/steps.tsv.
step() {
  local name=$1 wanted=$2 limit=$3 begun=$SECONDS code=0 left=$((budget - SECONDS + begun_all))
  shift 3
  # The bundle's libraries are for its programs alone: python3 and nvidia-smi have the machine's own.
  local -a with=()
  if [ -n "$bundle" ] && [[ $1 == "$programs"/* ]]; then
    with=(env "LD_LIBRARY_PATH=$bundle/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
  fi
  if [ "$left" -lt 5 ]; then
    printf '%s\t%s\tnot run\t0\n' "$name" "$wanted" >>"$out/steps.tsv"
    return
  fi
  stage "$name"
  timeout -k 5 "$((limit < left ? limit : left))" "${with[@]}" "$@" >"$out/$name.log" 2>&1 </dev/null &
  child=$!
  wait "$child" || code=$?
  child=''
  printf '%s\t%s\t%s\t%s\n' "$name" "$wanted" "$code" "$((SECONDS - begun))" >>"$out/steps.tsv"
}
# measure NAME WANTED-EXIT SECONDS CASE OPTIONS…: as step, with OUT/NAME.json.
measure() {
  local name=$1 wanted=$2 limit=$3
  shift 3
  step "$name" "$wanted" "$limit" "$clusterbench" "$@" --json "$out/$name.json"
}
# The shape that the search found, "M,N,K"; nothing if there is none.
searched_shape() {
  python3 - "$out/gemm-search.json" <<'PYTHON' 2>/dev/null || true
import json, sys
facts = json.load(open(sys.argv[1]))["records"][0]["facts"]
print(",".join(facts[edge] for edge in "mnk"))
PYTHON
}

# GPUs of this machine, as the program's own inventory counts them: nvidia-smi is not in every container.
count_gpus() {
  python3 - "$out/info.json" <<'PYTHON' 2>/dev/null || echo 1
import json, sys
print(sum(part["kind"] == "gpu" for part in json.load(open(sys.argv[1]))["hosts"][0]["parts"]))
PYTHON
}
# metered NAME COMMAND…: beside nvidia-smi's own meter, a line a second, in OUT/NAME.dmon.
metered() {
  local name=$1 meter=''
  shift
  if command -v nvidia-smi >/dev/null; then
    timeout 150 nvidia-smi dmon -s pc -d 1 >"$out/$name.dmon" 2>&1 </dev/null &
    meter=$!
  fi
  "$@"
  [ -z "$meter" ] || kill "$meter" 2>/dev/null || true
}
# compute-sanitizer comes with the toolkit, which is often not in PATH.
sanitizer=$(PATH=$PATH:/usr/local/cuda/bin command -v compute-sanitizer || true)

# First what all else stands on, then what the issue asks for, then the rest.
if command -v nvidia-smi >/dev/null; then
  step nvidia-smi 0 30 nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.max.sm,ecc.mode.current,compute_mode --format=csv
fi
measure info 0 30 info
measure health 0 30 health
measure preflight 0 30 preflight
for test in "$programs"/gpu_*; do
  step "$(basename "$test")" 0 45 "$test"
done
# Workloads: a training step of an eight-billion decoder's slice beside PyTorch's, tokens, equations.
slice=(--device gpu --dtype bf16 --model llama-8b)
measure train-8b 0 60 train "${slice[@]}" --layers 4 --sequence 4096 --micro-batch 1 --steps 9 --warm-up-steps 3 --twin-every 6
# GPUs before compute capability 8.9 refuse it.
measure train-8b-fp8 0,4 60 train "${slice[@]/bf16/fp8}" --layers 4 --sequence 4096 --micro-batch 1 --steps 9 --warm-up-steps 3 --twin-every 6
step reference-train 0,3 60 python3 ci/compare_train.py --in-torch slice-8b-4096 --device gpu --threads 1 --steps 6 --warm 3
measure infer-8b 0 60 infer "${slice[@]}" --layers 8 --prompt 1024 --new-tokens 128 --batch 1,2,4,8,16 --repetitions 2
measure lu 0 60 lu --device gpu --iterations 1
measure cg 0 40 cg --device gpu --size 256
# The same numbers as the processor's: losses of a training, tokens that are generated.
for device in cpu gpu; do
  measure "train-$device" 0 60 train --device "$device" --steps 200
  measure "infer-$device" 0 60 infer --device "$device" --batch 1,4,16
done
measure fault-train 1 40 train --device gpu --steps 60 --inject-fault bitflip@0:1
measure fault-infer 1 40 infer --device gpu --inject-fault nan@0:1
# cuFile without nvidia-fs works in its compatibility mode; where it is not here the case is skipped.
export CUFILE_ALLOW_COMPAT_MODE=true CUFILE_FORCE_COMPAT_MODE=true
measure gds 0,3 60 gds --dir "$out" --size 256M --duration 1s --mode sync,batch,stream,bounce --allow-compat
measure gemm-bf16 0 45 gemm --device gpu --dtype bf16 --size 8192 --warm-up 4s --duration 5s
# reference NAME SHAPE…: PyTorch, or where it is not there a plain loop over cuBLASLt.
reference() {
  local name=$1
  shift
  step "$name" 0,3 60 python3 ci/gpu_reference.py "$out/$name.json" "$@"
  [ -s "$out/$name.json" ] || step "plain-$name" 0 40 "$programs/cublaslt_reference" "$out/$name.json" "$@"
}
reference reference "8192:8192,8192,8192"
measure memory 0 60 bandwidth --device gpu --op copy,triad,read,latency --duration 2s
metered burn measure burn 0 90 burn --device gpu --phase bf16,fp64,hbm,sm,march --duration 45s
# gpu-burn reads its kernel from the folder that it stands in.
if gpu_burn=$(command -v gpu_burn); then
  metered gpu-burn step gpu-burn 0 60 env -C "$(dirname "$(readlink -f "$gpu_burn")")" ./gpu_burn -tc 20
fi
measure fault-bitflip 1 30 burn --device gpu --phase bf16 --duration 3s --inject-fault bitflip
measure fault-nan 1 30 burn --device gpu --phase bf16 --duration 3s --inject-fault nan
measure fault-sm 1 30 burn --device gpu --phase sm --duration 3s --inject-fault bitflip
measure fault-march 1 30 burn --device gpu --phase march --duration 3s --inject-fault bitflip
measure fault-hang 1 40 burn --device gpu --phase bf16 --duration 3s --hang-after 3s --inject-fault hang
if command -v nvbandwidth >/dev/null; then
  step nvbandwidth 0 40 nvbandwidth -j -t device_local_copy host_to_device_memcpy_ce device_to_host_memcpy_ce
fi
measure host-copy 0 40 bandwidth --device gpu --op host_to_device,device_to_host,two_way --duration 1s
# Edges: results that are no whole words are refused, and many small ones are bounded.
measure edge-odd 2 20 burn --device gpu --phase fp16 --size 10001 --duration 2s
measure edge-small 0 30 burn --device gpu --phase bf16 --size 512 --duration 2s
# One GPU is a communicator of one rank, which runs and is checked but is no measurement: exit 3.
gpus=$(count_gpus)
measure nccl "$([ "$gpus" -gt 1 ] && echo 0 || echo 3)" 60 nccl --op all_reduce,all_gather --min-size 8K --max-size 64M --duration 500ms
if [ "$gpus" -gt 1 ]; then
  measure nccl-graph 0 40 nccl --op all_reduce --size 1M --graph --duration 500ms
  measure nccl-ctas 0 40 nccl --op all_reduce --size 1M --min-ctas 8 --duration 500ms
  measure nccl-user 0 40 nccl --op all_reduce --size 64M --register user --duration 500ms
  measure nccl-paths 0 40 nccl --op all_reduce --size 64M --paths --algorithms --duration 500ms
  measure overlap 0 60 overlap --max-ctas 0,8,16
  measure peer 0 120 bandwidth --device gpu --op peer_write,peer_read,peer_latency --engine ce,sm --duration 500ms
fi
measure overhead 0 40 gpu-overhead
# What the units do beside a load of each kind: "bound by the tensor cores", then "bound by memory" (GPM: Hopper and later).
for phase in bf16 hbm; do
  env ${bundle:+"LD_LIBRARY_PATH=$bundle/lib"} "$clusterbench" burn --device gpu --phase "$phase" --duration 10s >"$out/load-$phase.log" 2>&1 </dev/null &
  load=$!
  sleep 4 # until its memory is filled
  step "watch-$phase" 0 30 "$clusterbench" watch --duration 5s
  wait "$load" || true
done
# The types that this GPU lacks are skipped, which is exit 3: so each type is a step of its own.
for dtype in fp8_e4m3 fp64 tf32 fp16 int8 fp32 fp64_vector fp8_e5m2 fp4; do
  measure "gemm-$dtype" 0,3 30 gemm --device gpu --dtype "$dtype" --size 8192 --warm-up 500ms --duration 1s
done
measure gemm-search 0 110 gemm --device gpu --dtype bf16 --search --algorithms 8 --warm-up 4s --duration 3s
best=$(searched_shape)
[ -z "$best" ] || reference reference-search "search:$best"
measure pageable 0 30 bandwidth --device gpu --op host_to_device,device_to_host --memory pageable --duration 1s
measure pulse 0 30 burn --device gpu --phase bf16 --pulse 2:0.5 --duration 6s
if [ -n "$sanitizer" ]; then
  step memcheck 0 90 env ${bundle:+"LD_LIBRARY_PATH=$bundle/lib"} "$sanitizer" --tool memcheck --error-exitcode 1 "$programs/gpu_kernels"
fi
