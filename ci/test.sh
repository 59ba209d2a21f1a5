#!/usr/bin/env bash
# What must hold before a change is merged: packages, build with warnings as errors, lint of what changed, every test, and the
# unit and fuzz tests once more under ASan and UBSan. Exit 0 only if nothing failed. The last line is the count.
#   ci/test.sh [--thorough]
#   --thorough  also lints all files, and runs the tests of the command line with sanitizers: half an hour more, before a release
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

case ${1-} in
  --thorough) thorough=true ;;
  '') thorough=false ;;
  *)
    echo "test.sh: $1: unknown option (--thorough)" >&2
    exit 2
    ;;
esac
started=$SECONDS
failed=0
sanitized='unit|fuzz' # labels of the tests that run with sanitizers too

failures=Testing/Temporary/LastTestsFailed.log # below a build folder

# run_tests PRESET [CTEST OPTION…]: goes on after a failure, so that one run shows all of them.
run_tests() {
  local preset=$1
  shift
  rm -rf "build/$preset/junit"
  forget "$preset"
  ctest --preset "$preset" --parallel 8 --output-junit "$root/build/$preset/ctest.xml" "$@" \
    </dev/null || timed_again "$preset" || failed=1
}

# forget PRESET: what an earlier run of its tests wrote.
forget() { rm -f "build/$1/ctest.xml" "build/$1/again.xml" "build/$1/$failures"; }

# failed_again PRESET: what failed, once more. It counts as it ends then, and the last lines name it.
failed_again() {
  stage "what failed beside other tests, once more and alone"
  ctest --preset "$1" --rerun-failed --output-junit "$root/build/$1/again.xml" </dev/null
}

# sanitizers_found FILE: what a sanitizer has found is no matter of time.
sanitizers_found() { grep -hE -A20 'ERROR: (Address|Leak)Sanitizer|: runtime error: ' "$1" >&2; }

# leak_check_broke PRESET: the names of the tests whose search for leaks at their end has itself failed, as it may where a thread
# ends just then, and that found nothing wrong before: they run once more too.
leak_check_broke() {
  awk '/^[0-9]+\/[0-9]+ Testing: / { name = $3; broke = wrong = 0 }
    /LeakSanitizer has encountered a fatal error/ { broke = 1 }
    /^\[doctest\] Status: FAILURE!/ { wrong = 1 }
    /^<end of output>/ && broke && !wrong { print name }' "build/$1/Testing/Temporary/LastTest.log"
}

# What is timed beside other tests has no clock to rely on (docs/design/decisions/0087-…): where only tests failed that take
# turns at the clock (ci/cmake/tests.cmake), or that ask how long something takes, they run once more, alone, and that counts.
timed='labs\.|mpi\.|scale\.|unit\.bench_(tcp|watchdog)$|cli\.(cuda_module(_hangs)?|doctor_hangs|gpu_flow|startup)$'
timed_again() {
  local list="build/$1/$failures" status=0 again=$timed name
  if [ "$1" = asan ]; then
    for name in $(leak_check_broke asan); do again+="|${name//./\\.}\$"; done
  fi
  if ! [ -s "$list" ] || grep -qvE ":($again)" "$list"; then return 1; fi
  if [ "$1" = asan ] && sanitizers_found "build/$1/Testing/Temporary/LastTest.log"; then return 1; fi
  goes_on && pkill -STOP -s "$beside"
  failed_again "$1" || status=$?
  goes_on && pkill -CONT -s "$beside"
  return "$status"
}

stage "1/4 packages"
ci/bootstrap.sh
stage "2/4 build (ci)"
build_preset ci
stage "3/4 lint and all tests                                   after $(minutes $((SECONDS - started)))"
# A session of its own has a share of the processors of its own, which beside.sh makes the least.
forget asan
setsid timeout 80m ci/beside.sh "$sanitized" &
beside=$!
# Once it has ended its number may be another's.
goes_on() { jobs -pr | grep -qx "$beside"; }
end_beside() { if goes_on; then kill -- "-$beside" && kill -CONT -- "-$beside"; fi 2>/dev/null || true; }
trap end_beside EXIT
if $thorough; then run_tests ci; else run_tests ci --exclude-regex '^lint$'; fi
stage "4/4 tests with ASan and UBSan                             after $(minutes $((SECONDS - started)))"
# Of the command line those are left out that look at texts, packages, scripts and CMake, and at what lies around the program.
beside_the_program='arrows|board|bootstrap|build_folders|ci_scripts|cmake_kernels|docs|fresh_machine|lint_unity'
beside_the_program+='|release|startup|template|template_runs'
if $thorough; then sanitized+='|cli'; fi
if sanitizers_found build/asan-beside.log; then failed=1; fi
if $thorough || goes_on || ! [ -e build/asan/ctest.xml ]; then
  end_beside # what it has built is kept, the rest is faster without its priority
  wait "$beside" || true
  build_preset asan
  run_tests asan --label-regex "^($sanitized)\$" --exclude-regex "^cli\\.($beside_the_program)\$"
elif ! wait "$beside"; then # at idle priority what is timed may come late
  cat build/asan-beside.log >&2
  failed_again asan || failed=1
fi
trap - EXIT

stage "done in $(minutes $((SECONDS - started)))"
ci/count_tests.py build/ci build/asan || failed=1
exit "$failed"
