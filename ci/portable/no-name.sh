#!/usr/bin/env bash
# Times jobs of four ranks on a machine whose own name is in no file and whose name server stays silent.
#   ci/fresh-machine.sh [SUITE] --no-name --with ARCHIVE ci/portable/no-name.sh
# Installs the Open MPI of the suite, then points /etc/resolv.conf to a port of this machine that takes questions and answers none: inside such
# a root only. Exit 1 if a job failed or took five seconds, the time of one question, or if doctor does not say that nobody answers.
# shellcheck source=ci/common.sh
source "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
help_if_asked "$@"

archives=(/srv/clusterbench-*.tar.gz)
if [ ! -f "${archives[0]}" ] || [[ $(hostname) != fresh-* ]]; then
  echo "no-name.sh: only in a root of ci/fresh-machine.sh --with ARCHIVE" >&2
  exit 2
fi
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends openmpi-bin >/dev/null
place=$(mktemp -d)
tar -xzf "${archives[0]}" -C "$place"
program=$(echo "$place"/clusterbench-*/bin/clusterbench)
status=0

# job WORDS…: four ranks.
job() {
  local begun code=0 took
  begun=$(date +%s%N)
  timeout 120 mpirun -np 4 --oversubscribe "$program" "$@" --quiet --json /tmp/job.json || code=$?
  took=$((($(date +%s%N) - begun) / 1000000))
  echo "exit $code, $took ms: mpirun -np 4 clusterbench $*"
  [ "$code" -eq 0 ] && [ "$took" -lt 5000 ] || status=1
}

mpirun --version | head -n 1
echo "with a name server:"
job mpi --op all_reduce --size 1K --iterations 5
perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(LocalAddr => "127.86.0.1", LocalPort => 53, Proto => "udp") or die "$!\n"; sleep 600' &
trap 'kill %1' EXIT
echo 'nameserver 127.86.0.1' >/etc/resolv.conf
echo "without one:"
for _ in 1 2 3; do job mpi --op all_reduce --size 1K --iterations 5; done
job mpi --op all_reduce,alltoall --size 1K,64K --duration 100ms
"$program" doctor >/tmp/doctor.txt || true
grep own-name /tmp/doctor.txt || status=1
grep -q 'own-name.*nobody answers' /tmp/doctor.txt || status=1
exit "$status"
