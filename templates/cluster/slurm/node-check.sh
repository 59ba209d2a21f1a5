#!/bin/sh
# Slurm prolog and epilog: a node whose GPUs or RDMA ports are sick is drained instead of given to the next job.
# Use: copy it to every node, then in slurm.conf: Prolog={{node_check}} and Epilog={{node_check}}
# Change: the program, the measurements and the time limit; both together must end within PrologEpilogTimeout.
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH
program={{program}}

# check CASE: 1 if the node must not run jobs. Only what the check found (1) or a hang (124) drains a node; a mistake
# in this file must not drain the whole cluster, so it is only logged.
check() {
  output=$(timeout -k 5 40 "$program" "$1" --deadline 30s --no-color 2>&1)
  code=$?
  case $code in
    0 | 3) return 0 ;; # 3: no such part here
    1 | 124 | 137) reason="found something wrong" ;;
    *) reason="could not run" ;;
  esac
  printf '%s\n' "$output" | logger -t clusterbench
  logger -t clusterbench "$1 $reason, exit code $code; next: run '$program $1' on this node"
  case $code in
    1 | 124 | 137) return 1 ;;
  esac
}

check health || exit 1
check nics || exit 1
