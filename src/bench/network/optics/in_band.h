#pragma once

#include "bench/harness/case.h"
#include "bench/network/optics/subnet_modules.h"

namespace cb::net {

// The parameters of a reading in band, and what of them cannot be.
std::vector<ParamDef> in_band_params();
void check_in_band_params(const Params& params, Problems& problems);

struct InBandModules {
  SubnetModules read;
  MadTally mads;
  std::string port;                 // that asked
  std::optional<Said> unavailable;  // why nothing could be asked
};
// On rank 0, by this host's port; the others wait.
InBandModules read_modules_in_band(Context& context, const Params& params);

}  // namespace cb::net
