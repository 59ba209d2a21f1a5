// Shows which checks found a fault that was planted on purpose, step by step.
#include <algorithm>

#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMaxHostsOfProof = 4;

// Jobs of one step with the same result.
struct ProofGroup {
  const Proof* first = nullptr;
  std::vector<std::string> hosts;
};

bool alike(const Proof& a, const Proof& b) {
  return a.step == b.step && a.state == b.state && a.check == b.check && a.planted == b.planted &&
         a.reason == b.reason;
}

std::vector<ProofGroup> grouped(const std::vector<Proof>& proofs) {
  std::vector<ProofGroup> out;
  for (const Proof& p : proofs) {
    // The jobs of a step are neighbours, so only the last groups can belong to the same step.
    auto same = out.rbegin();
    while (same != out.rend() && same->first->step == p.step && !alike(*same->first, p)) ++same;
    if (same == out.rend() || same->first->step != p.step) {
      out.push_back({&p, {}});
      same = out.rbegin();
    }
    if (!p.host.empty()) same->hosts.push_back(p.host);
  }
  return out;
}

State state_of(const Proof& p) {
  if (p.state == ProofState::impossible) return State::not_applicable;
  return p.state == ProofState::shown ? State::pass : State::incomplete;
}

std::string finding_text(const Proof& p, const Texts& t) {
  if (p.state == ProofState::shown) return p.check;
  if (p.blind) return t("proof.blind");
  return p.reason.in(t.lang());
}

Row proof_row(const ProofGroup& group, const Texts& t) {
  const Proof& p = *group.first;
  const State state = state_of(p);
  const bool impossible = p.state == ProofState::impossible;
  return {state,
          {std::string(state_mark(state)) + " " + p.step,
           impossible ? t("proof.none") : p.planted.in(t.lang()), finding_text(p, t),
           group.hosts.empty() ? t("proof.cluster") : name_list(group.hosts, kMaxHostsOfProof, t)}};
}

}  // namespace

Section proofs_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("proof.heading"), {}};
  if (in.campaign.proofs.empty()) return out;
  Table table{
      .caption = t("proof.caption"),
      .columns = {{t("col.step")}, {t("col.planted")}, {t("col.found_by")}, {t("col.host")}}};
  for (const ProofGroup& group : grouped(in.campaign.proofs))
    table.rows.push_back(proof_row(group, t));
  out.blocks.emplace_back(std::move(table));
  return out;
}

}  // namespace cb
