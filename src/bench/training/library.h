#pragma once

#include <string>
#include <vector>

#include "bench/cpu/blas_choice.h"
#include "bench/training/host_backend.h"

namespace cb::training {

// What multiplies on one thread.
struct TrainLibrary {
  std::string name;              // "onednn oneDNN 2.6.0 avx512_core"
  ThreadProduct<float> product;  // empty: the own loops
  Said candidates;
};

// --threads and --library of the cases that work on processors.
std::vector<ParamDef> host_params();

// The library that multiplies fastest on one thread of the first host, or the one that is named:
// all hosts have the same, where it works on each, since replicas compare their bits. The team's
// threads call it at the same time, and it starts none of its own. Collective: throws on every rank
// if it does not open on one.
TrainLibrary open_train_library(Context& context, const std::string& library, Team& team);

}  // namespace cb::training
