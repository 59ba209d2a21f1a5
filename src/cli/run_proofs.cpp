#include "cli/run_proofs.h"

#include <algorithm>
#include <iostream>
#include <vector>

#include <fmt/format.h>

#include "campaign/prove.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

// The first proof that is not shown; if all are, the first one.
const Proof& telling(const std::vector<Proof>& proofs) {
  const auto worst = std::ranges::find(proofs, ProofState::not_shown, &Proof::state);
  return worst == proofs.end() ? proofs.front() : *worst;
}

std::string proof_text(const Proof& p) {
  switch (p.state) {
    case ProofState::shown:
      return fmt::format("✓ planted fault found by check {}", p.check);
    case ProofState::impossible:
      return "– no fault can be planted: " + p.reason.text();
    case ProofState::not_shown:
      break;
  }
  const std::string place = p.host.empty() ? "" : " on " + p.host;
  return p.blind ? fmt::format("✗ the planted fault was not found{}: {}", place, p.planted.text())
                 : fmt::format("✗ not shown{}: {}", place, p.reason.text());
}

std::string proof_line(const Step& step, const std::vector<Proof>& proofs, bool kept,
                       double seconds) {
  const Proof& p = telling(proofs);
  const bool ran = p.state != ProofState::impossible;
  const std::string time = !ran ? "" : kept ? "  done before" : "  " + format_seconds(seconds);
  return fmt::format("   {} {}{}\n", pad_right(terminal_safe(step.id), 24),
                     terminal_safe(proof_text(p)), time);
}

}  // namespace

bool prove_steps(const RunSetup& setup) {
  std::cerr << "proving that each check finds a planted fault\n";
  const ProofObserver observer{
      [](const Step& step, const std::vector<Proof>& proofs, bool kept, double seconds) {
        std::cerr << proof_line(step, proofs, kept, seconds) << std::flush;
      },
      [] { std::cerr << "stopping: waiting for the running jobs to end\n"
                     << std::flush; }};
  return prove_campaign(setup, observer);
}

std::string proof_commands(const RunSetup& setup) {
  const std::vector<ProofJob> jobs = plan_proofs(setup);
  const auto count =
      std::ranges::count_if(jobs, [](const ProofJob& j) { return j.why_none.empty(); });
  const Roster roster = roster_so_far(setup);
  std::string out = fmt::format("# proofs: {} short job{} with a planted fault, about {}\n", count,
                                count == 1 ? "" : "s",
                                format_seconds(proofs_seconds(jobs, setup.executor.fan_out)));
  for (const ProofJob& job : jobs) {
    const auto record = setup.paths.root / CampaignPaths::proof(job.key.name, 1);
    out += job.why_none.empty() ? terminal_safe(shell_text(step_command(
                                      setup, job.step, roster.hosts_of(job.key), record)))
                                : terminal_safe(fmt::format("# {}: no fault can be planted: {}",
                                                            job.key.name, job.why_none.text()));
    out += '\n';
  }
  return out;
}

}  // namespace cb
