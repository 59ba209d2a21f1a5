#include "bench/training/infer_options.h"

#include <fmt/format.h>

#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "core/units.h"

namespace cb::training {
namespace {

// The logits of fewer tokens are all near zero now and then, and any rounding is large beside them:
// with four, two of six generations of 3,000 tokens were called wrong, and with eight none of six.
constexpr int64_t kLeastVocabulary = 16;

constexpr int64_t kRequests = 200;
constexpr const char* kInferSubject = "clusterbench infer";

// Whole numbers of a list may be held as integers.
std::vector<double> rates_of(const Params& params) {
  std::vector<double> out;
  for (const ParamValue& value : params.all().at("arrival-rate")) {
    Params one;
    one.set("rate", value);
    out.push_back(one.number("rate"));
  }
  return out;
}

bool acts_on_a_cache(const Fault& fault) {
  return fault.kind == Fault::Kind::bitflip || fault.kind == Fault::Kind::nan;
}

// A fault that is not planted would go through as a good measurement.
void check_cache_fault(InferOptions& o, int ranks, Problems& problems) {
  if (o.fault.kind == Fault::Kind::none) return;
  if (o.fault.rank >= ranks)
    problems.add("--inject-fault", fmt::format("there is no rank {}", o.fault.rank));
  if (o.fault.layer >= o.shape.layers)
    problems.add("--inject-fault", fmt::format("there is no layer {}", o.fault.layer));
  if (o.fault.layer == Fault::kOwnFirst) o.fault.layer = 0;
}

}  // namespace

std::vector<ParamDef> infer_params(const std::vector<std::string>& dtypes) {
  using namespace param;
  return joined(
      {shape_params(),
       {integer("batch")
            .help("sequences of a replica, generated together")
            .by_default("1")
            .range(1, 1 << 16)
            .list(),
        integer("prompt").help("tokens of a sequence's prompt").by_default("128").range(1, 1 << 20),
        integer("new-tokens")
            .help("tokens that follow; the first is the prompt's")
            .by_default("32")
            .range(2, 1 << 20),
        integer("repetitions").help("timed generations").by_default("3").range(1, 1000000),
        choice("dtype", dtypes).help("weights, cache and products").by_default("fp32"),
        integer("tp").help("ranks that share each matrix").by_default("1").range(1, 4096),
        number("arrival-rate")
            .help("requests a second that arrive by chance at each replica: a further record for "
                  "each rate")
            .range(1e-6, 1e9)
            .list(),
        integer("requests")
            .help("of each --arrival-rate and replica; 200 unless given")
            .range(2, 1000000),
        seed_param("of weights, prompts and arrivals"),
        text("inject-fault")
            .help("bitflip or nan @RANK[:LAYER] in the cache, to prove that it is found; RANK "
                  "alone flips a bit")}});
}

void check_infer(const Params& params, Problems& problems) {
  const Shape shape = shape_of(params);
  check_shape(shape, problems);
  if (shape.vocabulary < kLeastVocabulary)
    problems.add("--vocabulary", said("infer.small_vocabulary", kLeastVocabulary));
  if (params.has("requests") && !params.has("arrival-rate"))
    problems.add("--requests", "needs --arrival-rate, by which they arrive");
  if (!params.has("inject-fault")) return;
  const auto fault = parse_fault(params.text("inject-fault"));
  if (!fault || !acts_on_a_cache(*fault))
    problems.add("--inject-fault",
                 fmt::format("{} is no fault of a cache: bitflip or nan, then @RANK[:LAYER]",
                             params.text("inject-fault")));
}

InferOptions infer_options(const Params& params, int ranks) {
  InferOptions out;
  out.shape = shape_of(params);
  out.layout.tensor = static_cast<int>(params.integer("tp"));
  out.generation = {1, params.integer("prompt"), params.integer("new-tokens")};
  out.seed = static_cast<uint64_t>(params.integer("seed"));
  out.repetitions = params.integer("repetitions");
  out.bf16 = params.text("dtype") == "bf16";
  if (params.has("arrival-rate")) out.rates = rates_of(params);
  out.requests = params.has("requests") ? params.integer("requests") : kRequests;
  if (params.has("inject-fault")) out.fault = parse_fault(params.text("inject-fault")).value();

  Problems problems;
  if (ranks % out.layout.tensor != 0) {
    problems.add("--tp",
                 fmt::format("{} ranks are no multiple of --tp {}", ranks, out.layout.tensor));
  } else {
    out.layout.data = ranks / out.layout.tensor;
  }
  check_shared(out.shape, out.layout.tensor, problems);
  check_cache_fault(out, ranks, problems);
  if (!problems.empty()) throw UsageError(kInferSubject, problems);
  return out;
}

void require_time_for_loads(const InferOptions& options, size_t batches, double deadline_seconds) {
  double seconds = 0;
  for (const double rate : options.rates)
    seconds += static_cast<double>(batches) * static_cast<double>(options.requests) / rate;
  if (seconds <= deadline_seconds) return;
  Problems problems;
  problems.add(
      "--deadline",
      fmt::format("{} requests of each --arrival-rate take {} or longer to come, and the "
                  "deadline is {}; next: fewer --requests, or a longer --deadline",
                  options.requests, format_seconds(seconds), format_seconds(deadline_seconds)));
  throw UsageError(kInferSubject, problems);
}

}  // namespace cb::training
