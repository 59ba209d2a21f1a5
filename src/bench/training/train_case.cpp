// A training step of a decoder: forward, backward and AdamW with real gradients, on any number of
// ranks. Counted: tokens over the seconds of a whole step. docs/methods/training.md.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/cpu/peak.h"
#include "bench/cpu/rank_cores.h"
#include "bench/harness/shared_params.h"
#include "bench/training/host_backend.h"
#include "bench/training/library.h"
#include "bench/training/link_probe.h"
#include "bench/training/prediction.h"
#include "bench/training/scaling_run.h"
#include "bench/training/session.h"
#include "bench/training/train_record.h"
#include "core/param_builder.h"
#include "core/units.h"
#include "sys/cpu/affinity.h"
#include "sys/cpu/host_memory.h"

namespace cb {
namespace {

using namespace training;

constexpr int kBursts = 60;
constexpr double kSlowLink = 0.5;  // of the median host: an exchange takes at least twice as long

std::vector<MetricDef> host_metrics() {
  std::vector<MetricDef> out =
      training_metrics("MFU: the model's operations of this rank over the cores' theoretical peak");
  out.push_back({"link_send_bytes_per_second", "bytes_per_second", Better::higher,
                 "of a host to a neighbouring host, the faster of two"});
  out.push_back({"link_receive_bytes_per_second", "bytes_per_second", Better::higher,
                 "of a host from a neighbouring host, the faster of two"});
  return out;
}

std::vector<std::string> host_checks() {
  std::vector<std::string> out = training_checks();
  out.push_back("slow_link");
  std::ranges::sort(out);
  return out;
}

CaseInfo describe() {
  using namespace param;
  return {
      .name = "train",
      .device = "cpu",
      .summary = "training steps of a decoder with real gradients: tokens per second and MFU",
      .example = "clusterbench train --model tiny --steps 200 --json t.json",
      .domain = "compute",
      .params = joined({{device_param("cpu", "where to train")},
                        option_params(),
                        scaling_params(),
                        host_params()}),
      .metrics = host_metrics(),
      .checks = host_checks(),
      .fault = training_fault(),
      .label_params = {"model", "scaling", "level"},
  };
}

// Before anything is allocated: a rank that swaps measures nothing. Collective over the group.
void require_train_memory(const TrainingGroup& group) {
  Context& context = group.context;
  const Options& o = group.options;
  const int ranks = group.job.place.local_size;  // of all groups on this host
  const double needed = memory_of_rank(o.shape, o.layout, o.batch, 4, o.recompute).total();
  const auto available = available_memory_bytes(context.fs);
  const double allowed = 0.8 * static_cast<double>(available.value_or(0)) / ranks;
  const bool fits = !available || needed <= allowed;
  throw_where_failed(context.comm,
                     fits ? Said()
                          : said("train.memory_share", context.who(), format_value(needed, "bytes"),
                                 format_value(static_cast<double>(*available), "bytes"),
                                 format_value(allowed, "bytes"), ranks));
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
  record.add("share_of_gemm", self, share_of(best_product, o, m));
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
  add_shares_of_peak(record, self, per_cycle->value * cycles, o, m);
}

void add_facts(Record& record, const Options& o, const TrainLibrary& library, const Team& team,
               bool root) {
  add_training_facts(record, o);
  record.facts["attention"] = said("train.attention_blocks");
  record.facts["threads"] = std::to_string(team.size());
  record.facts["library"] = library.name;
  record.facts["instructions"] = row_kernels_of(float()).isa;
  if (root) record.facts["candidates"] = library.candidates;
}

// What a rank computes with, whoever it trains with.
struct HostMeans {
  HostMeans(Context& job, const Params& params)
      : cores(cores_of_rank(job.comm, job.place)),
        team(cpus_of_rank(job.comm, cores, params)),
        library(open_train_library(job, params.text("library"), team)),
        crowded(job.comm.any(cores.oversubscribed)) {}

  std::vector<int> started_on = allowed_cpus();  // the team binds this thread
  RankCores cores;
  Team team;
  TrainLibrary library;
  bool crowded;  // on any host
};

// On every rank alike.
void require_fault_is_looked_for(const Options& o, bool crowded) {
  if (o.fault.kind == Fault::Kind::slow && crowded)
    throw UsageError("clusterbench train", "--inject-fault", said("train.crowded_no_straggler"));
}

Record measure_training(const TrainingGroup& group, HostMeans& means) {
  Context& context = group.context;
  const Options& o = group.options;
  Record record{.case_name = "train", .params = group.params};
  require_train_memory(group);
  context.watchdog.note("allocating and making the weights");
  const auto backend = host_backend<float>(means.team, means.library.product);
  auto fabric = connect<float>(context.comm, o.layout);
  const Text text(o.text, o.recipe.seed);
  const Stage stage = o.stage(context.comm.rank());
  Fault mine = o.fault;
  if (mine.rank != context.comm.rank()) mine.kind = Fault::Kind::none;
  Trainer<float> trainer(context.comm, fabric, *backend, stage, text, o.recipe, mine);
  Session session(context, o, trainer, *backend);
  session.was_started_on(means.started_on);
  Trained measured = session.train();
  measured.crowded = means.crowded;

  const size_t self =
      record.entity({context.place.host, "rank", std::to_string(group.job.comm.rank())});
  const size_t whole = group.of ? record.entity(*group.of) : self;
  add_facts(record, o, means.library, means.team, group.job.comm.is_root());
  if (means.cores.oversubscribed) record.notes.push_back(said("gemm.crowded"));
  note_shared_over_hosts(record, context, o.layout);
  add_course(record, measured);
  session.add_checks(record, self, whole, measured);
  if (measured.stopped) return record;  // wrong data yields no number
  context.watchdog.note("measuring the parts alone");
  const Watchdog::Bounded probing(context.watchdog,
                                  probing_patience(context.comm.max(measured.longest_step())));
  const auto moved = [&] { context.watchdog.alive(); };
  const Prediction parts =
      predict(context.comm, *backend, fabric, stage, measured.ledger, trainer, moved);
  if (group.is_all()) add_links(context, record, probe_links(context.comm, context.place, moved));
  const double best = best_product_rate(*backend, measured.ledger, moved);
  const double predicted = context.comm.max(parts.step());
  add_rank_figures(record, self, o.layout, measured, parts);
  add_shares(context, record, self, o, measured, means.team, means.cores, best);
  if (context.comm.is_root()) add_job_figures(record, whole, o, measured, predicted);
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  const TellsWaits told(context.comm, context.watchdog);
  const Options options = options_of(params, context.comm.size());
  TrainingJob job{params, options, scaling_points(params, options, context.place)};
  HostMeans means(context, params);
  require_fault_is_looked_for(options, means.crowded);
  job.crowded = means.crowded;
  return train_groups(context, job,
                      [&](const TrainingGroup& group) { return measure_training(group, means); });
}

}  // namespace

Case train_cpu_case() { return {describe(), run, check_training}; }

}  // namespace cb
