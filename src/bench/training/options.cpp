#include "bench/training/options.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "core/units.h"

namespace cb::training {
namespace {

constexpr const char* kSubject = "clusterbench train";

// Parameters that replace a number of the model's shape.
struct Free {
  const char* name;
  const char* help;
  int64_t Shape::*member;
};
constexpr std::array kFree{
    Free{"layers", "layers, instead of the model's: a slice at true width", &Shape::layers},
    Free{"hidden", "width of the residual stream, instead of the model's", &Shape::hidden},
    Free{"heads", "heads of queries, instead of the model's", &Shape::heads},
    Free{"kv-heads", "heads of keys and values, instead of the model's", &Shape::kv_heads},
    Free{"head-dim", "elements of a head, instead of the model's", &Shape::head_dim},
    Free{"feed-forward", "inner width of the feed-forward, instead of the model's",
         &Shape::feed_forward},
    Free{"vocabulary", "tokens of the vocabulary, instead of the model's", &Shape::vocabulary},
};

std::vector<std::string> trainable_models() {
  std::vector<std::string> out;
  for (const Shape& s : known_shapes())
    if (s.dense() && s.gated) out.push_back(s.name);
  return out;
}

TextRule text_of(const Params& params, const Shape& shape) {
  return {shape.vocabulary, std::min(params.integer("symbols"), shape.vocabulary),
          params.number("noise")};
}

// A wide decoder takes smaller steps: 3e-4 at Llama's 4096 (arXiv 2407.21783, table 3), and by the
// root of the width's ratio.
double rate_of(const Params& params, const Shape& shape) {
  if (params.has("learning-rate")) return params.number("learning-rate");
  return 3e-4 * std::sqrt(4096 / static_cast<double>(shape.hidden));
}

std::optional<Fault::Kind> kind_of(std::string_view name) {
  if (name == "bitflip") return Fault::Kind::bitflip;
  if (name == "nan") return Fault::Kind::nan;
  if (name == "inf") return Fault::Kind::inf;
  if (name == "slow") return Fault::Kind::slow;
  if (name == "weight") return Fault::Kind::weight;
  return std::nullopt;
}

void require_division(int tensor, const char* what, int64_t count, Problems& problems) {
  if (count % tensor != 0)
    problems.add("--tp", fmt::format("{} does not divide {} {}", tensor, count, what));
}

// What the ranks share must be divisible by their number.
void check_division(const Options& o, Problems& problems) {
  check_shared(o.shape, o.layout.tensor, problems);
  require_division(o.layout.tensor, "tokens of a micro-batch", o.batch.micro_tokens(), problems);
  if (o.layout.pipeline > o.shape.layers)
    problems.add("--pp", fmt::format("{} stages for {} layers", o.layout.pipeline, o.shape.layers));
  if (o.fault.kind != Fault::Kind::none && o.fault.layer >= o.shape.layers)
    problems.add("--inject-fault", fmt::format("there is no layer {}", o.fault.layer));
}

// Tensor cores multiply eight bits in groups of 16, along each edge of a layer's products.
void check_eight_bits(const Options& o, Problems& problems) {
  const Stage stage = o.stage(0);
  const auto require = [&](const char* option, int64_t count, const char* what) {
    if (count % 16 != 0)
      problems.add(option,
                   fmt::format("fp8 needs multiples of 16, and {} {} are none", count, what));
  };
  require("--hidden", o.shape.hidden, "numbers of a token");
  require("--feed-forward", stage.feed_forward(), "columns of the feed-forward on a rank");
  require("--heads", stage.heads() * o.shape.head_dim, "numbers of the queries on a rank");
  require("--kv-heads", stage.attention().stride(),
          "numbers of queries, keys and values on a rank");
  require("--sequence", o.batch.micro_tokens(), "tokens of a micro-batch");
}

// A fault that is not planted, or that no check of this job looks for, would go through as a good
// measurement.
void check_fault(Options& o, Problems& problems) {
  using Kind = Fault::Kind;
  const auto refuse = [&](const std::string& why) { problems.add("--inject-fault", why); };
  const Kind kind = o.fault.kind;
  if (kind == Kind::bitflip || kind == Kind::nan || kind == Kind::inf) {
    const Stage stage = o.stage(o.fault.rank);
    const int64_t first = stage.first_layer(), last = first + stage.layers() - 1;
    if (o.fault.layer == Fault::kOwnFirst) o.fault.layer = first;
    if (o.fault.layer < first || o.fault.layer > last)
      refuse(fmt::format("rank {} computes layers {} to {}, not layer {}", o.fault.rank, first,
                         last, o.fault.layer));
  }
  if (kind == Kind::bitflip && o.twin_every == 0)
    refuse("only twin steps find a flipped bit, and --twin-every 0 makes none");
  if (kind == Kind::weight && (!has_witness(kind, o.layout) || o.hash_every == 0))
    refuse("a weight is compared between replicas: it takes two of them, and --hash-every above 0");
  if (kind == Kind::slow && !has_witness(kind, o.layout))
    refuse("a slow rank is compared with others of its stage: it takes two of them");
}

}  // namespace

bool has_witness(Fault::Kind kind, const Layout& layout) {
  if (kind == Fault::Kind::weight) return layout.data > 1;
  return kind != Fault::Kind::slow || layout.data * layout.tensor > 1;
}

Shape shape_of(const Params& params) {
  Shape out = *find_shape(params.text("model"));
  for (const Free& one : kFree)
    if (params.has(one.name)) out.*one.member = params.integer(one.name);
  return out;
}

void check_shape(const Shape& s, Problems& problems) {
  if (s.heads % s.kv_heads != 0)
    problems.add("--heads", fmt::format("{} is no multiple of {} --kv-heads", s.heads, s.kv_heads));
  if (s.head_dim % 2 != 0)
    problems.add("--head-dim", fmt::format("{} is odd: positions turn pairs", s.head_dim));
  if (s.vocabulary < 2) problems.add("--vocabulary", "1 token leaves nothing to learn");
}

void check_shared(const Shape& s, int tensor, Problems& problems) {
  require_division(tensor, "heads of queries", s.heads, problems);
  require_division(tensor, "heads of keys and values", s.kv_heads, problems);
  require_division(tensor, "columns of the feed-forward", s.feed_forward, problems);
  require_division(tensor, "tokens of the vocabulary", s.vocabulary, problems);
}

std::vector<ParamDef> shape_params() {
  using namespace param;
  std::vector<ParamDef> out{
      choice("model", trainable_models()).help("shape of the decoder").by_default("tiny")};
  for (const Free& one : kFree) out.push_back(integer(one.name).help(one.help).range(1, 1 << 24));
  return out;
}

std::vector<ParamDef> option_params(const std::vector<std::string>& dtypes) {
  using namespace param;
  std::vector<ParamDef> out = shape_params();
  const std::vector<ParamDef> rest{
      integer("sequence").help("tokens of a sequence").by_default("32").range(1, 1 << 20),
      integer("micro-batch").help("sequences of a micro-batch").by_default("2").range(1, 1 << 20),
      integer("micro-batches")
          .help("micro-batches of a replica's step")
          .by_default("1")
          .range(1, 1 << 20),
      choice("dtype", dtypes)
          .help(dtypes.size() == 1 ? "weights, gradients and products"
                                   : "operands of products; weights, gradients and sums are fp32")
          .by_default("fp32"),
      integer("tp").help("ranks that share each matrix").by_default("1").range(1, 4096),
      integer("pp").help("stages of the pipeline").by_default("1").range(1, 4096),
      choice("shard", {"none", "zero1"})
          .help("what replicas divide: nothing, or the optimizer's state")
          .by_default("none"),
      choice("recompute", {"none", "layer"})
          .help("what backward computes again instead of keeping it")
          .by_default("none"),
      integer("steps").help("training steps").by_default("20").range(1, 100000000),
      integer("warm-up-steps").help("of these, not timed").by_default("3").range(0, 1000000),
      integer("twin-every")
          .help("steps between twin steps; one comes first and one last; 0: none")
          .by_default("100")
          .at_least(0),
      integer("hash-every")
          .help("steps between comparisons of the replicas' weights and moments; 0: none")
          .by_default("10")
          .at_least(0),
      integer("symbols").help("tokens in use").by_default("256").range(2, 1 << 24),
      number("noise").help("share of tokens that do not follow").by_default("0.15").range(0, 1),
      number("learning-rate").help("of AdamW; by default by the width").range(0, 10),
      number("reach").help("nats above the floor that the last losses may be").range(0, 100),
      text("checkpoint-dir").help("existing directory, of this host or shared, for checkpoints"),
      integer("checkpoint-every").help("steps between checkpoints").by_default("100").at_least(1),
      flag("resume").help("goes on from the newest checkpoint that all ranks have whole"),
      seed_param("of weights and text"),
      text("inject-fault")
          .help("bitflip, nan, inf, slow or weight @RANK[:LAYER], to prove that it is found; "
                "RANK alone flips a bit"),
  };
  out.insert(out.end(), rest.begin(), rest.end());
  return out;
}

std::optional<Fault> parse_fault(std::string_view text) {
  Fault out{.kind = Fault::Kind::bitflip};
  if (const size_t at = text.find('@'); at != std::string_view::npos) {
    const auto kind = kind_of(text.substr(0, at));
    if (!kind) return std::nullopt;
    out.kind = *kind;
    text.remove_prefix(at + 1);
  }
  std::optional<int64_t> layer;
  if (const size_t colon = text.find(':'); colon != std::string_view::npos) {
    layer = parse_integer(text.substr(colon + 1));
    if (!layer || *layer < 0) return std::nullopt;
    text = text.substr(0, colon);
  }
  const auto rank = parse_integer(text);
  if (!rank || *rank < 0 || *rank > INT32_MAX) return std::nullopt;
  out.rank = static_cast<int>(*rank);
  out.layer = layer.value_or(Fault::kOwnFirst);
  return out;
}

void check_options(const Params& params, Problems& problems) {
  check_shape(shape_of(params), problems);
  if (params.integer("warm-up-steps") >= params.integer("steps"))
    problems.add("--warm-up-steps", "leaves no step of --steps that is timed");
  if (params.flag("resume") && !params.has("checkpoint-dir"))
    problems.add("--resume", "needs --checkpoint-dir, where the checkpoints are");
  if (params.has("inject-fault") && !parse_fault(params.text("inject-fault")))
    problems.add(
        "--inject-fault",
        fmt::format("{} is no fault: bitflip, nan, inf, slow or weight, then @RANK[:LAYER]",
                    params.text("inject-fault")));
}

std::string Options::identity() const {
  const Shape& s = shape;
  const std::string rounded = dtype == "fp32" ? "" : " dtype=" + dtype;
  return fmt::format(
             "L={} h={} heads={}/{} d={} f={} V={} dp={} tp={} pp={} zero1={} batch={}x{}x{} "
             "text={}/{}/{} seed={} rate={} warm={} decay={} clip={}",
             s.layers, s.hidden, s.heads, s.kv_heads, s.head_dim, s.feed_forward, s.vocabulary,
             layout.data, layout.tensor, layout.pipeline, layout.zero1, batch.sequence,
             batch.sequences, batch.micro_batches, text.vocabulary, text.symbols, text.noise,
             recipe.seed, recipe.rate, recipe.warm_steps, recipe.decay, recipe.clip) +
         rounded;
}

Options options_of(const Params& params, int ranks) {
  Options out;
  out.shape = shape_of(params);
  out.layout.tensor = static_cast<int>(params.integer("tp"));
  out.layout.pipeline = static_cast<int>(params.integer("pp"));
  out.layout.zero1 = params.text("shard") == "zero1";
  out.batch = {params.integer("sequence"), params.integer("micro-batch"),
               params.integer("micro-batches")};
  out.text = text_of(params, out.shape);
  out.recipe.seed = static_cast<uint64_t>(params.integer("seed"));
  out.recipe.rate = rate_of(params, out.shape);
  out.recompute = params.text("recompute") == "layer";
  out.dtype = params.text("dtype");
  out.steps = params.integer("steps");
  out.warm_up = params.integer("warm-up-steps");
  out.twin_every = params.integer("twin-every");
  out.hash_every = params.integer("hash-every");
  if (params.has("checkpoint-dir")) {
    out.checkpoint_dir = params.text("checkpoint-dir");
    out.checkpoint_every = params.integer("checkpoint-every");
  }
  out.resume = params.flag("resume");
  if (params.has("reach")) out.reach = params.number("reach");
  if (params.has("inject-fault")) out.fault = parse_fault(params.text("inject-fault")).value();

  Problems problems;
  const int shared = out.layout.tensor * out.layout.pipeline;
  if (ranks % shared != 0) {
    problems.add("--tp", fmt::format("{} ranks are no multiple of --tp {} × --pp {}", ranks,
                                     out.layout.tensor, out.layout.pipeline));
  } else {
    out.layout.data = ranks / shared;
  }
  check_division(out, problems);
  if (problems.empty() && out.dtype == "fp8") check_eight_bits(out, problems);
  if (out.fault.kind != Fault::Kind::none && out.fault.rank >= ranks)
    problems.add("--inject-fault", fmt::format("there is no rank {}", out.fault.rank));
  if (problems.empty()) check_fault(out, problems);
  if (!problems.empty()) throw UsageError(kSubject, problems);
  return out;
}

}  // namespace cb::training
