// Every case's proof is recognised when the campaign is read again.
#include <doctest/doctest.h>

#include <algorithm>

#include "bench/registry.h"
#include "campaign/plan.h"
#include "campaign/proof_step.h"

using namespace cb;

TEST_CASE("what a proof of each case ran is its step but for what a proof may change") {
  size_t cases = 0;
  for (const CaseInfo& info : catalogue()) {
    if (std::ranges::find(info.params, "inject-fault", &ParamDef::name) == info.params.end())
      continue;
    INFO(info.name, " ", info.device);
    Step step{.id = "s", .case_name = info.name};
    if (!info.device.empty()) step.params["device"] = {info.device};
    if (why_no_fault(step, info)) continue;
    const Step proof = proof_step(step, info);
    const std::vector<std::string> command =
        step_arguments(proof, info, {"clusterbench", "d", "r"});
    CHECK(proved_step(step, command, &info).params == proof.params);
    ++cases;
  }
  CHECK(cases >= 15);
}
