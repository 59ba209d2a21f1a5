#pragma once

#include <functional>
#include <string>
#include <vector>

#include "campaign/run.h"

// run --prove: for every step in which a fault can be planted, runs one more short job on the same
// hosts, whose check must find the fault. Its documents lie in proofs/ and hold no figures.
namespace cb {

// A job with a planted fault, before it is run.
struct ProofJob {
  JobKey key;
  Step step;           // shortened, with the fault
  Said why_none;       // why no fault can be planted; else empty
  double seconds = 0;  // estimate
};

// One proof job for every job of the profile, in its order.
std::vector<ProofJob> plan_proofs(const RunSetup& setup);

// About how long all proofs take together. The jobs of one step run on all hosts at once, as far as
// the fan-out allows.
double proofs_seconds(const std::vector<ProofJob>& jobs, size_t fan_out);

// True if this or an earlier run of the campaign was asked for proofs.
bool wants_proofs(const RunSetup& setup);

// Called with what happens, for the terminal.
struct ProofObserver {
  // The proofs of a step's jobs. `kept`: an earlier run made all of them.
  std::function<void(const Step&, const std::vector<Proof>&, bool kept, double seconds)> step_ends;
  std::function<void()> stopping;
};

// Plants a fault in every job that is done and has no proof yet, then finishes the campaign again.
// The caller must hold the lock. Returns false if interrupted; a later call goes on.
bool prove_campaign(const RunSetup& setup, const ProofObserver& observer);

}  // namespace cb
