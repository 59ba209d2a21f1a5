// One record of a network case: the rounds of a schedule, gathered by pair.
#include "bench/network/measure.h"

#include <algorithm>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/stats.h"

namespace cb::net {
namespace {

constexpr const char* kAlone = "alone_bytes_per_second";

std::string end_name(const Context& context, const Nodes& nodes, const Measurement& m, int node,
                     int rail) {
  const int rank = nodes.rank_of(node, rail);
  const int host = context.place.host_of_rank[static_cast<size_t>(rank)];
  const auto& names = m.rail_names[static_cast<size_t>(node)];
  return context.place.hosts[static_cast<size_t>(host)] + ":" +
         names[static_cast<size_t>(rail) % names.size()];
}

struct LocalJob {
  PairJob job;
  RailPair pair;
};

// This rank's ends of a round.
std::vector<LocalJob> jobs_of(const Context& context, const Nodes& nodes, const Measurement& m,
                              const RailRound& round) {
  std::vector<LocalJob> out;
  const int self = context.comm.rank();
  for (const RailPair& p : round) {
    const int from = nodes.rank_of(p.from, p.from_rail), to = nodes.rank_of(p.to, p.to_rail);
    PairTask task = m.task;
    const std::string name = end_name(context, nodes, m, p.from, p.from_rail) + " → " +
                             end_name(context, nodes, m, p.to, p.to_rail);
    if (from == self) {
      task.peer = to;
      task.sends = true;
      task.rail = p.from_rail;
      out.push_back({{task, p.to_rail, name}, p});
    }
    if (to == self) {
      task.peer = from;
      task.sends = false;
      task.rail = p.to_rail;
      out.push_back({{task, p.from_rail, name}, p});
    }
  }
  return out;
}

size_t pair_entity(Record& record, const Context& context, const Nodes& nodes, const Measurement& m,
                   const RailPair& p) {
  const std::string from = end_name(context, nodes, m, p.from, p.from_rail);
  const size_t colon = from.find(':');
  return record.entity({from.substr(0, colon), "pair", from.substr(colon + 1),
                        end_name(context, nodes, m, p.to, p.to_rail)});
}

class Collector {
 public:
  Collector(Context& context, const Nodes& nodes, const Measurement& m, Record& record)
      : context_(context), nodes_(nodes), m_(m), record_(record) {}

  void begin_round(const RailRound& round) {
    alone_ = m_.victim && std::ranges::all_of(round, [&](const RailPair& p) {
               return HostPair{p.from, p.to} == *m_.victim;
             });
  }

  void add(const LocalJob& local, PairOutcome outcome) {
    const size_t entity = pair_entity(record_, context_, nodes_, m_, local.pair);
    ++pairs_;
    if (!outcome.failure.empty()) {
      ++failed_;
      first_failure_ = first_failure_.empty() ? outcome.failure : first_failure_;
      record_.checks.push_back({.name = "transfer",
                                .passed = false,
                                .entity = entity,
                                .detail = said("said.of", local.job.name, outcome.failure),
                                .finding = true});
      return;
    }
    for (const auto& [key, value] : outcome.facts) record_.facts[key] = value;
    if (outcome.wrong_data)
      record_.checks.push_back({.name = "data",
                                .passed = outcome.wrong_data->empty(),
                                .entity = entity,
                                .detail = *outcome.wrong_data});
    if (local.job.task.sends) add_figures(entity, local.pair, outcome);
    if (!alone_) add_extra(entity, outcome);
  }

  // After the last round.
  void add_victims() {
    std::vector<Metric> alone;
    std::ranges::copy_if(record_.metrics, std::back_inserter(alone),
                         [](const Metric& m) { return m.name == kAlone; });
    for (const Metric& before : alone) {
      const auto beside = std::ranges::find_if(record_.metrics, [&](const Metric& m) {
        return m.entity == before.entity && m.name == "bytes_per_second";
      });
      const double rate = before.samples.summary().median;
      if (beside != record_.metrics.end() && rate > 0)
        record_.add("victim_share", before.entity, {beside->samples.summary().median / rate});
    }
  }

  // Called at the end of a round. If several pairs share this node, adds what it sent or received
  // in all.
  void end_round(const std::vector<LocalJob>& jobs, const std::vector<PairOutcome>& outcomes) {
    std::map<bool, std::vector<double>> rates;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const PairFigure figure = outcomes[i].figure(PairMeasure::bandwidth);
      if (m_.task.measure == PairMeasure::bandwidth && figure.value)
        rates[jobs[i].job.task.sends].push_back(*figure.value);
    }
    for (const auto& [sends, values] : rates) {
      if (values.size() < 2 || pairs_of_round(jobs, sends) != values.size()) continue;
      add_sum(sends, values);
    }
  }

  size_t pairs() const { return pairs_; }
  size_t failed() const { return failed_; }
  const Said& first_failure() const { return first_failure_; }

 private:
  static size_t pairs_of_round(const std::vector<LocalJob>& jobs, bool sends) {
    return static_cast<size_t>(std::count_if(jobs.begin(), jobs.end(), [sends](const LocalJob& j) {
      return j.job.task.sends == sends;
    }));
  }

  void add_sum(bool sends, const std::vector<double>& values) {
    const size_t host = record_.entity({context_.place.host, "host", ""});
    double sum = 0;
    for (const double v : values) sum += v;
    record_.add(sends ? "sent_bytes_per_second" : "received_bytes_per_second", host, {sum});
    record_.add(sends ? "sent_fairness" : "received_fairness", host, {fairness_index(values)});
  }

  void add_figures(size_t entity, const RailPair& pair, const PairOutcome& outcome) {
    const auto series = [&](const char* name, const std::vector<double>& values) {
      if (values.empty()) return;
      Samples samples;
      for (const double v : values) samples.add(v);
      record_.add(name, entity, std::move(samples));
    };
    series(alone_ ? kAlone : "bytes_per_second", outcome.bytes_per_second);
    if (!outcome.bytes_per_second.empty() && m_.ceiling)
      record_.metrics.back().ceiling = m_.ceiling(pair);
    if (alone_) return;
    series("messages_per_second", outcome.messages_per_second);
    if (outcome.latency_seconds.count() == 0) return;
    record_.add(m_.latency_name, entity, Samples::from_histogram(outcome.latency_seconds));
    record_.add("latency_p999_seconds", entity, {outcome.latency_seconds.quantile(0.999)});
  }

  void add_extra(size_t entity, const PairOutcome& outcome) {
    for (const auto& [name, value] : outcome.extra) record_.add(name, entity, {value});
  }

  Context& context_;
  const Nodes& nodes_;
  const Measurement& m_;
  Record& record_;
  size_t pairs_ = 0, failed_ = 0;
  Said first_failure_;
  bool alone_ = false;  // the round is the victim's first
};

void run_round(Context& context, const Nodes& nodes, const Measurement& m, const RailRound& round,
               Collector& collector) {
  const std::vector<LocalJob> local = jobs_of(context, nodes, m, round);
  std::vector<PairJob> jobs;
  jobs.reserve(local.size());
  for (const LocalJob& l : local) jobs.push_back(l.job);
  RoundEnds ends;
  ends.connect(context.comm, jobs, m.make, m.deadline_seconds);
  const std::vector<PairOutcome> outcomes = ends.run(m.deadline_seconds);
  collector.begin_round(round);
  for (size_t i = 0; i < local.size(); ++i) collector.add(local[i], outcomes[i]);
  collector.end_round(local, outcomes);
  context.watchdog.progress();
}

}  // namespace

double fairness_index(const std::vector<double>& rates) {
  double sum = 0, squares = 0;
  for (const double r : rates) {
    sum += r;
    squares += r * r;
  }
  return squares > 0 ? sum * sum / (static_cast<double>(rates.size()) * squares) : 0;
}

Record measure_rounds(Context& context, const Nodes& nodes, const Measurement& m) {
  Record record{.case_name = m.case_name, .params = m.params};
  record.started = utc_now();
  for (const auto& [key, value] : m.facts) record.facts[key] = value;
  Collector collector(context, nodes, m, record);
  // Seconds that a rank may arrive later than the others: twice its round's deadline, and a margin.
  const double patience = 2 * m.deadline_seconds + 30;
  for (size_t r = 0; r < m.rounds.size(); ++r) {
    context.watchdog.note(fmt::format("round {} of {}", r + 1, m.rounds.size()));
    // Also bounds the ranks without a part in the round: they wait for the others.
    const Watchdog::Bounded round(context.watchdog, m.deadline_seconds);
    run_round(context, nodes, m, m.rounds[r], collector);
    if (context.comm.agree(context.cancel.cancelled() ? 1 : 0, patience) != 0) throw Interrupted();
  }
  collector.add_victims();
  record.ended = utc_now();
  const double pairs = context.comm.sum(static_cast<double>(collector.pairs()));
  const double failed = context.comm.sum(static_cast<double>(collector.failed()));
  if (failed > 0 && failed == pairs) {
    // Every rank reports the error: else the empty share of another rank would pass for a measured
    // record.
    record.outcome = Errored{
        context.who(), collector.failed() > 0 ? collector.first_failure() : said("net.all_failed")};
    record.checks.clear();
  } else if (failed > 0) {
    record.notes.push_back(
        said("net.partial", static_cast<int64_t>(failed), static_cast<int64_t>(pairs)));
  }
  return record;
}

}  // namespace cb::net
