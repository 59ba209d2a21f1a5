// Reads and writes files below a directory (or reads an existing file) with io_uring, or blocking
// threads where it is not allowed. Figures are of the time between barrier and end: making the
// file, the fsync at the end and the reading back are not in them. docs/methods/io.md.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/cases.h"
#include "bench/io/clean.h"
#include "bench/io/device_watch.h"
#include "bench/io/dry_run.h"
#include "bench/io/target.h"
#include "core/clock.h"
#include "core/units.h"
#include "sys/uring.h"

namespace cb {
namespace {

using namespace io;

constexpr double kMostCached = 0.1;         // of the file after direct writes
constexpr double kLeastFromStorage = 0.9;   // of the bytes that direct reads asked for
constexpr uint64_t kReadBackBlocks = 2048;  // sampled after a write, unless --verify

CaseInfo describe() {
  return {
      .name = "io",
      .device = "",
      .summary = "read and write files: throughput, IOPS, latency, direct or cached",
      .example =
          "clusterbench io --dir /data --rw randread --block-size 4K --queue-depth 32 "
          "--duration 10s",
      .domain = "storage",
      .needs = {.directory = true},
      .params =
          {{"dir", ParamType::text, "", "directory to create an own fresh directory in"},
           {"file", ParamType::text, "", "an existing file (or block device) to read"},
           {"allow-overwrite", ParamType::flag, "false", "let --rw write into --file"},
           {"keep", ParamType::flag, "false", "leave the files, for --verify-only later"},
           {"verify-only", ParamType::flag, "false",
            "read a kept --file and check every sector: after a power loss, or on another host"},
           {"allow-raw-write", ParamType::text, "",
            "the serial number of the block device --file: lets --rw write to it"},
           {"clean", ParamType::text, "",
            "remove what killed runs left in this directory, and nothing else; measure nothing"},
           {"dry-run", ParamType::flag, "false", "say what would be made and written, and stop"},
           {"max-fill",
            ParamType::integer,
            "95",
            "per cent of the filesystem that may be full with our files",
            {},
            false,
            1,
            100},
           {"rw",
            ParamType::choice,
            "randread",
            "access",
            {"read", "write", "randread", "randwrite", "randrw"}},
           {"rwmix", ParamType::integer, "70", "per cent of reads in randrw", {}, false, 1, 99},
           {"block-size", ParamType::size, "4K", "bytes per request", {}, false, 512, 1 << 30},
           {"queue-depth",
            ParamType::integer,
            "32",
            "requests in flight per thread",
            {},
            false,
            1,
            4096},
           {"threads",
            ParamType::integer,
            "1",
            "threads per rank, each with its part of the file",
            {},
            false,
            1,
            1024},
           {"size", ParamType::size, "1G", "bytes per rank's file below --dir", {}, false, 512},
           {"duration", ParamType::duration, "",
            "measure for this long; without it until each block was accessed once"},
           {"warm-up", ParamType::duration, "500ms", "before the measured time of --duration"},
           {"direct", ParamType::flag, "true", "past the page cache (O_DIRECT)"},
           {"fsync", ParamType::flag, "true", "after writing, timed apart"},
           {"verify", ParamType::flag, "false", "check every block instead of a sample"},
           {"engine",
            ParamType::choice,
            "auto",
            "how requests are made; null makes none: the tool's own cost",
            {"auto", "io_uring", "threads", "null"}},
           {"distribution",
            ParamType::choice,
            "uniform",
            "of random offsets; zipf: some blocks are hot",
            {"uniform", "zipf"}},
           {"zipf-theta", ParamType::number, "1.1", "skew of zipf", {}, false, 0.01, 5},
           {"rate",
            ParamType::number,
            "",
            "requests per second per rank, planned in time: latency counts from the plan",
            {},
            false,
            0.01,
            1e9},
           {"reap",
            ParamType::integer,
            "1",
            "completions that one wait of io_uring asks for",
            {},
            false,
            1,
            4096},
           {"poll",
            ParamType::choice,
            "none",
            "iopoll: poll the device; sqpoll: a kernel thread submits",
            {"none", "iopoll", "sqpoll"}},
           {"pin", ParamType::flag, "true", "bind threads to the CPUs of the device's NUMA node"},
           {"seed", ParamType::integer, "1", "of order and data", {}, false, 0},
           {"direction",
            ParamType::choice,
            "read,write",
            "which of a randrw run is reported; each is a record of its own",
            {"read", "write"},
            true}},
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes of finished requests over the whole counted time"},
                  {"io_per_second", "io_per_second", Better::higher, "finished requests, likewise"},
                  {"interval_bytes_per_second", "bytes_per_second", Better::higher,
                   "with --duration: the same per interval of about 100 ms"},
                  {"latency_seconds", "seconds", Better::lower,
                   "from intended submission to completion seen, every request"},
                  {"cpu_seconds_per_io", "seconds", Better::lower,
                   "CPU time of the IO threads, user and system, per request"},
                  {"fsync_seconds", "seconds", Better::lower, "the fsync after the last write"},
                  {"durable_bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes written over the time of writing and fsync"},
                  {"aggregate_bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes of all ranks over the time of the slowest"},
                  {"media_errors", "count", Better::lower,
                   "errors that an NVMe drive's SMART log counted during the run (root only)"},
                  {"critical_warnings", "count", Better::lower,
                   "critical warnings that its SMART log shows after the run (root only)"}},
      .checks = {"data", "direct"},
  };
}

// One rank's step of several: either every rank went well (true), or each that failed throws its
// error and the others return false; an interrupt of any stops all.
bool all_well(Context& context, const std::function<void()>& step) {
  std::exception_ptr failure;
  int status = 0;
  try {
    step();
  } catch (const Interrupted&) {
    status = 2;
  } catch (...) {
    status = 1;
    failure = std::current_exception();
  }
  const double worst = context.comm.max(status);
  if (worst > 1) throw Interrupted();
  if (failure) std::rethrow_exception(failure);
  return worst < 1;
}

struct EngineChoice {
  Engine engine = Engine::io_uring;
  std::optional<std::string> fallback = {};  // why not io_uring
};

EngineChoice choose_engine(const std::string& wanted, unsigned queue_depth, const FsRoot& fs) {
  if (wanted == "threads") return {Engine::threads};
  if (wanted == "null") return {Engine::null};
  const auto why = why_no_uring(queue_depth, fs);
  if (!why) return {Engine::io_uring};
  if (wanted == "io_uring")
    throw Error(fmt::format("io_uring cannot be used: {}; next: --engine auto or threads", *why));
  return {Engine::threads, why};
}

// All that one rank measured, before it is cut into records.
struct Measurement {
  EngineChoice choice;
  RunResult run;
  std::optional<double> fsync_seconds;
  std::optional<uint64_t> read_before, read_after;  // bytes the kernel fetched for this process
  std::optional<double> cached;                     // share of the file, after the run
  ReadBack read_back;

  std::optional<Mismatch> wrong() const { return run.wrong ? run.wrong : read_back.wrong; }
  uint64_t checked() const { return run.blocks_checked + read_back.blocks_checked; }
  // Share of the bytes read that came from storage.
  std::optional<double> from_storage() const {
    if (!read_before || !read_after || run.bytes[0] == 0) return std::nullopt;
    return static_cast<double>(*read_after - *read_before) / static_cast<double>(run.bytes[0]);
  }
};

RunHooks hooks_of(Context& context, const std::string& text) {
  context.watchdog.note(text);
  return {.progress = [&context, text](double share) {
    context.watchdog.progress();
    context.progress.update(share, text);
  }};
}

void run_measured(Context& context, Target& target, const std::string& text, Measurement& m) {
  RunHooks hooks = hooks_of(context, text);
  hooks.before_start = [&] {
    context.comm.barrier();
    m.read_before = bytes_read_from_storage();
  };
  FileView view = target.view();
  if (m.choice.engine == Engine::null) view.content_known = false;
  m.run = run_job(target.job(), view, m.choice.engine, context.fs, context.cancel, hooks);
  m.read_after = bytes_read_from_storage();
  if (target.direct() && target.own())
    m.cached = cached_share(target.view().fd, target.job().file_bytes);
}

void finish_writes(Context& context, Target& target, const Params& params, Measurement& m) {
  if (!target.job().writes() || m.run.wrong || m.choice.engine == Engine::null) return;
  if (params.flag("fsync")) {
    context.watchdog.note("fsync");
    m.fsync_seconds = target.flush();
  }
  // Read back from the device: dirty pages stay in the cache, so they have to be clean first.
  if (!target.direct() && !params.flag("fsync")) target.flush();
  target.drop_cache();
  uint64_t issued = 0;
  for (const uint64_t n : m.run.issued) issued += n;
  issued = std::min(issued, target.job().blocks());
  const auto every = params.flag("verify")
                         ? 1u
                         : static_cast<unsigned>(std::max<uint64_t>(1, issued / kReadBackBlocks));
  const RunHooks hooks = hooks_of(context, "reading back");
  m.read_back =
      read_back(target.job(), target.view(), m.run.issued, every, context.cancel, hooks.progress);
}

// ---- records ----

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
  const double writing = m.run.elapsed + target.job().warm_up_seconds + *m.fsync_seconds;
  add("durable_bytes_per_second", "bytes_per_second", Better::higher,
      Samples{static_cast<double>(m.run.bytes[1]) / writing});
}

Entity entity_of(const Context& context, const Target& target) {
  std::string id = target.id();
  if (context.place.local_size > 1) id += fmt::format(" rank {}", context.comm.rank());
  return {context.place.host, target.is_device() ? "disk" : "filesystem", std::move(id)};
}

// Collective, for one direction.
void add_aggregate(Record& record, Context& context, Direction direction, const Measurement& m,
                   bool good) {
  if (context.comm.size() == 1) return;
  const double bytes = context.comm.sum(static_cast<double>(m.run.of(direction).bytes));
  const double elapsed = context.comm.max(m.run.elapsed);
  const bool all_good = !context.comm.any(!good);
  if (!context.comm.is_root() || !all_good || !(elapsed > 0) || !(bytes > 0)) return;
  record.metrics.push_back({"aggregate_bytes_per_second", "bytes_per_second", Better::higher,
                            record.entity({"", "cluster", "cluster"}), Samples{bytes / elapsed}});
}

Record record_of(Context& context, const Params& params, Direction direction, const Target& target,
                 const Measurement& m) {
  Record record{.case_name = "io", .params = params.with("direction", direction_name(direction))};
  const size_t self = record.entity(entity_of(context, target));
  add_facts(record, target, m);
  add_notes(record, context, target, m);
  const bool right = add_data_check(record, context, target, m, self);
  const bool direct = add_direct_check(record, target, m, self);
  if (right && direct) add_metrics(record, direction, target, m, self);
  add_aggregate(record, context, direction, m, right && direct);
  return record;
}

// What was done before a request failed: no figure of it means anything, but a reader wants to know
// how far it came.
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

std::vector<Direction> directions(const Job& job, const Params& params) {
  std::vector<Direction> out;
  const auto wanted = params.texts("direction");
  for (const Direction d : {Direction::read, Direction::write}) {
    const bool done = d == Direction::read ? job.reads() : job.writes();
    const bool asked = !(job.reads() && job.writes()) ||
                       std::find(wanted.begin(), wanted.end(), direction_name(d)) != wanted.end();
    if (done && asked) out.push_back(d);
  }
  return out;
}

std::vector<Record> run(Context& context, const Params& params) {
  if (params.has("clean")) return run_clean(context, params);
  std::optional<Target> target;
  std::optional<SpaceNeed> need;
  std::optional<DeviceWatch> watch;
  Measurement m;
  const std::string started = utc_now();
  std::string kept;
  const auto step = [&](const std::function<void()>& what) { return all_well(context, what); };
  if (!step([&] {
        m.choice = choose_engine(params.text("engine"),
                                 static_cast<unsigned>(params.integer("queue-depth")), context.fs);
        target.emplace(params, context);
        if (target->own()) need = target->space_need();
      }))
    return {};
  if (need)
    require_space(context.comm, *need, static_cast<double>(params.integer("max-fill")) / 100);
  if (params.flag("dry-run")) return {dry_run_record(context, params, *target)};
  if (!step([&] {
        target->make(m.choice.engine, hooks_of(context, "laying out the file"), context.cancel);
        // One of the ranks of a host: they share its disks.
        watch.emplace(context.fs,
                      context.place.first_on_host()
                          ? disks_of(context.fs, target->view().fd, target->storage().source)
                          : std::vector<block::Device>{});
      }) ||
      !step([&] { run_measured(context, *target, job_text(params), m); }) || !step([&] {
        if (!m.run.failure) finish_writes(context, *target, params, m);
      }) ||
      !step([&] {
        watch->stop();
        if (params.flag("keep") && !m.run.failure) {
          kept = target->keep();
        } else {
          target->remove();
        }
      }))
    return {};

  const bool failed = context.comm.any(m.run.failure.has_value());
  std::vector<Record> records;
  for (const Direction d : directions(target->job(), params)) {
    records.push_back(failed ? failed_record(context, params, *target, m, d)
                             : record_of(context, params, d, *target, m));
    watch->add_to(records.back(), context.place.host);
    records.back().started = started;
    if (!kept.empty()) records.back().notes.push_back("kept " + kept);
  }
  return records;
}

}  // namespace

Case io_case() { return {describe(), run, io::check_params}; }

}  // namespace cb
