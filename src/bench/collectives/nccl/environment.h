#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace cb::nccl {

using Environment = std::map<std::string, std::string>;

// Which way data go between the GPUs of a host.
const std::vector<std::string>& transport_names();  // p2p (NVLink or PCIe), shm, net

// The variables with which NCCL uses this transport alone where it can: p2p leaves no shared
// memory to fall back to, net leaves neither; both end in the NIC where a pair has nothing better.
Environment transport_environment(const std::string& transport);

// The variables with which NCCL writes its choice of algorithm, protocol and channels per call to
// `file`.
Environment tuning_log_environment(const std::string& file);

// Sets them for this process, which must not have opened the library yet. One that is set to
// another value already is a problem: the user's word is not overruled in silence.
void apply(const Environment& environment, Problems& problems);

// "NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1", for the record.
std::string to_text(const Environment& environment);

}  // namespace cb::nccl
