#include "bench/training/infer_record.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <numeric>
#include <optional>

#include <fmt/format.h>

#include "bench/training/load_record.h"
#include "bench/training/meeting.h"
#include "bench/training/prediction.h"
#include "core/quantity.h"
#include "core/sha256.h"
#include "core/units.h"

namespace cb::training {
namespace {

constexpr double kBeyond = 1.05;   // what is faster than its probe by more has no ceiling
constexpr int64_t kSymbols = 256;  // of the prompts
constexpr int kFp32 = 4;           // bytes

double step_bytes_at(const InferOptions& o, double context) {
  return decode_step_bytes(o.shape, o.layout.tensor, o.generation.sequences, context,
                           o.element_bytes());
}

// Bytes that this rank reads in the mean decode step. The first new token is the prompt's, so the
// first step sees the prompt and that token.
double mean_step_bytes(const InferOptions& o) {
  const auto first = static_cast<double>(o.generation.prompt + 1);
  return step_bytes_at(o, first + static_cast<double>(o.generation.new_tokens - 2) / 2);
}

Samples list_of(std::vector<double> values) { return Samples::from_list(std::move(values)); }

Samples per_second(double work, const std::vector<double>& seconds) {
  std::vector<double> out;
  for (const double s : seconds) out.push_back(work / s);
  return list_of(std::move(out));
}

// Bytes that this rank reads in each of the decode steps.
std::vector<double> bytes_of_steps(const InferOptions& o, size_t steps) {
  const int64_t each = o.generation.new_tokens - 1;
  std::vector<double> out;
  for (size_t i = 0; i < steps; ++i) {
    const int64_t context = o.generation.prompt + 1 + static_cast<int64_t>(i) % each;
    out.push_back(step_bytes_at(o, static_cast<double>(context)));
  }
  return out;
}

// What was measured at least as fast as its best sample is a ceiling. A probe that was disturbed
// more than what it bounds is none, and the record says so.
std::optional<Ceiling> ceiling_of(Record& record, double probed, double best, const Said& how) {
  if (best <= kBeyond * probed) return Ceiling{probed, how};
  const bool on_gpu = record.params.text("device") == "gpu";
  const Said note = said(on_gpu ? "infer.gpu_probe_slower" : "infer.probe_slower");
  if (std::ranges::find(record.notes, note) == record.notes.end()) record.notes.push_back(note);
  return std::nullopt;
}

double best_of(const std::vector<double>& seconds) {
  return *std::min_element(seconds.begin(), seconds.end());
}

// Figures of the whole replica, on the first of its ranks.
void add_replica_figures(Record& record, size_t self, const InferOptions& o, const Generated& m,
                         double best_product, const std::optional<Ceiling>& decode) {
  const auto sequences = static_cast<double>(o.generation.sequences);
  const auto prompt = static_cast<double>(o.generation.prompt);
  const double flops = prefill_flops(o.shape, o.generation.prompt) / o.layout.tensor;
  record.add("prefill_tokens_per_second", self,
             per_second(sequences * prompt, m.first_token_seconds),
             ceiling_of(record, prompt * best_product / flops,
                        sequences * prompt / best_of(m.first_token_seconds),
                        said("infer.prefill_ceiling")));
  record.add("time_to_first_token_seconds", self, list_of(m.first_token_seconds));
  record.add("time_per_output_token_seconds", self, list_of(m.token_seconds));
  record.add("decode_tokens_per_second", self, per_second(sequences, m.token_seconds), decode);
}

// Bytes of each decode step over its time, and over the rate of the probe. False if a step was
// faster: the probe bounds nothing.
bool add_rates(Record& record, size_t self, const std::vector<double>& bytes,
               const std::vector<double>& seconds, double read, const Said& how) {
  std::vector<double> rates, shares;
  for (size_t i = 0; i < bytes.size(); ++i) {
    rates.push_back(bytes[i] / seconds[i]);
    shares.push_back(rates.back() / read);
  }
  const double best = *std::max_element(rates.begin(), rates.end());
  const auto ceiling = ceiling_of(record, read, best, how);
  record.add("bytes_per_second", self, list_of(std::move(rates)), ceiling);
  if (!ceiling) return false;
  record.add("share_of_memory_bound", self, list_of(std::move(shares)));
  return true;
}

void add_infer_figures(InferRig& rig, Record& record, size_t self, const Generated& m,
                       const Generator<float>& generator, int64_t memory_bytes) {
  const InferOptions& o = rig.options;
  rig.context.watchdog.note("measuring the parts alone");
  const std::vector<double> bytes = bytes_of_steps(o, m.token_seconds.size());
  const double mean = mean_step_bytes(o);
  double reads = 0, best_product = 0;
  const bool probed = in_step(rig.context, o, [&] {
    reads = rig.read_rate(std::min(mean, kMostProbeBytes));
    best_product = best_product_rate(rig.backend, m.prompt_ledger);
  });
  if (!probed || reads == 0) return;  // a GPU was lost, which its own rank tells
  const bool bounded = add_rates(record, self, bytes, m.token_seconds, reads, rig.read_how);
  std::optional<Ceiling> decode;
  if (bounded)
    decode = Ceiling{static_cast<double>(o.generation.sequences) * reads / mean, rig.decode_how};
  if (rig.stage().at.tensor == 0) add_replica_figures(record, self, o, m, best_product, decode);
  record.add("kv_cache_bytes", self, {static_cast<double>(generator.cache_bytes())});
  record.add("bytes_per_token", self, {mean / static_cast<double>(o.generation.sequences)});
  // Within one launch nobody sees when an exchange ends.
  if (generator.recorded() && o.layout.tensor > 1)
    record.notes.push_back(said("infer.exchanges_recorded"));
  else if (o.layout.tensor > 1)
    record.add("exposed_communication_seconds", self, list_of(m.exchanged_seconds));
  record.add("memory_bytes", self, {static_cast<double>(memory_bytes)});
}

// Of the tokens of all replicas, in their order: the same for every division of the matrices.
void add_tokens_digest(InferRig& rig, Record& record, const std::vector<int32_t>& tokens) {
  const bool first = rig.stage().at.tensor == 0;
  std::string mine;
  if (first)
    mine.assign(reinterpret_cast<const char*>(tokens.data()), tokens.size() * sizeof(int32_t));
  std::string all;
  for (const std::string& blob : rig.context.comm.gather(mine)) all += blob;
  if (rig.context.comm.is_root()) record.facts["tokens_digest"] = sha256_hex(all);
}

// Collective. A device that was lost is thrown when all ranks have met.
bool all_passed(Context& context, const Record& record, const std::exception_ptr& lost) {
  const bool failed = std::ranges::any_of(record.checks, [](const Check& c) { return !c.passed; });
  const bool any = context.comm.any(failed || lost);
  if (lost) std::rethrow_exception(lost);
  return !any;
}

// Whether a device computes a step as one launch, and why not.
void add_graph_fact(InferRig& rig, Record& record, const Generator<float>& generator) {
  if (rig.backend.on_host() || !generator.tried_to_record()) return;
  record.facts["graph"] = generator.recorded()
                              ? said("infer.graph")
                              : said("infer.no_graph", generator.why_not_recorded());
}

void measure_generation(InferRig& rig, Record& record, size_t self) {
  const InferOptions& o = rig.options;
  const Stage stage = rig.stage();
  std::optional<Generator<float>> made;
  const bool ready = in_step(rig.context, o, [&] {
    made.emplace(rig.backend, rig.fabric, stage, rig.parameters, o.generation, rig.text,
                 stage.at.data * o.generation.sequences);
    rig.backend.finish();
  });
  if (!ready) return;
  Generator<float>& generator = *made;
  InferSession session(rig.context, o, rig.backend, rig.fabric, generator);
  const Generated measured = session.generate();
  const int64_t memory_bytes = rig.backend.held_bytes();
  add_graph_fact(rig, record, generator);
  session.add_checks(record, self, measured);
  if (!all_passed(rig.context, record, measured.lost)) return;  // wrong data yields no number
  add_tokens_digest(rig, record, generator.tokens());
  add_infer_figures(rig, record, self, measured, generator, memory_bytes);
}

void measure_load(InferRig& rig, double rate, Record& record, size_t self) {
  const InferOptions& o = rig.options;
  Context& context = rig.context;
  std::optional<LoadSession> made;
  const bool ready = in_step(rig.context, o, [&] {
    made.emplace(context, o, rig.backend, rig.fabric, rig.parameters, rig.text);
    rig.backend.finish();
  });
  if (!ready) return;
  LoadSession& session = *made;
  const Loaded measured = session.run(rate, o.requests);
  const int64_t memory_bytes = rig.backend.held_bytes();
  add_graph_fact(rig, record, session.largest());
  add_infer_checks(record, self, context.who(), o, measured.found);
  if (!all_passed(context, record, measured.lost) || !measured.good) return;
  record.add("memory_bytes", self, {static_cast<double>(memory_bytes)});
  add_load_figures(context.comm, record, self, o, rate, measured);
}

}  // namespace

std::vector<MetricDef> infer_metrics() {
  std::vector<MetricDef> out = {
      {"prefill_tokens_per_second", "count per second", Better::higher,
       "tokens of all prompts of a replica over the time to the first token"},
      {"time_to_first_token_seconds", "seconds", Better::lower,
       "from the prompts to the first new token of every sequence"},
      {"time_per_output_token_seconds", "seconds", Better::lower,
       "of a decode step: one further token of every sequence"},
      {"decode_tokens_per_second", "count per second", Better::higher,
       "sequences of a replica over the time of a decode step"},
      {"kv_cache_bytes", "bytes", Better::lower, "keys and values on this rank"},
      {"bytes_per_token", "bytes", Better::lower,
       "weights and cache that this rank reads for a new token"},
      {"bytes_per_second", "bytes_per_second", Better::higher,
       "bytes that a decode step reads at least, over its time"},
      {"share_of_memory_bound", "share", Better::higher,
       "the same over what this rank reads of an array of that size"},
      {"exposed_communication_seconds", "seconds", Better::lower,
       "of a decode step, in exchanges between ranks"},
      {"memory_bytes", "bytes", Better::lower, "allocated by a rank"}};
  std::ranges::move(load_metrics(), std::back_inserter(out));
  return out;
}

std::vector<std::string> infer_checks() { return {"cache", "finite", "repeat"}; }

FaultPlan infer_fault() {
  return {.planted = said("fault.cache"),
          .checks = {"cache", "repeat"},
          .brief = {{"new-tokens", {"4"}}, {"repetitions", {"1"}}},
          .point_seconds = 5};
}

std::vector<InferPoint> infer_points(const Params& params, const InferOptions& options) {
  std::vector<InferPoint> out;
  for (const int64_t batch : params.integers("batch")) {
    out.push_back({batch});
    for (const double rate : options.rates) out.push_back({batch, rate});
  }
  return out;
}

Params params_of(const InferPoint& point, const InferOptions& options, const Params& all) {
  Params out = all.with("batch", point.batch);
  out.erase("arrival-rate");
  out.erase("requests");
  if (!point.rate) return out;
  return out.with("arrival-rate", *point.rate).with("requests", options.requests);
}

std::string text_of(const InferPoint& point, const InferOptions& options) {
  const std::string out = fmt::format("{} batch {}", options.shape.name, point.batch);
  return point.rate ? out + fmt::format(", {} requests a second", *point.rate) : out;
}

InferOptions of_batch(InferOptions options, int64_t batch) {
  options.generation.sequences = batch;
  return options;
}

Text infer_text(const InferOptions& o) {
  return {{o.shape.vocabulary, std::min(kSymbols, o.shape.vocabulary), 0.15}, o.seed};
}

// Bytes of the arrays of the probes that come last, beside the weights and the cache: the product
// of the largest matrix, or what is read at once.
double probe_bytes(const InferOptions& o) {
  const Shape& s = o.shape;
  const auto widest = static_cast<double>(std::max(s.vocabulary, 2 * s.feed_forward));
  const auto rows = static_cast<double>(o.generation.sequences * o.generation.prompt);
  const double product = (static_cast<double>(s.hidden) * (widest / o.layout.tensor + rows) +
                          rows * 2 * static_cast<double>(s.feed_forward) / o.layout.tensor) *
                         kFp32;
  return std::max(product, std::min(mean_step_bytes(o), kMostProbeBytes));
}

double infer_memory(const InferOptions& o, const InferPoint& point) {
  int64_t sequences = o.generation.sequences;
  if (point.rate) {
    const std::vector<int64_t> sizes = generation_sizes(sequences);
    sequences = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  }
  // By how much the caches are smaller than in fp32.
  const double narrow = static_cast<double>(sequences * o.generation.computed()) *
                        kv_bytes_per_token(o.shape, kFp32 - o.element_bytes()) / o.layout.tensor;
  if (point.rate) return load_memory(o.shape, o.layout.tensor, o.generation, kFp32) - narrow;
  return inference_memory(o.shape, o.layout.tensor, o.generation, kFp32) + probe_bytes(o) - narrow;
}

void add_infer_facts(Record& record, const InferOptions& o, const InferPoint& point) {
  record.facts["model"] = Said(fmt::format(
      "{} L={} h={} heads={}/{} d={} f={} V={}", o.shape.name, o.shape.layers, o.shape.hidden,
      o.shape.heads, o.shape.kv_heads, o.shape.head_dim, o.shape.feed_forward, o.shape.vocabulary));
  record.facts["layout"] = Said(fmt::format("replicas={} tp={}", o.layout.data, o.layout.tensor));
  record.facts["arrivals"] = point.rate
                                 ? said("infer.poisson", Quantity{*point.rate, "count per second"},
                                        o.requests, point.batch)
                                 : said("infer.arrivals");
}

bool in_step(Context& context, const InferOptions& options, const std::function<void()>& work) {
  if (options.layout.tensor == 1) return meet_behind(context.comm, work);
  work();
  return true;
}

void measure_infer(InferRig& rig, const InferPoint& point, Record& record, size_t self) {
  if (point.rate)
    measure_load(rig, *point.rate, record, self);
  else
    measure_generation(rig, record, self);
}

}  // namespace cb::training
