#include "judge/proofs.h"

#include <algorithm>
#include <map>

namespace cb {

ProofCount count_proofs(const std::vector<Proof>& proofs) {
  ProofCount out;
  std::map<std::string, bool> steps;  // true while all jobs of the step are shown
  for (const Proof& p : proofs) {
    if (p.state == ProofState::impossible) {
      if (std::ranges::find(out.impossible, p.step) == out.impossible.end())
        out.impossible.push_back(p.step);
      continue;
    }
    const bool shown = p.state == ProofState::shown;
    out.jobs += shown ? 1 : 0;
    const auto [step, fresh] = steps.emplace(p.step, shown);
    if (!fresh) step->second = step->second && shown;
  }
  out.steps = steps.size();
  for (const auto& [step, shown] : steps) out.shown += shown ? 1 : 0;
  return out;
}

std::vector<Message> proof_messages(const std::vector<Proof>& proofs) {
  if (proofs.empty()) return {};
  const ProofCount count = count_proofs(proofs);
  std::vector<Message> out{
      {"proof.line",
       {std::to_string(count.shown), std::to_string(count.steps), std::to_string(count.jobs)}}};
  std::string names;
  for (const std::string& step : count.impossible) names += (names.empty() ? "" : ", ") + step;
  if (!names.empty()) out.push_back({"proof.impossible", {names}});
  return out;
}

}  // namespace cb
