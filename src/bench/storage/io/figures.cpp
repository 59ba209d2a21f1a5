#include "bench/storage/io/figures.h"

#include <algorithm>
#include <limits>
#include <sstream>

#include <fmt/format.h>

#include "core/stats.h"

namespace cb::io {
namespace {

const Entity kAll{"", "cluster", "cluster"};

// One rank's share of a direction: its bytes and the seconds they took, including fsync and close
// where the rank made them durable.
struct Share {
  std::string host;
  double bytes = 0;
  double seconds = 0;
  double rate() const { return seconds > 0 ? bytes / seconds : 0; }
};

std::vector<Share> gather_shares(Comm& comm, const Share& mine) {
  std::vector<Share> out;
  for (const std::string& blob :
       comm.gather(fmt::format("{} {:.17g} {:.17g}", mine.host, mine.bytes, mine.seconds))) {
    std::istringstream in(blob);
    Share share;
    if (!(in >> share.host >> share.bytes >> share.seconds)) throw Error(said("io.share_missing"));
    out.push_back(std::move(share));
  }
  return out;
}

void add_shares(Record& record, const std::vector<Share>& shares, const char* name) {
  double bytes = 0, seconds = 0;
  std::vector<double> rates;
  size_t slowest = 0;
  for (size_t r = 0; r < shares.size(); ++r) {
    bytes += shares[r].bytes;
    seconds = std::max(seconds, shares[r].seconds);
    rates.push_back(shares[r].rate());
    if (shares[r].rate() < shares[slowest].rate()) slowest = r;
  }
  if (!(seconds > 0) || !(bytes > 0)) return;
  record.add(name, record.entity(kAll), {bytes / seconds});
  const Share& s = shares[slowest];
  record.add("slowest_rank_bytes_per_second",
             record.entity({s.host, "rank", std::to_string(slowest)}), {s.rate()});
  std::sort(rates.begin(), rates.end());
  record.facts["slowest_rank"] =
      said("io.slowest", s.host, slowest, fmt::format("{:.3f}", s.seconds),
           fmt::format("{:.3g}", s.rate() / quantile_of_sorted(rates, 0.5)));
}

void add_done(Record& record, size_t entity, double first, double last) {
  record.add("first_done_seconds", entity, {first});
  record.add("last_done_seconds", entity, {last});
}

// Adds the figures to this rank's record if `show` (all ranks' figures are good). Collective.
void add_stonewall(Record& record, Comm& comm, const RankFigures& mine, bool show) {
  const double first = comm.min(mine.run.first_done()), last = comm.max(mine.run.last_done());
  const double until = comm.sum(mine.tally.series.bytes_until(first));
  if (!show || !(first > 0)) return;
  if (comm.size() > 1) add_done(record, mine.self, mine.run.first_done(), mine.run.last_done());
  if (!comm.is_root()) return;
  const size_t all = comm.size() > 1 ? record.entity(kAll) : mine.self;
  add_done(record, all, first, last);
  if (until > 0) record.add("stonewall_bytes_per_second", all, {until / first});
}

Series line_of(Direction direction, const char* what, const char* unit, size_t self) {
  return {fmt::format("{}_{}", direction_name(direction), what), unit, self};
}

}  // namespace

void add_time_lines(Record& record, Direction direction, double lead,
                    const RateSeries::Intervals& intervals, size_t self) {
  constexpr size_t kMaxPoints = 1000;
  const auto& rates = intervals.bytes_per_second;
  const size_t group = rates.size() / kMaxPoints + 1;
  Series rate = line_of(direction, "bytes_per_second", "bytes_per_second", self);
  Series mean = line_of(direction, "latency_mean_seconds", "seconds", self);
  Series most = line_of(direction, "latency_max_seconds", "seconds", self);
  for (size_t i = 0; i + group <= rates.size(); i += group) {
    const double at = lead + static_cast<double>(i + group) * intervals.seconds;
    double rate_sum = 0, latency_sum = 0, latency_max = 0;
    uint64_t ios = 0;
    for (size_t k = i; k < i + group; ++k) {
      rate_sum += rates[k];
      latency_sum += intervals.latency_sum[k];
      latency_max = std::max(latency_max, intervals.latency_max[k]);
      ios += intervals.ios[k];
    }
    rate.at.push_back(at);
    rate.values.push_back(rate_sum / static_cast<double>(group));
    if (ios == 0) continue;  // an interval without requests has a rate but no latency
    mean.at.push_back(at);
    mean.values.push_back(latency_sum / static_cast<double>(ios));
    most.at.push_back(at);
    most.values.push_back(latency_max);
  }
  for (Series* line : {&rate, &mean, &most}) {
    if (!line->at.empty()) record.telemetry.series.push_back(std::move(*line));
  }
}

void add_threads(Record& record, const Job& job, const RunResult& run, size_t self) {
  if (run.threads.size() < 2) return;
  Samples rates;
  for (const ThreadWork& t : run.threads) {
    const double seconds = job.seconds ? run.elapsed : t.done;
    rates.add(seconds > 0 ? static_cast<double>(t.bytes) / seconds : 0);
  }
  record.add("thread_bytes_per_second", self, std::move(rates));
}

void add_figures_of_all(Record& record, Context& context, const RankFigures& mine, bool good) {
  Comm& comm = context.comm;
  const Share share{context.place.host,
                    mine.durable ? mine.bytes_in_all : static_cast<double>(mine.tally.bytes),
                    mine.durable ? mine.durable_seconds : mine.run.elapsed};
  const bool all_good = !comm.any(!good);
  if (!mine.by_time && (comm.size() > 1 || mine.run.threads.size() > 1))
    add_stonewall(record, comm, mine, all_good);
  if (comm.size() == 1) return;
  const std::vector<Share> shares = gather_shares(comm, share);
  const double moved = comm.sum(static_cast<double>(mine.tally.bytes));
  const double elapsed = comm.max(mine.run.elapsed);
  if (!comm.is_root() || !all_good) return;
  if (mine.durable && moved > 0)
    record.add("aggregate_bytes_per_second", record.entity(kAll), {moved / elapsed});
  add_shares(record, shares,
             mine.durable ? "aggregate_durable_bytes_per_second" : "aggregate_bytes_per_second");
}

}  // namespace cb::io
