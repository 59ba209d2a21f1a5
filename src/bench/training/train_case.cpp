// A training step of a decoder: forward, backward and AdamW with real gradients, on any number of
// ranks. Counted: tokens over the seconds of a whole step. docs/methods/training.md.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/cpu/memory.h"
#include "bench/cpu/peak.h"
#include "bench/cpu/rank_cores.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "bench/training/host_backend.h"
#include "bench/training/library.h"
#include "bench/training/link_probe.h"
#include "bench/training/prediction.h"
#include "bench/training/session.h"
#include "core/param_builder.h"
#include "core/units.h"
#include "sys/cpu/host_memory.h"

namespace cb {
namespace {

using namespace training;

constexpr int kBursts = 60;
constexpr double kSlowLink = 0.5;  // of the median host: an exchange takes at least twice as long

CaseInfo describe() {
  using namespace param;
  return {
      .name = "train",
      .device = "cpu",
      .summary = "training steps of a decoder with real gradients: tokens per second and MFU",
      .example = "clusterbench train --model tiny --steps 200 --json t.json",
      .domain = "compute",
      .params = joined({{device_param("cpu", "where to train")}, option_params(), host_params()}),
      .metrics = {{"tokens_per_second", "count per second", Better::higher,
                   "of all ranks together"},
                  {"model_flops_per_second", "flops_per_second", Better::higher,
                   "operations that the model needs, over time: all ranks together"},
                  {"share_of_peak", "share", Better::higher,
                   "MFU: the model's operations of this rank over the cores' theoretical peak"},
                  {"share_of_gemm", "share", Better::higher,
                   "the same over this rank's fastest product of the step's shapes"},
                  {"step_seconds", "seconds", Better::lower, "of a whole step"},
                  {"predicted_step_seconds", "seconds", Better::lower,
                   "by its parts, each measured alone"},
                  {"forward_seconds", "seconds", Better::lower, "of a step, without waiting"},
                  {"backward_seconds", "seconds", Better::lower, "of a step, without waiting"},
                  {"optimizer_seconds", "seconds", Better::lower, "of a step, without waiting"},
                  {"exposed_communication_seconds", "seconds", Better::lower,
                   "exchanges of a step that no computing hid"},
                  {"bubble_share", "share", Better::lower, "of a step, waiting for other stages"},
                  {"matmul_seconds", "seconds", Better::lower, "of a step, in products"},
                  {"predicted_matmul_seconds", "seconds", Better::lower, "each product alone"},
                  {"attention_seconds", "seconds", Better::lower, "of a step, in attention"},
                  {"predicted_attention_seconds", "seconds", Better::lower, "attention alone"},
                  {"elementwise_seconds", "seconds", Better::lower, "of a step, row by row"},
                  {"predicted_elementwise_seconds", "seconds", Better::lower, "each loop alone"},
                  {"predicted_optimizer_seconds", "seconds", Better::lower, "the optimizer alone"},
                  {"predicted_communication_seconds", "seconds", Better::lower,
                   "exchanges that computing does not hide, rehearsed"},
                  {"exchange_alone_seconds", "seconds", Better::lower,
                   "exchanges of a step's gradients with nothing beside them"},
                  {"link_send_bytes_per_second", "bytes_per_second", Better::higher,
                   "of a host to a neighbouring host, the faster of two"},
                  {"link_receive_bytes_per_second", "bytes_per_second", Better::higher,
                   "of a host from a neighbouring host, the faster of two"},
                  {"memory_bytes", "bytes", Better::lower, "allocated by a rank"},
                  {"checkpoint_seconds", "seconds", Better::lower,
                   "from the end of a step until all ranks' checkpoints are on their devices"},
                  {"checkpoint_bytes_per_second", "bytes_per_second", Better::higher,
                   "of this rank's checkpoint"},
                  {"first_loss_nats", "nats", Better::lower,
                   "mean over the tokens of the first step"},
                  {"loss_nats", "nats", Better::lower, "of each timed step"}},
      .checks = {"finite", "first_loss", "floor", "reach", "slow_link", "straggler", "twin",
                 "weights"},
      .fault = {.planted = said("fault.activation"),
                .checks = {"twin"},
                .brief = {},  // the first twin step finds it, before any step of training
                .point_seconds = 10,
                .blind = {{"twin-every", {"0"}, said("train.no_twin")}}},
      .label_params = {"model"},
  };
}

// Before anything is allocated: a rank that swaps measures nothing. Collective.
void require_train_memory(Context& context, const Options& o) {
  const double needed = memory_of_rank(o.shape, o.layout, o.batch, 4, o.recompute).total();
  const auto available = available_memory_bytes(context.fs);
  const double allowed =
      0.8 * static_cast<double>(available.value_or(0)) / context.place.local_size;
  const bool fits = !available || needed <= allowed;
  throw_where_failed(context.comm,
                     fits ? Said()
                          : said("train.memory_share", context.who(), format_value(needed, "bytes"),
                                 format_value(static_cast<double>(*available), "bytes"),
                                 format_value(allowed, "bytes"), context.place.local_size));
}

// Figures of the whole job, on rank 0.
void add_job_figures(Record& record, size_t whole, const Options& o, const Trained& m,
                     double predicted) {
  const double tokens = static_cast<double>(o.batch.tokens() * o.layout.data);
  const double flops = flops_per_token(o.shape, o.batch.sequence) * tokens;
  const auto rate = [&](double work) {
    return m.run.seconds.mapped([work](double seconds) { return work / seconds; });
  };
  record.add("tokens_per_second", whole, rate(tokens),
             Ceiling{tokens / predicted, said("train.predicted_by_parts")});
  record.add("model_flops_per_second", whole, rate(flops));
  record.add("step_seconds", whole, m.run.seconds);
  record.add("predicted_step_seconds", whole, {predicted});
  if (m.resumed_at == 0) record.add("first_loss_nats", whole, {m.losses.front()});
  Samples losses;
  for (size_t i = static_cast<size_t>(o.warm_up); i < m.losses.size(); ++i) losses.add(m.losses[i]);
  record.add("loss_nats", whole, losses);
}

Samples samples_of(const std::vector<double>& values) { return Samples::from_list(values); }

void add_rank_figures(Record& record, size_t self, const Trained& m, const Prediction& p) {
  const auto span = [&](const char* metric, const char* name) {
    record.add(metric, self, samples_of(m.run.spans.of(name)));
  };
  span("forward_seconds", "forward");
  span("backward_seconds", "backward");
  span("optimizer_seconds", "optimizer");
  span("exposed_communication_seconds", "exposed");
  span("bubble_share", "bubble");
  span("matmul_seconds", "matmul");
  span("attention_seconds", "attention");
  span("elementwise_seconds", "elementwise");
  record.add("predicted_matmul_seconds", self, {p.matmul});
  record.add("predicted_attention_seconds", self, {p.attention});
  record.add("predicted_elementwise_seconds", self, {p.elementwise});
  record.add("predicted_optimizer_seconds", self, {p.optimizer});
  record.add("predicted_communication_seconds", self, {p.exchange + p.gradients});
  if (p.gradients_alone > 0) record.add("exchange_alone_seconds", self, {p.gradients_alone});
  record.add("memory_bytes", self, {static_cast<double>(m.memory_bytes)});
  if (m.checkpoint_seconds.empty()) return;
  Samples stalls, rates;
  for (const double seconds : m.checkpoint_seconds) {
    stalls.add(seconds);
    rates.add(static_cast<double>(m.checkpoint_bytes) / seconds);
  }
  record.add("checkpoint_seconds", self, std::move(stalls));
  record.add("checkpoint_bytes_per_second", self, std::move(rates));
}

// A host that sends or receives slowly makes all ranks wait for equally long.
void add_links(Context& context, Record& record, const std::vector<HostLinks>& links) {
  if (links.empty() || !context.place.first_on_host()) return;
  const auto at =
      static_cast<size_t>(context.place.host_of_rank[static_cast<size_t>(context.comm.rank())]);
  const size_t host = record.entity({context.place.host, "host", ""});
  record.add("link_send_bytes_per_second", host, {links[at].send});
  record.add("link_receive_bytes_per_second", host, {links[at].receive});
  const LinkShare share = link_shares(links)[at];
  const bool sends = share.send <= share.receive;
  const double least = std::min(share.send, share.receive);
  Check check{.name = "slow_link",
              .passed = least >= kSlowLink,
              .value = least,
              .limit = kSlowLink,
              .entity = host,
              .finding = true};
  if (!check.passed)
    check.detail =
        said(sends ? "train.slow_send" : "train.slow_receive", context.place.host,
             format_value(sends ? links[at].send : links[at].receive, "bytes_per_second"),
             fmt::format("{:.2f}", least));
  record.checks.push_back(std::move(check));
}

int cores_of_team(const RankCores& mine, const Team& team) {
  return static_cast<int>(std::ranges::count_if(mine.cores, [&](const Core& core) {
    return std::ranges::any_of(core.cpus, [&](int cpu) {
      return std::ranges::find(team.cpus(), cpu) != team.cpus().end();
    });
  }));
}

// The peak is that of fp32 with the clock measured right after the steps.
void add_shares(Context& context, Record& record, size_t self, const Options& o, const Trained& m,
                Team& team, const RankCores& cores, double best_product) {
  const double flops = flops_per_token(o.shape, o.batch.sequence) *
                       static_cast<double>(o.batch.tokens()) /
                       (o.layout.tensor * o.layout.pipeline);
  const auto over = [&](double rate) {
    return m.run.seconds.mapped([&](double seconds) { return flops / seconds / rate; });
  };
  record.add("share_of_gemm", self, over(best_product));
  const auto peak = measure_peak(GemmType::fp32, team, kBursts);
  const double cycles = measure_clock_hertz(team) * cores_of_team(cores, team);
  const auto cpu = read_cpu_id(context.fs);
  const auto per_cycle =
      cpu ? flops_per_cycle(*cpu, GemmType::fp32, peak ? peak->operations_per_second / cycles : 0)
          : std::nullopt;
  if (!per_cycle) {
    record.notes.push_back(said("gemm.peak_unknown"));
    return;
  }
  record.facts["theoretical_peak"] = per_cycle->how;
  record.add("share_of_peak", self, over(per_cycle->value * cycles));
}

void add_facts(Record& record, const Options& o, const TrainLibrary& library, const Team& team,
               bool root) {
  record.facts["model"] = Said(fmt::format(
      "{} L={} h={} heads={}/{} d={} f={} V={}", o.shape.name, o.shape.layers, o.shape.hidden,
      o.shape.heads, o.shape.kv_heads, o.shape.head_dim, o.shape.feed_forward, o.shape.vocabulary));
  record.facts["layout"] = Said(fmt::format("dp={} tp={} pp={} {}", o.layout.data, o.layout.tensor,
                                            o.layout.pipeline, o.layout.zero1 ? "zero1" : "zero0"));
  record.facts["attention"] = said("train.attention_blocks");
  record.facts["flops_per_token"] =
      said("train.flops_convention", flops_per_token(o.shape, o.batch.sequence));
  record.facts["threads"] = std::to_string(team.size());
  record.facts["library"] = library.name;
  record.facts["loss_floor"] = Said(fmt::format("{:.4f}", loss_floor(o.text)));
  record.facts["instructions"] = row_kernels_of(float()).isa;
  if (root) record.facts["candidates"] = library.candidates;
}

// Matrices are shared by ranks that exchange at every layer: over a network this is another
// measurement.
bool tensor_groups_cross_hosts(const Context& context, const Layout& l) {
  const auto& host_of = context.place.host_of_rank;
  for (size_t rank = 0; rank < host_of.size(); ++rank)
    if (host_of[rank] !=
        host_of[rank / static_cast<size_t>(l.tensor) * static_cast<size_t>(l.tensor)])
      return true;
  return false;
}

Record measure_training(Context& context, const Params& params, const Options& o) {
  Record record{.case_name = "train", .params = params};
  const RankCores cores = cores_of_rank(context.comm, context.place);
  Team team(cpus_of_rank(context.comm, cores, params));
  require_train_memory(context, o);
  const TrainLibrary library = open_train_library(context, params.text("library"), team);
  context.watchdog.note("allocating and making the weights");
  const auto backend = host_backend<float>(team, library.product);
  auto fabric = connect<float>(context.comm, o.layout, [&] { context.watchdog.progress(); });
  const Text text(o.text, o.recipe.seed);
  const Stage stage = o.stage(context.comm.rank());
  Fault mine = o.fault;
  if (mine.rank != context.comm.rank()) mine.kind = Fault::Kind::none;
  Trainer<float> trainer(context.comm, fabric, *backend, stage, text, o.recipe, mine);
  Session session(context, o, trainer, *backend);
  Trained measured = session.train();
  measured.crowded = context.comm.any(cores.oversubscribed);

  const size_t self =
      record.entity({context.place.host, "rank", std::to_string(context.comm.rank())});
  const size_t whole = record.entity({"", "cluster", ""});
  add_facts(record, o, library, team, context.comm.is_root());
  if (cores.oversubscribed) record.notes.push_back(said("gemm.crowded"));
  if (tensor_groups_cross_hosts(context, o.layout))
    record.notes.push_back(said("train.across_hosts"));
  if (!measured.weights_digest.empty()) record.facts["weights_digest"] = measured.weights_digest;
  if (measured.resumed_at > 0) record.facts["resumed_at"] = std::to_string(measured.resumed_at);
  session.add_checks(record, self, whole, measured);
  if (measured.stopped) return record;  // wrong data yields no number
  context.watchdog.note("measuring the parts alone");
  const Prediction parts = predict(context.comm, *backend, fabric, stage, measured.ledger, trainer);
  add_links(context, record,
            probe_links(context.comm, context.place, [&] { context.watchdog.progress(); }));
  const double best = best_product_rate(*backend, measured.ledger);
  const double predicted = context.comm.max(parts.step());
  add_rank_figures(record, self, measured, parts);
  add_shares(context, record, self, o, measured, team, cores, best);
  if (context.comm.is_root()) add_job_figures(record, whole, o, measured, predicted);
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  const Options options = options_of(params, context.comm.size());
  return run_points(
      context, "train", std::vector<Params>{params},
      [&](const Params& p) {
        return PointName{p, fmt::format("{} {} steps", options.shape.name, options.steps)};
      },
      [&](const Params& p) { return measure_training(context, p, options); });
}

}  // namespace

Case train_cpu_case() { return {describe(), run, check_options}; }

}  // namespace cb
