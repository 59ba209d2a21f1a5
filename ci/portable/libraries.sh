#!/usr/bin/env bash
# Makes what the portable preset links, in .cache/release/root: static libraries of fmt, simdjson and hwloc, which Debian does
# not have (hwloc's wants udev), and the link-time files of glibc 2.28. ci/release.sh calls it; a second call does nothing.
#   CLUSTERBENCH_RELEASE_INPUTS=DIR   where the files of ci/portable/inputs.txt are or are put (.cache/release/inputs)
#   CLUSTERBENCH_RELEASE_ARCH=aarch64   for that machine, in .cache/release/root-aarch64, with Debian's static libraries of arm64
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
help_if_asked "$@"

# shellcheck source=ci/portable/inputs.sh
source "$root/ci/portable/inputs.sh"

arch=${CLUSTERBENCH_RELEASE_ARCH:-x86_64}
target=$place/root
tools=
case $arch in
  x86_64) ;;
  aarch64)
    target=$place/root-aarch64
    tools=aarch64-linux-gnu-
    ;;
  *) die "$arch: no release is made for it (x86_64, aarch64)" ;;
esac
command -v "${tools}g++" >/dev/null || die "needs ${tools}g++; next: ci/bootstrap.sh --cross"

made=$(grep -v "^non-free" "$list" | cat - "${BASH_SOURCE[0]}" | sha256sum | cut -c1-16)
if [ "$(cat "$target/made" 2>/dev/null)" = "$made" ]; then exit 0; fi

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
  "${tools}g++" -std=c++20 "${flags[@]}" "-ffile-prefix-map=$work=." -I"$from/$headers" -c "$from/$source" -o "$work/$library.o"
  "${tools}ar" rcsD "$new/lib/lib$library.a" "$work/$library.o"
  cp -r "$from/$headers/." "$new/include/"
}

make_hwloc() {
  local from
  from=$(unpacked hwloc)
  stage "hwloc without plugins, udev and PCI"
  (cd "$from" && ./configure --host="$arch-linux-gnu" --prefix=/usr --enable-static --disable-shared --disable-libudev --disable-pci --disable-libxml2 \
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
      -target "$arch-linux-gnu.2.28" -pie -o stub stub.c -lm -lpthread -ldl -lrt) || die "the link-time files of glibc could not be made"
  local file
  for file in Scrt1.o libc_nonshared.a libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1; do
    find "$work/zig-cache" -name "$file" -exec cp {} "$new/glibc/" \;
    [ -s "$new/glibc/$file" ] || die "the compiler of the wheel made no $file"
  done
  cp "$work/zig/ziglang/lib/libc/glibc/LICENSES" "$new/glibc/"
}

# The newest that Debian has: unpacked, never installed. Their names and versions are kept for the list of parts.
debian_of_arm64() {
  stage "Debian's static libraries of arm64"
  local file packages=(libssl-dev zlib1g-dev liburing-dev libblkid-dev libpugixml-dev libopenblas-pthread-dev)
  mkdir -p "$work/arm64" "$new/debian"
  inputs=$work/arm64 from_apt "deb [arch=arm64 ${key:1} \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
    -o APT::Architecture=arm64 -o APT::Architectures=arm64 download "${packages[@]}" >"$place/fetch.log" 2>&1 ||
    die "cannot fetch ${packages[*]} of arm64: $(tail -n 1 "$place/fetch.log"); next: apt-get update, or run where the network is"
  for file in "$work"/arm64/*.deb; do
    dpkg-deb --extract "$file" "$new/debian"
    # shellcheck disable=SC2016 # the dollars are dpkg's
    dpkg-deb --show --showformat '${Package} ${Version}\n' "$file"
  done >"$new/debian/versions"
}

[ "$(uname -m)" = x86_64 ] || die "the release is made on x86_64 only"
# hwloc's configure refuses folders with blanks, which the checkout may lie in.
work=$(mktemp -d -t clusterbench-release.XXXXXX) new=$target.new
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
[ "$arch" = x86_64 ] || debian_of_arm64
echo "$made" >"$new/made"
rm -rf --one-file-system "$target"
mv "$new" "$target"
