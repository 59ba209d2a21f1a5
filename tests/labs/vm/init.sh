#!/bin/sh
# First process of the emulated machine: loads the modules, puts the host's file system below a writable overlay,
# runs /lab/command.sh in it and leaves its exit code in /lab/rc. The machine ends with it.
bb=/bin/busybox
$bb --install -s /bin
export PATH=/bin
mkdir -p /proc /sys /dev /lower /upper /root /lab
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
# shellcheck disable=SC2013 # one module name a word
for module in $(cat /modules); do modprobe "$module" || echo "vm lab: module $module did not load"; done
# From Linux 6.12 on drives are numbered in the order in which they answer: once more in that of their places on the bus.
drives=$(grep -lx 0x010802 /sys/bus/pci/devices/*/class | cut -d/ -f6)
# settled: each drive has its disk; it says so where one has none after ten seconds.
settled() {
  wanted=$(echo "$drives" | wc -w) tries=100
  until [ "$(find /sys/block -name 'nvme*' | wc -l)" -ge "$wanted" ]; do
    [ $((tries -= 1)) -gt 0 ] || { echo "vm lab: not every NVMe drive has a disk" && return; }
    sleep 0.1
  done
}
in_order() { [ -z "$(for serial in /sys/class/nvme/*/serial; do tr -d ' ' <"$serial"; done 2>/dev/null | sort -c 2>&1)" ]; }
settled
if ! in_order; then
  for drive in $drives; do echo "$drive" >/sys/bus/pci/drivers/nvme/unbind; done
  for drive in $drives; do echo "$drive" >/sys/bus/pci/drivers/nvme/bind; done
  settled
  in_order || echo "vm lab: the NVMe drives are not in the order of their places"
fi
mount -t 9p -o trans=virtio,version=9p2000.L,ro,msize=262144,cache=loose host /lower
mount -t tmpfs -o size=1g tmpfs /upper
mkdir /upper/changes /upper/work
mount -t overlay -o lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work overlay /root
mount -t 9p -o trans=virtio,version=9p2000.L,msize=262144 lab /lab
mkdir -p /root/lab
mount --bind /lab /root/lab
mount --bind /proc /root/proc
mount --bind /sys /root/sys
mount --bind /dev /root/dev
mkdir -p /root/dev/shm /root/dev/pts
mount -t tmpfs tmpfs /root/dev/shm
mount -t devpts devpts /root/dev/pts
hostname vmlab
ifconfig lo 127.0.0.1 up
# shellcheck disable=SC3045  # busybox sh has -l
ulimit -l unlimited
chroot /root /bin/bash /lab/command.sh >/lab/stdout 2>/lab/stderr </dev/null
echo $? >/lab/rc
sync
poweroff -f
