#include "bench/io/records.h"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/stats.h"
#include "core/units.h"
#include "sys/numa.h"

namespace cb::io {
namespace {

constexpr double kMostCached = 0.1;        // of the file after direct writes
constexpr double kLeastFromStorage = 0.9;  // of the bytes that direct reads asked for

std::string path_label(const Target& target, Engine engine) {
  if (engine == Engine::null) return "none: no request was made";
  if (target.storage().in_memory) return "tmpfs (memory)";
  return target.direct() ? "direct" : "page cache";
}

void add_facts(Record& record, const Target& target, const Measurement& m) {
  record.facts["path"] = path_label(target, m.choice.engine);
  record.facts["engine"] = fmt::format("{}: {}", engine_name(m.choice.engine), m.run.engine);
  record.facts["filesystem"] = target.storage().filesystem;
  record.facts["mount"] = target.storage().mount_point;
  record.facts["source"] = target.storage().source;
  if (target.direct())
    record.facts["alignment"] =
        fmt::format("offset {}, memory {} bytes ({})", target.alignment().offset,
                    target.alignment().memory, target.alignment().how);
  if (!target.allocation().empty()) record.facts["allocation"] = target.allocation();
  if (!target.job().cpus.empty())
    record.facts["cpus"] = cpu_list(target.job().cpus) + ", of the device's NUMA node";
  record.facts["bounded_by"] = target.job().seconds ? "time" : "size";
  record.facts["data_check"] = m.checked() == 0                ? "none"
                               : target.job().check_every == 1 ? "every block"
                                                               : "a sample of the blocks";
}

void add_notes_on_memory(Record& record, Context& context, const Target& target,
                         const Measurement& m) {
  const Job& job = target.job();
  if (target.storage().in_memory) {
    record.notes.push_back(fmt::format("{} is {}: the figures are of memory, not of a disk",
                                       target.id(), target.storage().filesystem));
    return;
  }
  if (target.direct()) return;
  const auto memory = memory_total(context.fs);
  const uint64_t all = job.file_bytes * static_cast<uint64_t>(context.place.local_size);
  if (job.reads() && memory && all < *memory)
    record.notes.push_back(
        "cached reads of files smaller than the host's memory: what was read once comes from "
        "memory; use --direct, or a --size beyond the memory");
  if (const auto share = m.from_storage(); share && *share < 0.5)
    record.notes.push_back("most of the bytes read came from memory, not from the disk");
  if (job.writes())
    record.notes.push_back(
        "writes went to the page cache: durable_bytes_per_second is what reached the device");
}

void add_notes(Record& record, Context& context, const Target& target, const Measurement& m) {
  const std::string& host = context.place.host;
  add_notes_on_memory(record, context, target, m);
  if (m.choice.fallback)
    record.notes.push_back(fmt::format("{}: threads with pread/pwrite instead of io_uring: {}",
                                       host, *m.choice.fallback));
  if (m.fsync_seconds)
    record.notes.push_back("the fsync at the end is not in bytes_per_second; see fsync_seconds");
  if (!target.own() && target.job().reads() && !target.job().verify_only)
    record.notes.push_back("the content of --file is not known, so what was read is not checked");
  if (target.storage().filesystem == "overlay")
    record.notes.push_back(
        "the directory is on an overlay filesystem; the data lies on the "
        "filesystem of its upper layer");
  if (!target.leftovers().empty())
    record.notes.push_back(
        fmt::format("{}: left by earlier runs and not touched: {}; next: clusterbench io "
                    "--clean {}",
                    host, fmt::join(target.leftovers(), ", "),
                    record.params.has("dir") ? record.params.text("dir") : "DIR"));
}

// O_DIRECT that was accepted is believed only if the kernel's counters agree. True unless they
// contradict.
bool add_direct_check(Record& record, const Target& target, const Measurement& m, size_t self) {
  if (!target.direct() || target.storage().in_memory || m.choice.engine == Engine::null)
    return true;
  Check check{.name = "direct", .entity = self};
  const auto share = m.from_storage();
  if (share && (target.storage().on_device || *share >= kLeastFromStorage)) {
    check.value = *share;
    check.limit = kLeastFromStorage;
    check.passed = *share >= kLeastFromStorage;
    record.facts["path_evidence"] = "bytes read as the kernel counts them for the process";
    check.detail = check.passed ? ""
                                : "O_DIRECT was accepted, but fewer bytes came from the device "
                                  "than were read; next: use --no-direct on this filesystem";
  } else if (m.cached) {
    check.value = *m.cached;
    check.limit = kMostCached;
    check.passed = *m.cached <= kMostCached;
    record.facts["path_evidence"] = "the file is not in the page cache afterwards";
    check.detail = check.passed ? ""
                                : "O_DIRECT was accepted, but the file is in the page cache; "
                                  "next: use --no-direct on this filesystem";
  } else {
    record.facts["path_evidence"] = "O_DIRECT accepted; this filesystem counts nothing to prove it";
    return true;
  }
  const bool passed = check.passed;
  if (!passed) record.facts["path"] = "page cache";
  record.checks.push_back(std::move(check));
  return passed;
}

bool add_data_check(Record& record, Context& context, const Target& target, const Measurement& m,
                    size_t self) {
  const auto wrong = m.wrong();
  if (m.checked() == 0) return true;
  Check check{.name = "data", .passed = !wrong, .entity = self};
  check.value = wrong ? 1 : 0;
  check.limit = 0;
  if (wrong)
    check.detail = fmt::format("{}: {} at offset {} {}", context.who(), target.view().path,
                               wrong->offset, wrong->what);
  record.checks.push_back(std::move(check));
  return !wrong;
}

// The rate over time, from the run's start (warm-up included) so that it stands beside the other
// time lines of the record; intervals are joined where there would be too many points.
void add_time_line(Record& record, Direction direction, const Job& job,
                   const RateSeries::Intervals& intervals, size_t self) {
  constexpr size_t kMostPoints = 1000;
  const auto& rates = intervals.bytes_per_second;
  const size_t group = rates.size() / kMostPoints + 1;
  Series line{fmt::format("{}_bytes_per_second", direction_name(direction)), "bytes_per_second",
              self};
  for (size_t i = 0; i + group <= rates.size(); i += group) {
    double sum = 0;
    for (size_t k = i; k < i + group; ++k) sum += rates[k];
    line.at.push_back(job.warm_up_seconds + static_cast<double>(i + group) * intervals.seconds);
    line.values.push_back(sum / static_cast<double>(group));
  }
  if (!line.at.empty()) record.telemetry.series.push_back(std::move(line));
}

double durable_seconds(const Target& target, const Measurement& m) {
  return m.run.elapsed + target.job().warm_up_seconds + m.fsync_seconds.value_or(0) +
         m.close_seconds;
}

void add_metrics(Record& record, Direction direction, const Target& target, const Measurement& m,
                 size_t self) {
  const Tally& tally = m.run.of(direction);
  if (tally.ios == 0) {
    record.notes.push_back(fmt::format("no {} was finished in the measured time: no figures of it",
                                       direction_name(direction)));
    return;
  }
  const auto add = [&](const char* name, const char* unit, Better better, Samples samples) {
    record.metrics.push_back({name, unit, better, self, std::move(samples)});
  };
  // Work over time, so that a stall lowers the figure by what it cost, no more and no less.
  add("bytes_per_second", "bytes_per_second", Better::higher,
      Samples{static_cast<double>(tally.bytes) / m.run.elapsed});
  add("io_per_second", "io_per_second", Better::higher,
      Samples{static_cast<double>(tally.ios) / m.run.elapsed});
  if (m.run.finished_ios > 0)
    add("cpu_seconds_per_io", "seconds", Better::lower,
        Samples{m.run.cpu_seconds / static_cast<double>(m.run.finished_ios)});
  const auto intervals = tally.series.intervals(m.run.elapsed);
  if (target.job().seconds && !intervals.bytes_per_second.empty()) {
    Samples samples;
    for (const double rate : intervals.bytes_per_second) samples.add(rate);
    add("interval_bytes_per_second", "bytes_per_second", Better::higher, std::move(samples));
  }
  add_time_line(record, direction, target.job(), intervals, self);
  add("latency_seconds", "seconds", Better::lower, Samples::from_histogram(tally.latency));
  if (direction == Direction::read && m.read_before && m.read_after)
    record.telemetry.deltas.push_back({"process_read_from_storage", "bytes", self,
                                       static_cast<double>(*m.read_before),
                                       static_cast<double>(*m.read_after)});
  if (direction == Direction::read || !m.fsync_seconds) return;
  add("fsync_seconds", "seconds", Better::lower, Samples{*m.fsync_seconds});
  // Of the whole run with its warm-up: fsync cannot tell when a page was written.
  add("durable_bytes_per_second", "bytes_per_second", Better::higher,
      Samples{static_cast<double>(m.run.bytes[1]) / durable_seconds(target, m)});
}

Entity entity_of(const Context& context, const Target& target) {
  std::string id = target.id();
  if (context.place.local_size > 1) id += fmt::format(" rank {}", context.comm.rank());
  return {context.place.host, target.is_device() ? "disk" : "filesystem", std::move(id)};
}

// One rank's share of a direction: bytes, and the seconds they took, with fsync and close where it
// made them durable.
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
    if (!(in >> share.host >> share.bytes >> share.seconds))
      throw Error("a rank sent no figures of its share");
    out.push_back(std::move(share));
  }
  return out;
}

// Aggregate by the slowest rank's time, since a checkpoint is there when its last part is; and who
// that was.
void add_figures_of_all(Record& record, const std::vector<Share>& shares, const char* name) {
  const Entity all{"", "cluster", "cluster"};
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
  record.metrics.push_back(
      {name, "bytes_per_second", Better::higher, record.entity(all), Samples{bytes / seconds}});
  const Share& s = shares[slowest];
  record.metrics.push_back({"slowest_rank_bytes_per_second", "bytes_per_second", Better::higher,
                            record.entity({s.host, "rank", std::to_string(slowest)}),
                            Samples{s.rate()}});
  std::sort(rates.begin(), rates.end());
  record.facts["slowest_rank"] =
      fmt::format("{} rank {}: {:.3f} s, {:.3g} of the median rank's rate", s.host, slowest,
                  s.seconds, s.rate() / quantile_of_sorted(rates, 0.5));
}

// Collective, for one direction.
void add_aggregate(Record& record, Context& context, Direction direction, const Target& target,
                   const Measurement& m, bool good) {
  if (context.comm.size() == 1) return;
  const bool durable = direction == Direction::write && m.fsync_seconds.has_value();
  const Tally& tally = m.run.of(direction);
  const Share mine{context.place.host, static_cast<double>(durable ? m.run.bytes[1] : tally.bytes),
                   durable ? durable_seconds(target, m) : m.run.elapsed};
  const bool all_good = !context.comm.any(!good);
  const std::vector<Share> shares = gather_shares(context.comm, mine);
  const double written = context.comm.sum(static_cast<double>(tally.bytes));
  const double elapsed = context.comm.max(m.run.elapsed);
  if (!context.comm.is_root() || !all_good) return;
  if (durable && written > 0)
    record.metrics.push_back({"aggregate_bytes_per_second", "bytes_per_second", Better::higher,
                              record.entity({"", "cluster", "cluster"}),
                              Samples{written / elapsed}});
  add_figures_of_all(record, shares,
                     durable ? "aggregate_durable_bytes_per_second" : "aggregate_bytes_per_second");
}

}  // namespace

Record record_of(Context& context, const Params& params, Direction direction, const Target& target,
                 const Measurement& m) {
  Record record{.case_name = "io", .params = params.with("direction", direction_name(direction))};
  const size_t self = record.entity(entity_of(context, target));
  add_facts(record, target, m);
  add_notes(record, context, target, m);
  const bool right = add_data_check(record, context, target, m, self);
  const bool direct = add_direct_check(record, target, m, self);
  if (right && direct) add_metrics(record, direction, target, m, self);
  add_aggregate(record, context, direction, target, m, right && direct);
  return record;
}

Record failed_record(Context& context, const Params& params, const Target& target,
                     const Measurement& m, Direction direction) {
  Record record{.case_name = "io", .params = params.with("direction", direction_name(direction))};
  record.entity(entity_of(context, target));
  add_facts(record, target, m);
  if (!m.run.failure) return record;
  record.outcome = Errored{context.who(), *m.run.failure};
  const uint64_t bytes = m.run.bytes[0] + m.run.bytes[1];
  record.facts["until_the_error"] =
      fmt::format("{}: {} requests, {} bytes in {:.3f} s, {} blocks compared and right",
                  context.who(), m.run.finished_ios, bytes,
                  std::max(0.0, m.run.elapsed) + target.job().warm_up_seconds, m.checked());
  return record;
}

}  // namespace cb::io
