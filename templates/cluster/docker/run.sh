#!/bin/sh
# Docker: clusterbench runs in a container and measures {{where}}, each host by itself, with the profile {{profile}}.
# Use: ./{{file}}, where every host has the image {{image}}. Several hosts in one job: template slurm, mpijob or apptainer.
# Change: the paths and the options of docker below.
set -eu
time=$(date -u +%Y%m%d-%H%M%S)

# measure NAME WORD…: the campaign NAME in a container; WORDs come before docker (nothing, or ssh and a host).
measure() {
  name=$1
  shift
  rdma=
  if "$@" test -e /dev/infiniband </dev/null; then rdma=--device=/dev/infiniband; fi
  "$@" docker run --rm --network host --ipc host --ulimit memlock=-1 --ulimit stack=67108864 --cap-add IPC_LOCK ${rdma:+"$rdma"} \
{{#gpus}}
    --gpus all \
{{/gpus}}
    --volume {{directory}}:{{directory}} {{image}} {{program}} run {{profile}} --out "{{directory}}/$name" </dev/null
}

{{^hosts}}
measure "$time"
{{/hosts}}
{{#hosts}}
worst=0
for host in {{host_words}}; do
  code=0
  measure "$time-$host" ssh "$host" || code=$?
  echo "$host: exit code $code"
  [ "$code" -le "$worst" ] || worst=$code
done
exit "$worst"
{{/hosts}}
