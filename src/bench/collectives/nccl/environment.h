#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/error.h"

namespace cb::nccl {

using Environment = std::map<std::string, std::string>;

// The ways that data may take between the GPUs of a host.
const std::vector<std::string>& transport_names();  // p2p (NVLink or PCIe), shm, net

// The variables that make NCCL use only this transport where it can. p2p disables the fallback to
// shared memory; net disables both others. A pair that can use nothing else goes through the NIC.
Environment transport_environment(const std::string& transport);

// Sets the variables for this process, which must not have opened the library yet. Adds a problem
// if the user has set one to another value: the user is not overruled in silence.
void apply(const Environment& environment, Problems& problems);

// "NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1", for the record.
std::string to_text(const Environment& environment);

}  // namespace cb::nccl
