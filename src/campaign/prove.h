#pragma once

#include <functional>
#include <string>
#include <vector>

#include "campaign/run.h"

// run --prove: for every step in which a fault can be planted one short job more, on the same
// hosts, whose check has to find it. Its documents lie in proofs/ and are no figures.
namespace cb {

// A job with a planted fault, before it is run.
struct ProofJob {
  JobKey key;
  Step step;           // short, with the fault
  Said why_none;       // no fault can be planted; else empty
  double seconds = 0;  // about
};

// One for every job of the profile, in its order.
std::vector<ProofJob> plan_proofs(const RunSetup& setup);

// What they take together, about: those of one step on all hosts at once, as far as the fan-out
// allows.
double proofs_seconds(const std::vector<ProofJob>& jobs, size_t fan_out);

// Whether this or an earlier run of the campaign was asked for proofs.
bool wants_proofs(const RunSetup& setup);

// Told of what happens, for the terminal.
struct ProofObserver {
  // The proofs of a step's jobs; `kept`: all of them were made before.
  std::function<void(const Step&, const std::vector<Proof>&, bool kept, double seconds)> step_ends;
  std::function<void()> stopping;
};

// Plants a fault in every job that is done and has no proof yet, and ends the campaign anew. The
// caller holds the lock. False if it was interrupted; a later call goes on.
bool prove_campaign(const RunSetup& setup, const ProofObserver& observer);

}  // namespace cb
