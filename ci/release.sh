#!/usr/bin/env bash
# Makes the release: one program for x86_64 and every glibc from 2.28 on, with profiles, documents, manual pages and licences, as
# .tar.gz, .deb and .rpm, with their list of parts (SPDX) and sums.
#   ci/release.sh [--out DIR] [--check] [--arch aarch64] [--without-roots]
#   --out DIR   where the files go (build/dist); files of that version are replaced
#   --arch aarch64   the same for that machine by Debian's cross compiler, without GPU cases. Needs what
#               ci/bootstrap.sh --cross installs: with qemu the program writes its manual pages here
#   --check     also builds a second time from nothing, without a compiler cache, and compares the bytes. In the same folder:
#               nvcc puts a sum of its source's path into the names of kernels
#   --without-roots   goes on although a run on a bare machine (ci/fresh-machine.sh) is older than what it depends on. Such runs are
#               named before anything is built, and end this with 1 otherwise
# Of the last commit: a checkout with changes is refused. Needs Debian 12 with the packages of ci/packages.txt, and pip and apt for three source packages and a wheel, which
# ci/portable/inputs.txt pins, and two packages with CUDA 11.8; later calls need no network. Where nvcc is found, kernels and CUDA runtime are in
# it as modules: one of that nvcc, one of CUDA 11.8 for older drivers.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"

out=$root/build/dist
twice=false
without_roots=false
arch=x86_64
while [ $# -gt 0 ]; do
  case $1 in
    --out)
      [ $# -ge 2 ] || die "--out needs a folder"
      out=$2
      shift
      ;;
    --check) twice=true ;;
    --without-roots) without_roots=true ;;
    --arch)
      arch=${2-}
      shift
      ;;
    *)
      echo "release.sh: $1: unknown option (--out DIR, --check, --arch ARCH, --without-roots)" >&2
      exit 2
      ;;
  esac
  shift
done
case $arch in
  x86_64) preset=portable ;;
  aarch64) preset=portable-aarch64 ;;
  *) die "$arch: no release is made for it (x86_64, aarch64)" ;;
esac
out=$(realpath -m "$out")
# What would end --check half an hour later: the second build refuses a checkout with new files, and empties its own folder.
if $twice; then
  case $out/ in
    "$root/build/$preset"/*) die "--out $out: the second build removes what is in build/$preset; next: name another folder" ;;
    "$root"/*)
      git check-ignore -q "$out/$preset" ||
        die "--out $out: files there are changes of this checkout, which the second build refuses; next: name a folder outside, or below build/"
      ;;
  esac
fi
mkdir -p "$out"

[ -z "$(git status --porcelain)" ] ||
  die "this checkout has changes: documents and list of parts are those of the last commit; next: commit or stash them"
# Standard output is for results alone.
ci/fresh-machine-record.sh >&2 || $without_roots ||
  die "bare machines have not run what is released here; next: make and commit these runs, or name --without-roots"
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
umask 022

CLUSTERBENCH_RELEASE_ARCH=$arch ci/portable/libraries.sh
if [ "$arch" = x86_64 ]; then
  ci/portable/cuda.sh || stage "without CUDA 11.8: this release has no GPU cases with drivers before 580"
else
  command -v qemu-aarch64-static >/dev/null || die "needs qemu-aarch64-static; next: ci/bootstrap.sh --cross"
fi
stage "building"
jobs=${CLUSTERBENCH_JOBS:-$jobs}
build_preset "$preset" clusterbench

version=$(sed -n 's/^project(clusterbench VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=clusterbench-$version-$arch
place=$root/build/$preset/pack
folder=$place/$name
rm -rf --one-file-system "$place"
stage "packing $name.tar.gz"
cmake --install "build/$preset" --strip --prefix "$folder" >/dev/null
mkdir -p "$folder/share/doc/clusterbench"
git archive HEAD LICENSE README.md CHANGELOG.md SECURITY.md docs | tar -x -C "$folder/share/doc/clusterbench"
mv "$folder/share/doc/clusterbench/LICENSE" "$folder/"
ci/portable/sbom.py "build/$preset" "$folder" >"$place/parts.txt"
install -D -m 644 packaging/modulefile "$folder/share/modulefiles/clusterbench/$version"
ci/portable/packages.sh "$folder" "$out" "$arch"
(cd "$folder" && find . -type f -printf '%P\0' | LC_ALL=C sort -z | xargs -0 sha256sum) >"$place/sums"
mv "$place/sums" "$folder/SHA256SUMS"
# The same bytes from the same files: order, owner, time and mode do not come from this machine, gzip writes no name.
tar -C "$place" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --mode=u=rwX,go=rX --format=ustar \
  -cf - "$name" | gzip -9 -n >"$out/$name.tar.gz"
debian_arch=amd64 of=clusterbench-$version sums=SHA256SUMS
if [ "$arch" != x86_64 ]; then debian_arch=arm64 of=$name sums=SHA256SUMS.$arch; fi
files=("$name.tar.gz" "clusterbench_$version-1_$debian_arch.deb" "clusterbench-$version-1.$arch.rpm")
(cd "$out" && "$root/ci/portable/sbom.py" --files "$folder/sbom.spdx.json" "${files[@]}" >"$of.spdx.json")
files+=("$of.spdx.json")
if [ "$arch" = x86_64 ]; then
  sum=$(sha256sum "$out/$name.tar.gz" | cut -d' ' -f1)
  sed "s/@VERSION@/$version/; s/@SHA256@/$sum/" packaging/spack/package.py >"$out/clusterbench-$version.spack.py"
  files+=("clusterbench-$version.spack.py")
fi
(cd "$out" && sha256sum "${files[@]}" >"$sums")

stage "checking"
shopt -s nullglob
ci/portable/check.py "$folder/bin/clusterbench" "$out/$name.tar.gz" "$folder"/lib/clusterbench/*.so
for file in "${files[@]}"; do
  [ "$(stat -c %s "$out/$file")" -le 60000000 ] || die "$file has more than 60 MB"
done
(cd "$out" && cat "$sums" && du -b "${files[@]}")
echo "release: $out/$name.tar.gz"
if ! $twice; then exit 0; fi

stage "a second time, from nothing"
rm -rf --one-file-system "build/$preset"
again=$(mktemp -d "$root/.cache/release/again.XXXXXX")
trap 'rm -rf --one-file-system "$again"' EXIT
CCACHE_DISABLE=1 ci/release.sh --out "$again" --arch "$arch" --without-roots >&2
for file in "${files[@]}" "$sums"; do
  cmp "$out/$file" "$again/$file" || die "two builds of one commit differ in $file"
done
echo "release: two builds, the same bytes"
