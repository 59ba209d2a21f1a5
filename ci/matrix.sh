#!/usr/bin/env bash
# Builds a clean clone with every compiler, CMake and kind of folder that must work, and says what happened.
#   ci/matrix.sh               all combinations; half an hour on two cores, more with an empty compiler cache
#   ci/matrix.sh --configure   configures only; a minute
#   ci/matrix.sh NAME…         these combinations
# By hand, before a release and after a change of CMake. What a machine lacks (nvcc, clang, PyPI for the
# newest CMake) is said and not run. Everything is written to .cache/matrix. Exit 0 only if nothing failed.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

configure_only=false
wanted=()
for argument in "$@"; do
  case $argument in
    --configure) configure_only=true ;;
    -*)
      echo "matrix.sh: $argument: unknown option (--configure)" >&2
      exit 2
      ;;
    *) wanted+=("$argument") ;;
  esac
done

place=$root/.cache/matrix
mkdir -p "$place"
nvcc=$(command -v nvcc || ls "${CUDA_HOME:-/usr/local/cuda}/bin/nvcc" 2>/dev/null || true)
failed=0

# newest_cmake: the path of PyPI's newest, installed once.
newest_cmake() {
  local here=$place/newest
  [ -x "$here/bin/cmake" ] ||
    { python3 -m venv "$here" && "$here/bin/pip" install --quiet --disable-pip-version-check cmake; } >&2 || return 1
  echo "$here/bin/cmake"
}

# build NAME FOLDER CMAKE COMPILER CUDA: one combination in a clone of its own, which is removed again.
build() {
  local name=$1 folder=$place/$2 cmake=$3 compiler=$4 cuda=$5 log=$place/$1.log
  rm -rf "$folder"
  git clone --quiet "file://$root" "$folder"
  "$cmake" -S "$folder" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON \
    -DCLUSTERBENCH_WERROR=ON -DCLUSTERBENCH_TESTS=OFF "-DCMAKE_CXX_COMPILER=$compiler" "-DCLUSTERBENCH_CUDA=$cuda" >"$log" 2>&1 || return 1
  $configure_only && return 0
  "$cmake" --build "$folder/build" --parallel "$jobs" >>"$log" 2>&1 &&
    "$folder/build/bin/clusterbench" --version >>"$log" 2>&1 && "$folder/build/bin/clusterbench" list >>"$log" 2>&1
}

# combination NAME FOLDER CMAKE COMPILER CUDA: builds it if it is wanted and possible, and says how it went.
combination() {
  local name=$1 folder=$2 cmake=$3 compiler=$4 cuda=$5 begun=$SECONDS
  if [ ${#wanted[@]} -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then return; fi
  if [ "$cuda" = ON ] && [ -z "$nvcc" ]; then echo "matrix: $name not run: no nvcc" && return; fi
  if ! command -v "$compiler" >/dev/null; then echo "matrix: $name not run: no $compiler" && return; fi
  if [ "$cmake" = newest ] && ! cmake=$(newest_cmake); then echo "matrix: $name not run: PyPI did not bring cmake" && return; fi
  if build "$name" "$folder" "$cmake" "$compiler" "$cuda"; then
    echo "matrix: $name ok ($(minutes $((SECONDS - begun)))), $("$cmake" --version | head -n 1), $("$compiler" --version | head -n 1)"
    rm -rf "${place:?}/$folder"
  else
    echo "matrix: $name FAILED, see $place/$name.log"
    failed=1
  fi
}

combination gcc plain cmake g++ OFF
combination clang plain cmake clang++ OFF
combination folders 'cuda nvml ä ö/a cuda' cmake g++ OFF
combination gcc-cuda plain cmake g++ ON
combination clang-cuda plain cmake clang++ ON
combination newest plain newest g++ OFF
combination newest-cuda 'cuda nvml ä ö/a cuda' newest g++ ON
exit "$failed"
