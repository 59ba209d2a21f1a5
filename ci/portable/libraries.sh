#!/usr/bin/env bash
# Makes what the portable preset links, in .cache/release/root: static libraries of fmt, simdjson and hwloc, which Debian does
# not have (hwloc's wants udev), and the link-time files of glibc 2.28. ci/release.sh calls it; a second call does nothing.
#   CLUSTERBENCH_RELEASE_INPUTS=DIR   where the files of ci/portable/inputs.txt are or are put (.cache/release/inputs)
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
help_if_asked "$@"

# shellcheck source=ci/portable/inputs.sh
source "$root/ci/portable/inputs.sh"

made=$(grep -v "^non-free" "$list" | cat - "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
if [ "$(cat "$place/root/made" 2>/dev/null)" = "$made" ]; then exit 0; fi

shopt -s extglob
# unpacked NAME: the folder of its sources; its licence is kept.
unpacked() {
  mkdir -p "$work/$1"
  tar -xf "$inputs/$(entry "$1" 5)" -C "$work/$1" --strip-components 1
  cp "$work/$1"/@(LICENSE|LICENSE.rst|COPYING) "$new/licences/$1"
  echo "$work/$1"
}

flags=(-O2 -fPIC -ffunction-sections -fdata-sections)

# static FOLDER NAME SOURCE HEADERS: one source file below FOLDER as libNAME.a, and its headers.
static() {
  local from=$1 library=$2 source=$3 headers=$4
  g++ -std=c++20 "${flags[@]}" "-ffile-prefix-map=$work=." -I"$from/$headers" -c "$from/$source" -o "$work/$library.o"
  ar rcsD "$new/lib/lib$library.a" "$work/$library.o"
  cp -r "$from/$headers/." "$new/include/"
}

make_hwloc() {
  local from
  from=$(unpacked hwloc)
  stage "hwloc without plugins, udev and PCI"
  (cd "$from" && ./configure --prefix=/usr --enable-static --disable-shared --disable-libudev --disable-pci --disable-libxml2 \
    --disable-io --disable-plugins --disable-cairo --disable-opencl --disable-cuda --disable-nvml --disable-rsmi --disable-levelzero \
    --disable-gl --disable-doxygen CFLAGS="${flags[*]} -ffile-prefix-map=$from=." && make -j2 -C include install DESTDIR="$work/hwloc-out" &&
    make -j2 -C hwloc install DESTDIR="$work/hwloc-out") >"$place/hwloc.log" 2>&1 || die "hwloc did not build; see $place/hwloc.log"
  cp "$work/hwloc-out/usr/lib/libhwloc.a" "$new/lib/"
  cp -r "$work/hwloc-out/usr/include/." "$new/include/"
}

# The compiler in the wheel knows the symbols of every glibc: one link makes a stub of each library, which no program runs with.
make_stubs() {
  stage "link-time files of glibc 2.28"
  (cd "$work" && /usr/bin/python3 -m zipfile -e "$inputs/$(entry ziglang 5)" zig && chmod +x zig/ziglang/zig &&
    echo 'int main(void) { return 0; }' >stub.c &&
    HOME=$work ZIG_GLOBAL_CACHE_DIR=$work/zig-cache ZIG_LOCAL_CACHE_DIR=$work/zig-cache zig/ziglang/zig cc \
      -target x86_64-linux-gnu.2.28 -pie -o stub stub.c -lm -lpthread -ldl -lrt) || die "the link-time files of glibc could not be made"
  local file
  for file in Scrt1.o libc_nonshared.a libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1; do
    find "$work/zig-cache" -name "$file" -exec cp {} "$new/glibc/" \;
    [ -s "$new/glibc/$file" ] || die "the compiler of the wheel made no $file"
  done
  cp "$work/zig/ziglang/lib/libc/glibc/LICENSES" "$new/glibc/"
}

[ "$(uname -m)" = x86_64 ] || die "the release is made on x86_64 only"
# hwloc's configure refuses folders with blanks, which the checkout may lie in.
work=$(mktemp -d -t clusterbench-release.XXXXXX) new=$place/root.new
trap 'rm -rf --one-file-system "$work"' EXIT
rm -rf --one-file-system "$new"
mkdir -p "$inputs" "$new/lib" "$new/include" "$new/glibc" "$new/licences"
mapfile -t names < <(awk '!/^#/ && $1 != "non-free" { print $2 }' "$list")
for name in "${names[@]}"; do good "$name" || fetch "$name"; done
static "$(unpacked fmtlib)" fmt src/format.cc include
stage "simdjson"
static "$(unpacked simdjson)" simdjson singleheader/simdjson.cpp singleheader
make_hwloc
make_stubs
echo "$made" >"$new/made"
rm -rf --one-file-system "$place/root"
mv "$new" "$place/root"
