// A made-up campaign with every state a criterion can have, the same at every call.
#pragma once

#include <vector>

#include "judge/verdict.h"

namespace cb::example {

// Waivers are referred to by the judgement, so they live as long as the case.
struct Case {
  Campaign campaign;
  std::vector<Waiver> waivers;
  Catalogue catalogue;
};

// Four hosts, of which node04 misses a deadline: a size sweep, a latency histogram, a burn with a
// time line.
Case mixed();

// What judge() says of it, with its waivers. Of mixed(): two fail, one is incomplete, one warns,
// one is waived, the rest pass or do not apply. `example` must outlive it.
Judgement judgement_of(const Case& example);

// Many hosts, each with its GEMM, triad and storage figures, and one odd host.
Case fleet(int hosts);

}  // namespace cb::example
