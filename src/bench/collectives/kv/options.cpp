#include "bench/collectives/kv/options.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "bench/collectives/kv/page_data.h"
#include "bench/collectives/plan.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "core/units.h"
#include "model/training/shape.h"

namespace cb::kv {
namespace {

constexpr const char* kTogether = "together";
constexpr const char* kAlone = "one-at-a-time";
constexpr int kMostLayers = 1024;

std::vector<std::string> models() {
  std::vector<std::string> out;
  for (const training::Shape& shape : training::known_shapes()) out.push_back(shape.name);
  return out;
}

int bytes_of_type(const std::string& dtype) {
  if (dtype == "fp8") return 1;
  return dtype == "fp32" ? 4 : 2;
}

std::optional<PageFaultKind> kind_of_page_fault(std::string_view name) {
  if (name == "bitflip") return PageFaultKind::bitflip;
  if (name == "swap") return PageFaultKind::swap;
  if (name == "drop") return PageFaultKind::drop;
  if (name == "twice") return PageFaultKind::twice;
  return std::nullopt;
}

std::optional<int64_t> whole_number(std::string_view text) {
  const auto value = parse_integer(text);
  return value && *value >= 0 && *value <= INT32_MAX ? value : std::nullopt;
}

// Without the prompt, and with all heads.
CacheShape shape_of_model(const Params& params) {
  const training::Shape& known = *training::find_shape(params.text("model"));
  const auto given = [&](const char* name, int64_t otherwise) {
    return params.has(name) ? params.integer(name) : otherwise;
  };
  return {.layers = given("layers", known.layers),
          .kv_heads = given("kv-heads", known.kv_heads),
          .head_dim = given("head-dim", known.head_dim),
          .element_bytes = bytes_of_type(params.text("dtype")),
          .page_tokens = params.integer("page-tokens")};
}

KvPoint common_kv_point(const Params& params) {
  KvPoint out{.shape = shape_of_model(params),
              .model = params.text("model"),
              .plan = plan_of_long_samples(params, 2)};
  out.shape.kv_heads /= params.integer("tp");
  out.scatter = params.text("scatter") == "pages";
  out.join = params.flag("join");
  out.pack = params.flag("pack");
  out.window = static_cast<int>(params.integer("window"));
  out.seed = static_cast<uint64_t>(params.integer("seed"));
  if (params.has("inject-fault")) out.fault = parse_page_fault(params.text("inject-fault"));
  return out;
}

bool has_partner(const std::vector<int>& host_of_rank, int rank) {
  return std::ranges::any_of(half_to_half(host_of_rank), [rank](const HostPair& pair) {
    return pair.from == rank || pair.to == rank;
  });
}

// A fault where nothing is transferred would prove nothing.
void check_page_fault(const PageFault& fault, const KvPoint& point,
                      const std::vector<int>& host_of_rank, Problems& problems) {
  if (fault.rank >= static_cast<int>(host_of_rank.size()))
    problems.add("--inject-fault", fmt::format("there is no rank {}", fault.rank));
  else if (!has_partner(host_of_rank, fault.rank))
    problems.add("--inject-fault", fmt::format("rank {} has no partner: it transfers nothing that "
                                               "could be spoilt",
                                               fault.rank));
  if (fault.layer >= point.shape.layers)
    problems.add("--inject-fault", fmt::format("there is no layer {}", fault.layer));
  const bool of_two = fault.kind == PageFaultKind::swap || fault.kind == PageFaultKind::twice;
  if (of_two && point.shape.layers == 1 && point.shape.pages() < 2)
    problems.add("--inject-fault", "one page alone can neither be swapped nor come twice");
}

}  // namespace

std::optional<PageFault> parse_page_fault(std::string_view text) {
  PageFault out;
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    const auto kind = kind_of_page_fault(text.substr(0, at));
    if (!kind) return std::nullopt;
    out.kind = *kind;
    text.remove_prefix(at + 1);
  }
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    const auto layer = whole_number(text.substr(colon + 1));
    if (!layer) return std::nullopt;
    out.layer = *layer;
    text = text.substr(0, colon);
  }
  const auto rank = whole_number(text);
  if (!rank) return std::nullopt;
  out.rank = static_cast<int>(*rank);
  return out;
}

std::vector<ParamDef> kv_params() {
  using namespace param;
  return {
      choice("backend", {"mpi", "verbs", "nccl"})
          .help("messages of MPI, an RDMA write for each page, or NCCL between GPUs, one a rank")
          .by_default("mpi"),
      size("prompt").help("tokens of the prompt").by_default("1K").range(1, 1 << 24).list(),
      choice("model", models()).help("decoder whose cache it is").by_default("llama-8b"),
      integer("layers").help("in place of the model's").range(1, kMostLayers),
      integer("kv-heads").help("in place of the model's").range(1, 65536),
      integer("head-dim").help("in place of the model's").range(1, 65536),
      choice("dtype", {"bf16", "fp8", "fp32"}).help("of keys and values").by_default("bf16"),
      integer("tp")
          .help("ranks that share a cache: each pair carries its part of the heads")
          .by_default("1")
          .range(1, 4096),
      integer("page-tokens").help("tokens of a page").by_default("16").range(1, 65536),
      choice("scatter", {"pages", "none"})
          .help("blocks of the pages at both ends: scattered, or in order")
          .by_default("pages"),
      flag("join").help("sends pages that are neighbours at both ends as one message"),
      flag("pack").help("copies a layer's pages together, sends them as one, copies them apart"),
      choice("schedule", {kTogether, kAlone})
          .help("all pairs at once, or one pair after the other; each a record of its own")
          .by_default(kTogether)
          .list(),
      integer("window")
          .help("messages in flight of a pair, or in a group of NCCL")
          .by_default("32")
          .range(1, 8192),
      text("rails")
          .help("NICs of verbs; rank i of a host takes the i-th: auto, or names: mlx5_0,mlx5_1")
          .by_default("auto")
          .list(),
      integer("gid-index").help("GID of verbs, if not the first RoCE v2 with IPv4").range(0, 255),
      integer("sl").help("service level of verbs").by_default("0").range(0, 15),
      integer("tc").help("traffic class of verbs").by_default("0").range(0, 255),
      duration("hang-after")
          .help("a transfer over NCCL hangs after this, and a second more for each 20 MB")
          .by_default("20s")
          .range(1, 3600),
      seed_param("of pages and blocks"),
      iterations_param(),
      sampling_param("2s"),
      text("inject-fault")
          .help("bitflip, swap, drop or twice @RANK[:LAYER]: the receiving end of that rank's pair "
                "spoils a page, to prove that it is seen; RANK alone: bitflip")};
}

// NCCL refuses a group of more operations.
constexpr int64_t kMostOfNcclGroup = 2048;

void check_kv(const Params& params, Problems& problems) {
  if (params.text("backend") == "nccl" && params.integer("window") > kMostOfNcclGroup)
    problems.add("--window",
                 fmt::format("a group of NCCL takes at most {} operations", kMostOfNcclGroup));
  const CacheShape shape = shape_of_model(params);
  const int64_t tp = params.integer("tp");
  if (shape.kv_heads % tp != 0)
    problems.add("--tp", fmt::format("{} heads of keys and values cannot be divided among {} ranks",
                                     shape.kv_heads, tp));
  else if (const int64_t bytes = shape.page_bytes() / tp; !PageData::takes(bytes))
    problems.add("--page-tokens",
                 fmt::format("a page has {} bytes; it needs a multiple of 8, at least {} and at "
                             "most 1 GiB",
                             bytes, PageData::kLeastBytes));
  if (params.flag("pack") && params.flag("join"))
    problems.add("--join", "--pack has no pages to join: it sends each layer as one");
  if (params.has("inject-fault") && !parse_page_fault(params.text("inject-fault")))
    problems.add("--inject-fault",
                 params.text("inject-fault") +
                     " is no fault: bitflip, swap, drop or twice, then @RANK[:LAYER]");
}

std::vector<KvPoint> kv_points(const Params& params, const std::vector<int>& host_of_rank) {
  KvPoint common = common_kv_point(params);
  Problems problems;
  for (const int64_t tokens : params.integers("prompt")) {
    common.shape.tokens = tokens;
    if (common.fault && problems.empty())
      check_page_fault(*common.fault, common, host_of_rank, problems);
  }
  if (!problems.empty()) throw UsageError("clusterbench kv-transfer", problems);
  std::vector<KvPoint> out;
  for (const int64_t tokens : params.integers("prompt")) {
    for (const std::string& schedule : params.texts("schedule")) {
      KvPoint point = common;
      point.shape.tokens = tokens;
      point.one_at_a_time = schedule == kAlone;
      point.plan.what = fmt::format("{} tokens, {}", tokens, schedule);
      out.push_back(std::move(point));
    }
  }
  return out;
}

Params params_of_point(const Params& params, const KvPoint& point) {
  return params.with("prompt", point.shape.tokens)
      .with("schedule", point.one_at_a_time ? kAlone : kTogether);
}

}  // namespace cb::kv
