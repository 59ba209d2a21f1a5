#!/bin/sh
# Enroot: clusterbench runs in the image and measures {{where}}, each host by itself, with the profile {{profile}}.
# Use: ./{{file}}; it imports the image once into {{directory}}. Several hosts in one job: template slurm --image, with pyxis.
# Change: the paths below; dockerd:// takes the image from this host's Docker, docker:// from a registry.
set -eu
image={{directory}}/clusterbench.sqsh
time=$(date -u +%Y%m%d-%H%M%S)
[ -e "$image" ] || enroot import --output "$image" dockerd://{{image}}
export NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility MELLANOX_VISIBLE_DEVICES=all
{{^hosts}}
exec enroot start --mount {{directory}} "$image" {{program}} run {{profile}} --out "{{directory}}/$time"
{{/hosts}}
{{#hosts}}
worst=0
for host in {{host_words}}; do
  code=0
  # ssh joins its words with blanks; none of these holds a blank or anything that a shell would expand.
  ssh "$host" env NVIDIA_VISIBLE_DEVICES=all NVIDIA_DRIVER_CAPABILITIES=compute,utility MELLANOX_VISIBLE_DEVICES=all \
    enroot start --mount {{directory}} "$image" {{program}} run {{profile}} --out "{{directory}}/$time-$host" </dev/null || code=$?
  echo "$host: exit code $code"
  [ "$code" -le "$worst" ] || worst=$code
done
exit "$worst"
{{/hosts}}
