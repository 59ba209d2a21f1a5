#include "bench/storage/io/records.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/storage/io/figures.h"
#include "core/units.h"
#include "sys/cpu/numa.h"

namespace cb::io {
namespace {

constexpr double kMaxCached = 0.1;       // share of the file after direct writes
constexpr double kMinFromStorage = 0.9;  // share of the bytes that direct reads asked for

Said path_label(const Target& target, Engine engine) {
  if (engine == Engine::null) return said("io.none_made");
  if (target.storage().in_memory) return said("io.tmpfs");
  return target.direct() ? said("io.direct") : said("io.page_cache");
}

void add_facts(Record& record, const Target& target, const Measurement& m) {
  record.facts["path"] = path_label(target, m.choice.engine);
  record.facts["engine"] = said("io.engine", engine_name(m.choice.engine), m.run.engine);
  if (!m.run.clock.empty()) record.facts["clock"] = m.run.clock;
  record.facts["filesystem"] = target.view().nvme_namespace != 0
                                   ? said("io.passthrough")
                                   : Said(target.storage().filesystem);
  record.facts["mount"] = target.storage().mount_point;
  record.facts["source"] = target.storage().source;
  if (target.direct())
    record.facts["alignment"] = said("io.alignment", target.alignment().offset,
                                     target.alignment().memory, target.alignment().how);
  if (!target.allocation().empty()) record.facts["allocation"] = target.allocation();
  if (!target.job().cpus.empty())
    record.facts["cpus"] = said("io.cpus", cpu_list(target.job().cpus));
  if (!m.read_back_of.empty())
    record.facts["read_back"] = said("io.read_back", m.read_back_of, target.rank());
  record.facts["bounded_by"] = target.job().seconds ? said("io.by_time") : said("io.by_size");
  record.facts["data_check"] = m.checked() == 0                ? said("io.not_checked")
                               : target.job().check_every == 1 ? said("io.every_block")
                                                               : said("io.some_blocks");
}

void add_notes_on_memory(Record& record, Context& context, const Target& target,
                         const Measurement& m) {
  const Job& job = target.job();
  if (target.storage().in_memory) {
    record.notes.push_back(said("io.of_memory", target.id(), target.storage().filesystem));
    return;
  }
  if (target.direct()) return;
  if (m.cached_at_start)
    record.facts["page_cache_at_start"] =
        said("io.evicted", fmt::format("{:.1f}", *m.cached_at_start * 100));
  if (m.cached_at_start && *m.cached_at_start > kMaxCached)
    record.notes.push_back(said("io.cache_kept"));
  if (m.cached_at_read_back && *m.cached_at_read_back > kMaxCached)
    record.notes.push_back(said("io.cache_kept_read_back"));
  const auto memory = memory_total(context.fs);
  const uint64_t all = job.file_bytes * static_cast<uint64_t>(context.place.local_size);
  if (job.reads() && memory && all < *memory) record.notes.push_back(said("io.cached_small"));
  if (const auto share = m.from_storage(); share && *share < 0.5)
    record.notes.push_back(said("io.mostly_memory"));
  if (job.writes()) record.notes.push_back(said("io.write_cached"));
}

void add_notes(Record& record, Context& context, const Target& target, const Measurement& m) {
  const std::string& host = context.place.host;
  add_notes_on_memory(record, context, target, m);
  if (m.choice.fallback) record.notes.push_back(said("io.no_uring", host, *m.choice.fallback));
  if (m.fsync_seconds) record.notes.push_back(said("io.fsync_apart"));
  if (!target.own() && target.job().reads() && !target.job().verify_only)
    record.notes.push_back(said("io.unknown_content"));
  if (target.storage().filesystem == "overlay") record.notes.push_back(said("io.overlay"));
  if (!target.leftovers().empty())
    record.notes.push_back(said("io.leftovers", host,
                                fmt::format("{}", fmt::join(target.leftovers(), ", ")),
                                record.params.has("dir") ? record.params.text("dir") : "DIR"));
}

// The kernel may accept O_DIRECT and not honour it, so its counters are compared. Returns false
// only if they contradict.
bool add_direct_check(Record& record, const Target& target, const Measurement& m, size_t self) {
  if (!target.direct() || target.storage().in_memory || m.choice.engine == Engine::null)
    return true;
  Check check{.name = "direct", .entity = self};
  const auto share = m.from_storage();
  if (share && (target.storage().on_device || *share >= kMinFromStorage)) {
    check.value = *share;
    check.limit = kMinFromStorage;
    check.passed = *share >= kMinFromStorage;
    record.facts["path_evidence"] = said("io.evidence_counts");
    if (!check.passed) check.detail = said("io.direct_short");
  } else if (m.cached) {
    check.value = *m.cached;
    check.limit = kMaxCached;
    check.passed = *m.cached <= kMaxCached;
    record.facts["path_evidence"] = said("io.evidence_cache");
    if (!check.passed) check.detail = said("io.direct_cached");
  } else {
    record.facts["path_evidence"] = said("io.direct_unproven");
    return true;
  }
  const bool passed = check.passed;
  if (!passed) record.facts["path"] = said("io.page_cache");
  record.checks.push_back(std::move(check));
  return passed;
}

// --steady asks for figures of a steady state: without one the record has no figures, only what was
// seen.
bool add_steady_check(Record& record, Context& context, const Measurement& m, size_t self) {
  if (!m.run.conditioning || m.run.partial()) return true;
  const Conditioning& rounds = *m.run.conditioning;
  record.facts["steady_state"] = said("io.steady", context.who(), rounds.text());
  record.facts["steady_rounds"] = said("io.steady_rounds", context.who(),
                                       fmt::format("{:.4g}", fmt::join(rounds.rates(), ", ")));
  Check check{.name = "steady", .passed = rounds.reached(), .entity = self};
  if (const auto state = steadiness(rounds.rates())) {
    check.value = state->range;
    check.limit = kMaxSteadyRange;
  }
  if (!check.passed) check.detail = said("io.steady_missed", context.who(), rounds.text());
  const bool passed = check.passed;
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
    check.detail =
        said("io.wrong_at", context.who(), target.view().path, wrong->offset, wrong->what);
  record.checks.push_back(std::move(check));
  return !wrong;
}

double durable_seconds(const Measurement& m) {
  return m.run.elapsed + m.run.lead + m.fsync_seconds.value_or(0) + m.close_seconds;
}

void add_metrics(Record& record, Direction direction, const Target& target, const Measurement& m,
                 size_t self) {
  const Tally& tally = m.run.of(direction);
  if (tally.ios == 0) {
    record.notes.push_back(said("io.none_finished", direction_name(direction)));
    return;
  }
  const auto add = [&](const char* name, Samples samples) {
    record.add(name, self, std::move(samples));
  };
  // The rate is work over time, so that a stall lowers it by exactly what it cost.
  add("bytes_per_second", Samples{static_cast<double>(tally.bytes) / m.run.elapsed});
  add("io_per_second", Samples{static_cast<double>(tally.ios) / m.run.elapsed});
  if (m.run.finished_ios > 0)
    add("cpu_seconds_per_io", Samples{m.run.cpu_seconds / static_cast<double>(m.run.finished_ios)});
  if (m.run.system_calls > 0)
    add("requests_per_system_call",
        Samples{static_cast<double>(m.run.finished_ios) / static_cast<double>(m.run.system_calls)});
  const auto intervals = tally.series.intervals(m.run.elapsed);
  if (target.job().seconds && !intervals.bytes_per_second.empty()) {
    Samples samples;
    for (const double rate : intervals.bytes_per_second) samples.add(rate);
    add("interval_bytes_per_second", std::move(samples));
  }
  add_time_lines(record, direction, m.run.lead, intervals, self);
  add_threads(record, target.job(), m.run, self);
  add("latency_seconds", Samples::from_histogram(tally.latency));
  if (direction == Direction::read && m.read_before && m.read_after)
    record.telemetry.deltas.push_back({"process_read_from_storage", "bytes", self,
                                       static_cast<double>(*m.read_before),
                                       static_cast<double>(*m.read_after)});
  if (direction == Direction::read || !m.fsync_seconds) return;
  add("fsync_seconds", Samples{*m.fsync_seconds});
  // The rate covers the whole run with its warm-up: fsync cannot tell when a page was written.
  add("durable_bytes_per_second",
      Samples{static_cast<double>(m.run.bytes[1]) / durable_seconds(m)});
}

Entity entity_of(const Context& context, const Target& target) {
  std::string id = target.id();
  if (context.place.local_size > 1) id += fmt::format(" rank {}", context.comm.rank());
  return {context.place.host, target.is_device() ? "disk" : "filesystem", std::move(id)};
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
  const bool steady = add_steady_check(record, context, m, self);
  const bool good = right && direct && steady && !m.run.partial();
  if (good) add_metrics(record, direction, target, m, self);
  if (m.run.stopped)
    record.notes.push_back(
        said("io.stopped", context.who(), fmt::format("{:.3f}", m.run.lead + m.run.elapsed)));
  add_figures_of_all(
      record, context,
      {.tally = m.run.of(direction),
       .durable = direction == Direction::write && m.fsync_seconds.has_value(),
       .bytes_in_all = static_cast<double>(m.run.bytes[static_cast<size_t>(direction)]),
       .durable_seconds = durable_seconds(m),
       .run = m.run,
       .by_time = target.job().seconds.has_value(),
       .self = self},
      good);
  return record;
}

Record failed_record(Context& context, const Params& params, const Target& target,
                     const Measurement& m, Direction direction) {
  Record record{.case_name = "io", .params = params.with("direction", direction_name(direction))};
  record.entity(entity_of(context, target));
  add_facts(record, target, m);
  if (m.run.failure) record.outcome = Errored{context.who(), *m.run.failure};
  const uint64_t bytes = m.run.bytes[0] + m.run.bytes[1];
  record.facts["until_the_error"] = said(
      m.run.stopped ? "io.until_error_stopped" : "io.until_error", context.who(),
      m.run.finished_ios, bytes, fmt::format("{:.3f}", m.run.lead + m.run.elapsed), m.checked());
  return record;
}

}  // namespace cb::io
