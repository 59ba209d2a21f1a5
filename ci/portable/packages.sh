#!/usr/bin/env bash
# Makes the packages of a release: ci/portable/packages.sh FOLDER OUT [ARCH]
# FOLDER is what ci/release.sh packs (bin, lib, share, licences, sbom.spdx.json); OUT gets clusterbench_VERSION-1_amd64.deb and
# clusterbench-VERSION-1.x86_64.rpm, or those of arm64 and aarch64. Both need glibc 2.28 alone and recommend what measuring uses of a host. The same bytes from
# the same folder and the same SOURCE_DATE_EPOCH.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
help_if_asked "$@"
[ $# -ge 2 ] || die "which folder, and where to? ci/release.sh calls this"
folder=$(realpath "$1")
out=$(realpath "$2")
arch=${3:-x86_64}
debian_arch=amd64
[ "$arch" = x86_64 ] || debian_arch=arm64
: "${SOURCE_DATE_EPOCH:?is the time of the commit}"
version=$(sed -n 's/^project(clusterbench VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
umask 022
work=$(mktemp -d -t clusterbench-packages.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT

maintainer="clusterbench <clusterbench@example.org>"
summary="measures a GPU cluster and lets its buyer accept it"
# description MARK: the text of both packages, with a mark before each line.
description() {
  sed "s/^/$1/" <<'TEXT'
One program measures matrix products, memory, collectives (NCCL and MPI),
RDMA, TCP, storage and burn-in on one host or thousands, judges the numbers
against a profile, names the slow part and renders the report that both
parties sign. It needs libc alone; MPI, libibverbs, BLAS, NCCL and driver
are those of the host.
TEXT
}

# tree ROOT: the files at their places below ROOT/usr.
tree() {
  local usr=$1/usr
  local doc=$usr/share/doc/clusterbench
  mkdir -p "$usr"
  cp -r "$folder/bin" "$folder/share" "$usr/"
  [ ! -d "$folder/lib" ] || cp -r "$folder/lib" "$usr/"
  cp -r "$folder/licences" "$folder/sbom.spdx.json" "$folder/LICENSE" "$doc/"
  rm -rf "$usr/share/modulefiles" # below /usr the program is in every PATH
  find "$usr/share/man" -name '*.1' -exec gzip -9 -n {} +
  find "$1" -type d -exec chmod 755 {} +
  find "$1" -type f -perm /111 -exec chmod 755 {} +
  find "$1" -type f ! -perm /111 -exec chmod 644 {} +
}

# date_all ROOT: no time of this machine is left.
date_all() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

# copyright: what Debian wants to know of the program and of what is linked into it.
copyright() {
  echo 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/'
  printf 'Upstream-Name: clusterbench\n\nFiles: *\nCopyright: 2026 the clusterbench authors\nLicense: Apache-2.0\n'
  printf ' On Debian systems the text is in /usr/share/common-licenses/Apache-2.0.\nComment:\n'
  printf ' The program has libraries of others in it. Each licence is a file in\n /usr/share/doc/clusterbench/licences, and sbom.spdx.json lists them.\n'
}

make_deb() {
  local at=$work/deb
  tree "$at"
  local doc=$at/usr/share/doc/clusterbench
  mkdir -p "$at/usr/share/zsh/vendor-completions" "$at/DEBIAN"
  mv "$at/usr/share/zsh/site-functions/_clusterbench" "$at/usr/share/zsh/vendor-completions/"
  rmdir "$at/usr/share/zsh/site-functions"
  copyright >"$doc/copyright"
  mv "$doc/CHANGELOG.md" "$doc/changelog"
  printf 'clusterbench (%s-1) unstable; urgency=medium\n\n  * See changelog.gz.\n\n -- %s  %s\n' "$version" "$maintainer" \
    "$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")" >"$doc/changelog.Debian"
  gzip -9 -n "$doc/changelog" "$doc/changelog.Debian"
  (cd "$at" && find usr -type f -print0 | LC_ALL=C sort -z | xargs -0 md5sum) >"$at/DEBIAN/md5sums"
  {
    printf 'Package: clusterbench\nVersion: %s-1\nArchitecture: %s\nSection: admin\nPriority: optional\n' "$version" "$debian_arch"
    printf 'Maintainer: %s\nInstalled-Size: %s\n' "$maintainer" "$(du -sk --apparent-size "$at/usr" | cut -f1)"
    printf 'Depends: libc6 (>= 2.28)\nRecommends: libibverbs1, libopenblas0-pthread | libopenblas0, openmpi-bin | mpich\n'
    printf 'Description: %s\n' "$summary"
    description ' '
  } >"$at/DEBIAN/control"
  date_all "$at"
  dpkg-deb --root-owner-group -Zxz --build "$at" "$out/clusterbench_$version-1_$debian_arch.deb" >&2
}

spec() {
  cat <<SPEC
Name: clusterbench
Version: $version
Release: 1
Summary: $summary
License: Apache-2.0
Group: System/Benchmark
AutoReqProv: no
Requires: glibc >= 2.28
Recommends: libibverbs
Recommends: openblas
Recommends: openmpi
%description
$(description '')
%install
cp -a $work/rpm/. %{buildroot}/
%files
/usr/bin/clusterbench
$([ ! -d "$work/rpm/usr/lib/clusterbench" ] || echo /usr/lib/clusterbench)
/usr/share/clusterbench
%doc /usr/share/doc/clusterbench
%doc /usr/share/man/man1/*
/usr/share/bash-completion/completions/clusterbench
/usr/share/zsh/site-functions/_clusterbench
/usr/share/fish/vendor_completions.d/clusterbench.fish
SPEC
}

# Nothing is stripped or searched for dependencies once more. xz is a payload that rpm of RHEL 8 reads.
make_rpm() {
  tree "$work/rpm"
  date_all "$work/rpm"
  spec >"$work/clusterbench.spec"
  rpmbuild -bb --quiet --target "$arch" --define "_topdir $work/rpmbuild" --define "_rpmdir $work/out" --define '_build_id_links none' \
    --define '__os_install_post %{nil}' --define 'debug_package %{nil}' --define '_buildhost localhost' \
    --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
    --define '_binary_payload w6.xzdio' "$work/clusterbench.spec" >"$work/rpm.log" 2>&1 ||
    { cat "$work/rpm.log" >&2 && die "rpmbuild failed"; }
  mv "$work/out/$arch/clusterbench-$version-1.$arch.rpm" "$out/"
}

for tool in dpkg-deb rpmbuild; do
  command -v "$tool" >/dev/null || die "needs $tool; run: apt-get install --no-install-recommends dpkg rpm"
done
make_deb
make_rpm
