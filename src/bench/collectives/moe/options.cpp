#include "bench/collectives/moe/options.h"

#include <fmt/format.h>

#include "bench/collectives/plan.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "core/units.h"

namespace cb::moe {
namespace {

constexpr const char* kMoeSubject = "clusterbench moe";
constexpr int kMostChosen = 16;  // beyond, a sum would not be exact in bf16

std::optional<FaultKind> kind_of_fault(std::string_view name) {
  if (name == "element") return FaultKind::element;
  if (name == "token") return FaultKind::token;
  if (name == "expert") return FaultKind::expert;
  if (name == "sum") return FaultKind::sum;
  return std::nullopt;
}

MoePoint common_point(const Params& params, int ranks) {
  MoePoint out{.plan = plan_of_long_samples(params, 10)};
  out.router = {.experts = static_cast<int>(params.integer("experts")),
                .top_k = static_cast<int>(params.integer("top-k")),
                .ranks = ranks};
  out.format = {.hidden = params.integer("hidden"),
                .dispatch_bytes = params.text("dtype") == "fp8" ? 1 : 2,
                .combine_bytes = params.text("combine-dtype") == "bf16" ? 2 : 4};
  out.checks = static_cast<int>(params.integer("checks"));
  out.idle_seconds = params.number("idle");
  if (params.has("inject-fault")) out.fault = parse_moe_fault(params.text("inject-fault"));
  return out;
}

}  // namespace

std::optional<MoeFault> parse_moe_fault(std::string_view text) {
  MoeFault out;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    const auto kind = kind_of_fault(text.substr(0, at));
    if (!kind) return std::nullopt;
    out.kind = *kind;
    text.remove_prefix(at + 1);
  }
  const auto rank = parse_integer(text);
  if (!rank || *rank < 0 || *rank > INT32_MAX) return std::nullopt;
  out.rank = static_cast<int>(*rank);
  return out;
}

std::vector<ParamDef> moe_params() {
  using namespace param;
  return {
      integer("batch")
          .help("tokens of each rank: 128 as in decoding, 4096 as in reading prompts")
          .by_default("128")
          .range(1, 1 << 20)
          .list(),
      integer("hidden")
          .help("elements of a token, a multiple of 128")
          .by_default("7168")
          .range(128, 1 << 20),
      integer("experts")
          .help("of the layer, divided among the ranks")
          .by_default("256")
          .range(1, 65536),
      integer("top-k").help("experts of a token").by_default("8").range(1, kMostChosen),
      text("routing")
          .help("balanced, random, skewed or skewed:SHARE, the share of the tokens that choose "
                "the first experts")
          .by_default("random")
          .list(),
      choice("dtype", {"fp8", "bf16"})
          .help("elements on dispatch; fp8 brings a scale for each 128")
          .by_default("fp8"),
      choice("combine-dtype", {"bf16", "fp32"}).help("elements on the way back").by_default("bf16"),
      seed_param("of routing and data"),
      duration("idle")
          .help("pause before each timed call, without traffic")
          .by_default("0s")
          .range(0, 60),
      iterations_param(),
      sampling_param("1s"),
      integer("checks")
          .help("calls before and as many after the timing of which all is verified")
          .by_default("2")
          .range(1, 1000),
      text("inject-fault")
          .help("element, token, expert or sum @RANK: that rank spoils what it received, to "
                "prove that it is seen; RANK alone: element")};
}

void check_moe(const Params& params, Problems& problems) {
  const int64_t experts = params.integer("experts"), k = params.integer("top-k");
  if (params.integer("hidden") % TokenFormat::kScaled != 0)
    problems.add("--hidden", fmt::format("{} is no multiple of {}", params.integer("hidden"),
                                         TokenFormat::kScaled));
  if (k > experts)
    problems.add("--top-k", fmt::format("a token cannot choose {} of {} experts", k, experts));
  for (const std::string& text : params.texts("routing")) {
    if (!parse_routing(text))
      problems.add("--routing", text +
                                    " is not known: balanced, random, skewed or skewed:SHARE "
                                    "with a share from 0 to 1");
  }
  if (params.has("inject-fault") && !parse_moe_fault(params.text("inject-fault")))
    problems.add("--inject-fault", params.text("inject-fault") +
                                       " is no fault: element, token, expert or sum, then @RANK");
}

std::vector<MoePoint> moe_points(const Params& params, int ranks) {
  const MoePoint common = common_point(params, ranks);
  Problems problems;
  if (common.router.experts % ranks != 0)
    problems.add("--experts", fmt::format("{} experts cannot be divided among {} ranks",
                                          common.router.experts, ranks));
  if (common.fault && common.fault->rank >= ranks)
    problems.add("--inject-fault", fmt::format("there is no rank {}", common.fault->rank));
  if (!problems.empty()) throw UsageError(kMoeSubject, problems);
  std::vector<MoePoint> out;
  for (const int64_t tokens : params.integers("batch")) {
    for (const std::string& routing : params.texts("routing")) {
      MoePoint point = common;
      point.router.tokens = tokens;
      point.router.routing = parse_routing(routing).value();
      point.router.routing.seed = static_cast<uint64_t>(params.integer("seed"));
      point.routing = routing;
      point.plan.what = fmt::format("{} tokens, {}", tokens, routing);
      out.push_back(std::move(point));
    }
  }
  return out;
}

}  // namespace cb::moe
