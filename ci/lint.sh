#!/usr/bin/env bash
# Formatting, static checks, include arrows, file lengths, shell scripts. Runs all, then fails if any did.
#   ci/lint.sh                     checks; clang-tidy reads several files at once as the compiler does
#                                  (build/lint is configured for it, never built)
#   ci/lint.sh --changed [COMMIT]  only the files that differ from COMMIT: seconds, before a commit. Default: main's newest that
#                                  HEAD has; on main itself the newest that is six hours older than HEAD, or all files
#   ci/lint.sh --fix               formats C++ and shell files in place
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

files() { find . \( -name .git -o -name .cache -o -name build -o -name 'build-*' -o -name out \) -prune -o -type f "$@" -print0; }
mapfile -d '' -t sources < <(files \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' \) | sort -z)
# Templates of scripts are checked as they are printed: tests/cli/test_template.py.
mapfile -d '' -t scripts < <(files ! -path './templates/*' \( -name '*.sh' -o -path './.ci/run' \) | sort -z)
shell_style=(-i 2 -ci)

if [ "${1-}" = --fix ]; then
  clang-format -i "${sources[@]}"
  shfmt -w "${shell_style[@]}" "${scripts[@]}"
  exit 0
fi

# changed_since: the commit that --changed compares with; nothing where HEAD has none that is old enough.
changed_since() {
  local newest
  newest=$(git merge-base HEAD main 2>/dev/null || git rev-parse HEAD)
  if [ "$newest" = "$(git rev-parse HEAD)" ]; then
    newest=$(git rev-list -1 --first-parent --before="$(($(git show -s --format=%ct HEAD) - 6 * 3600))" HEAD)
  fi
  echo "$newest"
}

tidy=(ci/lint_tidy.py build/lint)
base=${2-$(changed_since)}
if [ "${1-}" = --changed ] && [ -n "$base" ]; then
  mapfile -t changed < <({ git diff --name-only --diff-filter=d "$base" -- && git ls-files --others --exclude-standard; } | sort -u)
  only() { # only ARRAY: keeps of the array what changed
    local -n all=$1
    local -a kept=()
    for file in "${all[@]}"; do
      for one in "${changed[@]}"; do [ "$file" = "./$one" ] && kept+=("$file"); done
    done
    all=("${kept[@]}")
  }
  only sources
  only scripts
  for file in "${sources[@]}"; do
    case $file in
      ./src/*.cpp | ./src/*.h) tidy+=("$file") ;;
    esac
  done
  [ ${#tidy[@]} -gt 2 ] || tidy=(echo "clang-tidy: no file of src changed")
fi

status=0
check() { # check NAME COMMAND…
  local name=$1 begun=$SECONDS
  shift
  if "$@"; then
    echo "lint: $name ok ($((SECONDS - begun)) s)"
  else
    echo "lint: $name FAILED"
    status=1
  fi
}

# of_debian_12 TOOL: other versions format otherwise and find other things. That is told, and no failure.
of_debian_12() {
  local major
  major=$("$1" --version | grep -oE '[0-9]+\.[0-9]+' | head -n 1)
  [ "${major%.*}" = 14 ] || { echo "lint: $1 is ${major%.*} here, the code is that of 14: not run" && return 1; }
}

mkdir -p build
cmake --preset release -B build/lint -DCLUSTERBENCH_TESTS=OFF >build/lint.log 2>&1 </dev/null || die "cmake failed, see build/lint.log"

[ ${#sources[@]} -eq 0 ] || ! of_debian_12 clang-format || check clang-format clang-format --dry-run -Werror "${sources[@]}"
check includes ci/lint_includes.py
check uses ci/lint_uses.py
check unity ci/lint_unity.py
if [ ${#scripts[@]} -gt 0 ]; then
  check shellcheck shellcheck -x -P SCRIPTDIR "${scripts[@]}"
  check shfmt shfmt -d "${shell_style[@]}" "${scripts[@]}"
fi
if of_debian_12 clang-tidy; then check clang-tidy "${tidy[@]}"; fi
# Told and no failure: the machine that runs this may be such a bare one, in the run that is to be recorded.
ci/fresh-machine-record.sh | sed 's/^/lint: /' || true
exit "$status"
