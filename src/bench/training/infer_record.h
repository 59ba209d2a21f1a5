#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/training/infer_options.h"
#include "bench/training/infer_session.h"

// What the records of `infer` have in common, wherever tokens are generated.
namespace cb::training {

std::vector<MetricDef> infer_metrics();
std::vector<std::string> infer_checks();
FaultPlan infer_fault();

// A number of sequences at once, as fast as they are generated or under load.
struct InferPoint {
  int64_t batch = 1;
  std::optional<double> rate = {};  // requests per second
};
std::vector<InferPoint> infer_points(const Params& params, const InferOptions& options);
Params params_of(const InferPoint& point, const InferOptions& options, const Params& all);
std::string text_of(const InferPoint& point, const InferOptions& options);
InferOptions of_batch(InferOptions options, int64_t batch);
Text infer_text(const InferOptions& options);

// Bytes that this rank allocates for the point: weights, caches, passes, and the probes' arrays.
double infer_memory(const InferOptions& options, const InferPoint& point);
double probe_bytes(const InferOptions& options);
constexpr double kMostProbeBytes = 0x1p30;  // beyond the caches of any host's rank and any GPU

void add_infer_facts(Record& record, const InferOptions& options, const InferPoint& point);

// What a rank generates with. `options` are those of the point.
struct InferRig {
  Context& context;
  const InferOptions& options;
  Backend<float>& backend;
  Fabric<float>& fabric;
  Parameters<float>& parameters;
  const Text& text;
  // Bytes per second of reading so many bytes, as fast as this rank can; collective.
  std::function<double(double bytes)> read_rate;
  Said read_how, decode_how;  // what the ceilings of reading and of decoding are

  Stage stage() const { return options.stage(context.comm.rank()); }
};

// Collective over the job: `work` of a replica of one rank, which ends on all ranks before any goes
// on. False: on another one it failed. Ranks that share matrices end each other by their exchanges.
bool in_step(Context& context, const InferOptions& options, const std::function<void()>& work);

// Collective over the job: generates, checks, and adds figures unless data were wrong.
void measure_infer(InferRig& rig, const InferPoint& point, Record& record, size_t self);

}  // namespace cb::training
