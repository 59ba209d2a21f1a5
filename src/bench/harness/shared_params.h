#pragma once

#include "core/param_builder.h"

// Parameters that several cases have: each is stated here once. --inject-fault is in fault.h.
namespace cb {

// --device of a case that exists for this one device; `help` says what is done with it.
ParamDef device_param(const char* device, const char* help);
ParamDef seed_param(const char* help);
ParamDef threads_param();
ParamDef iterations_param();
// --duration of a case that the sampler ends.
ParamDef sampling_param(const char* by_default);
// --step-factor of a sweep of sizes in whole steps.
ParamDef step_factor_param(const char* by_default);
// --m, --n and --k of a product.
std::vector<ParamDef> edge_params(double min);

}  // namespace cb
