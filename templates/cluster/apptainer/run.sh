#!/bin/bash
# Apptainer: clusterbench starts its ranks in the image, on {{where}}, with the profile {{profile}}.
# Use: ./{{file}}, on a host that has the program, mpirun and apptainer; to continue after a stop: CAMPAIGN=DIR ./{{file}}
# Change: the paths below. Every host needs the image and a folder {{directory}}; the hosts need not share them.
set -eu
program={{program}}
image={{directory}}/{{image_file}}
campaign=${CAMPAIGN:-{{directory}}/acceptance-$(date -u +%Y%m%d-%H%M%S)}

if [ ! -e "$image" ]; then
  echo "there is no image $image; next: apptainer build $image clusterbench.def" >&2
  exit 2
fi
ulimit -l unlimited 2>/dev/null || echo "locked memory is limited to $(ulimit -l) KiB: RDMA steps may fail" >&2
# `run` itself stays on this host; mpirun starts these words before the program of every rank.
export CLUSTERBENCH_MPIRUN_ARGS="apptainer exec{{#gpus}} --nv{{/gpus}} --bind {{directory}} $image"
if [ -e "$campaign/campaign.json" ]; then
  exec "$program" run --resume "$campaign"
fi
exec "$program" run {{profile}} --launcher mpirun{{#hosts}} --hosts '{{hosts}}'{{/hosts}} --out "$campaign"
