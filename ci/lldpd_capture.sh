#!/usr/bin/env bash
# What the real lldpd says: two of them on a veth pair in namespaces of their own. Leaves in DIRECTORY what host n1 hears of
# leaf-3 as `lldpcli -f json0` prints it (neighbours.json), and the frame itself (frame.hex); tests/data/lldpd has a copy.
#   ci/lldpd_capture.sh DIRECTORY
# As root. Nothing is installed: the packages are unpacked, and the user that lldpd needs exists in this mount namespace only.
caller=$PWD
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
help_if_asked "$@"
[ $# -eq 1 ] || die "needs a directory"
given=$(cd "$caller" && realpath -m "$1")
if [ "${CLUSTERBENCH_LLDPD_INSIDE:-}" != 1 ]; then
  mkdir -p "$given/packages"
  (cd "$given/packages" && apt-get -qq -o APT::Sandbox::User=root download lldpd libsnmp40)
  for package in "$given"/packages/*.deb; do dpkg -x "$package" "$given/root"; done
  CLUSTERBENCH_LLDPD_INSIDE=1 timeout 120 unshare -m -n -p -f --mount-proc "$root/ci/lldpd_capture.sh" "$given"
  exit
fi
cd "$given"
programs=$PWD/root/usr/sbin
LD_LIBRARY_PATH=$(dirname "$(find "$PWD/root" -name 'libnetsnmp.so.*' | head -1)")
export LD_LIBRARY_PATH
(
  cat /etc/passwd
  echo '_lldpd:x:991:991::/run/lldpd:/usr/sbin/nologin'
) >passwd
(
  cat /etc/group
  echo '_lldpd:x:991:'
) >group
(
  cat /etc/hosts
  echo '10.90.0.1 n1'
  echo '10.90.0.2 leaf-3'
) >hosts
for file in passwd group hosts; do mount --bind $file /etc/$file; done
mount -t tmpfs tmpfs /run
mount -t sysfs sysfs /sys
mkdir -p /run/lldpd
ip netns add far
ip link add eth2 type veth peer name swp7 netns far
ip address add 10.90.0.1/24 dev eth2
ip link set eth2 address 02:00:00:00:00:12 up
ip -n far link set swp7 address 02:00:00:00:00:77
ip -n far link set swp7 up
start() { # start SOCKET HOST COMMAND-PREFIX…: in a place of its own for its process id
  local socket=$1 host=$2
  shift 2
  "$@" unshare -m --uts sh -c "mount -t sysfs sysfs /sys; mount -t tmpfs tmpfs /run/lldpd; hostname $host
    exec $programs/lldpd -d -L $programs/lldpcli -u $socket -S 'a switch of the lab'" >"$host.log" 2>&1 &
}
start /run/near.sock n1
start /run/far.sock leaf-3 ip netns exec far
for _ in $(seq 100); do
  [ -S /run/far.sock ] && [ -S /run/near.sock ] && break
  sleep 0.1
done
sleep 2
"$programs/lldpcli" -u /run/far.sock configure ports swp7 lldp portidsubtype local Ethernet1/7 description 'to n1 eth2' >/dev/null
sleep 2 # a new name of a port begins with a goodbye for the old one
python3 - <<'P' &
import socket
listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88CC))
listener.bind(("eth2", 0x88CC))
listener.settimeout(60)
while (frame := listener.recv(2000))[6:12] != bytes.fromhex("020000000077"):
    pass
open("frame.hex", "w").write(frame.hex() + "\n")
P
heard=$!
wait $heard # it speaks every 30 s
sleep 1
"$programs/lldpcli" -u /run/near.sock -f json0 show neighbors >neighbours.json
