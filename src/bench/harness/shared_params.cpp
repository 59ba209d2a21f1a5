#include "bench/harness/shared_params.h"

namespace cb {

using namespace param;

ParamDef device_param(const char* device, const char* help) {
  return choice("device", {device}).help(help).by_default(device);
}

ParamDef seed_param(const char* help) {
  return integer("seed").help(help).by_default("1").at_least(0);
}

ParamDef threads_param() {
  return integer("threads").help("threads per rank; by default one per core").range(1, 4096);
}

ParamDef iterations_param() {
  return integer("iterations").help("exact number of samples").range(1, 1000000);
}

ParamDef sampling_param(const char* by_default) {
  return duration("duration").help("time limit of sampling").by_default(by_default).at_least(0.01);
}

ParamDef step_factor_param(const char* by_default) {
  return integer("step-factor")
      .help("each size is this times the one before")
      .by_default(by_default)
      .range(2, 1024);
}

std::vector<ParamDef> edge_params(double min) {
  return {integer("m").help("rows of A and C, instead of --size").range(min, 1e6),
          integer("n").help("columns of B and C").range(min, 1e6),
          integer("k").help("columns of A, rows of B").range(min, 1e6)};
}

}  // namespace cb
