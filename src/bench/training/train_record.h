#pragma once

#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/training/options.h"
#include "bench/training/prediction.h"
#include "bench/training/session.h"

// What a record of `train` says, whatever device computed.
namespace cb::training {

// Declarations that both devices share. `peak`: what share_of_peak is on this one.
std::vector<MetricDef> training_metrics(const std::string& peak);
std::vector<std::string> training_checks();
FaultPlan training_fault();

void add_training_facts(Record& record, const Options& options);
// A note where ranks that share matrices are on several hosts.
void note_shared_over_hosts(Record& record, const Context& context, const Layout& layout);
// Digest of the weights, and the step at which a resumed training went on.
void add_course(Record& record, const Trained& measured);
// Figures of the whole job, on rank 0. `predicted`: seconds of a step.
void add_job_figures(Record& record, size_t whole, const Options& options, const Trained& measured,
                     double predicted);
// Exchanges and a wait for other stages only where there are any.
void add_rank_figures(Record& record, size_t self, const Layout& layout, const Trained& measured,
                      const Prediction& prediction);
// The model's operations of one rank a second, over a rate, of each step.
Samples share_of(double rate, const Options& options, const Trained& measured);
// MFU, and HFU where layers are computed again. `peak`: operations per second of this rank.
void add_shares_of_peak(Record& record, size_t self, double peak, const Options& options,
                        const Trained& measured);
// Energy at this mean power (watts), of each step, over this rank's share of the tokens: its mean
// over the ranks is that of the job.
Samples joules_per_token(double watts, const Options& options, const Trained& measured);

}  // namespace cb::training
