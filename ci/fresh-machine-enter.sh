#!/usr/bin/env bash
# The inner half of ci/fresh-machine.sh, which starts it in namespaces of its own: turns a directory into
# the root of a machine and runs one command in it.
#   ci/fresh-machine-enter.sh ROOT NAME USER APT_CACHE CCACHE COMMAND
# A plain chroot is no machine: terminals, shared memory and network namespaces fail in it.
set -euo pipefail
case ${1-} in
  -h | --help)
    sed -n '2,5s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
    exit 0
    ;;
esac
[ $# -eq 6 ] || { echo "fresh-machine-enter.sh: started by ci/fresh-machine.sh" >&2 && exit 2; }
machine=$1 name=$2 user=$3 apt=$4 ccache=$5 command=$6

mount --make-rprivate /
mount --bind "$machine" "$machine"
mount -t proc proc "$machine/proc"
mount --rbind /sys "$machine/sys"
# Devices of the machine beneath, but terminals and shared memory of its own.
mount --rbind /dev "$machine/dev"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$machine/dev/pts"
mount -t tmpfs tmpfs "$machine/dev/shm"
mount -t tmpfs -o mode=1777 tmpfs "$machine/run"
# Packages and, unless the start is cold, compiled objects of earlier runs.
mount --bind "$apt" "$machine/var/cache/apt/archives"
[ -z "$ccache" ] || mount --bind "$ccache" "$machine/root/.cache/ccache"
hostname "$name"

cd "$machine"
mkdir -p .old
pivot_root . .old
cd /
umount --lazy /.old
rmdir /.old

as_user=()
[ "$user" = root ] || as_user=(setpriv --reuid "$user" --regid "$user" --clear-groups)
home=$(awk -F: -v user="$user" '$1 == user { print $6 }' /etc/passwd)
cd /home/clusterbench
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME="$home" LANG=C.UTF-8 \
  "${as_user[@]}" bash -c "$command"
