#pragma once

#include <string>

#include "bench/harness/case.h"
#include "sys/os/fs_root.h"

namespace cb::nccl {

// What NCCL's configuration files set on this host: "/etc/nccl.conf: NCCL_ALGO=Ring", files in the
// order in which NCCL reads them; "" if there is none. The environment comes before all of them.
// Only variables of NCCL are told, and no value that looks like a secret; with `redact` none at
// all.
std::string configuration_text(const FsRoot& fs, bool redact = false);

// Collective. Adds the fact `nccl_conf` of rank 0's host, and a note for each host that differs
// from it.
void describe_configuration(Record& record, Context& context);

}  // namespace cb::nccl
