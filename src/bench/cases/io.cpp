// Reads and writes files below a directory (or reads an existing file) with io_uring, or blocking
// threads where it is not allowed. Figures are of the time between barrier and end: making the
// file, the fsync at the end and the reading back are not in them. docs/methods/io.md.
#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/io/clean.h"
#include "bench/io/device_watch.h"
#include "bench/io/dry_run.h"
#include "bench/io/metadata.h"
#include "bench/io/near_cpus.h"
#include "bench/io/records.h"
#include "bench/io/workload.h"
#include "core/clock.h"

namespace cb {
namespace {

using namespace io;

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
           {"workload",
            ParamType::choice,
            "",
            "what a training cluster asks of its storage; sets access, block size, queue depth and "
            "bounds",
            {"checkpoint-write", "checkpoint-read", "dataset-read", "qd-sweep", "metadata",
             "kv-cache", "soak"}},
           {"model",
            ParamType::choice,
            "",
            "checkpoint bytes per rank of a model of that size (MLPerf Storage), instead of --size",
            {"8B", "70B", "405B", "1T"}},
           {"scale", ParamType::number, "1", "share of that to write", {}, false, 1e-9, 1},
           {"rank-shift",
            ParamType::integer,
            "",
            "checkpoint-read: read the file of the rank so many further on [ranks of a host]",
            {},
            false,
            0,
            1 << 20},
           {"files",
            ParamType::integer,
            "1000",
            "per rank, of the metadata workload",
            {},
            false,
            1,
            1000000},
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
                  {"aggregate_durable_bytes_per_second", "bytes_per_second", Better::higher,
                   "written by all ranks over write, fsync and close of the slowest"},
                  {"slowest_rank_bytes_per_second", "bytes_per_second", Better::higher,
                   "of the rank that was slowest, writes with fsync and close"},
                  {"create_per_second", "io_per_second", Better::higher,
                   "files created, 4 KiB each"},
                  {"create_latency_seconds", "seconds", Better::lower, "of one creation"},
                  {"stat_per_second", "io_per_second", Better::higher, "files looked up"},
                  {"stat_latency_seconds", "seconds", Better::lower, "of one look-up"},
                  {"read_per_second", "io_per_second", Better::higher, "files opened and read"},
                  {"read_latency_seconds", "seconds", Better::lower, "of opening and reading one"},
                  {"unlink_per_second", "io_per_second", Better::higher, "files removed"},
                  {"unlink_latency_seconds", "seconds", Better::lower, "of one removal"},
                  {"aggregate_create_per_second", "io_per_second", Better::higher,
                   "of all ranks over the time of the slowest"},
                  {"aggregate_stat_per_second", "io_per_second", Better::higher, "likewise"},
                  {"aggregate_read_per_second", "io_per_second", Better::higher, "likewise"},
                  {"aggregate_unlink_per_second", "io_per_second", Better::higher, "likewise"},
                  {"aggregate_bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes of all ranks over the time of the slowest"},
                  {"media_errors", "count", Better::lower,
                   "errors that an NVMe drive's SMART log counted during the run (root only)"},
                  {"critical_warnings", "count", Better::lower,
                   "critical warnings that its SMART log shows after the run (root only)"}},
      .checks = {"data", "direct"},
  };
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

// checkpoint-read: every rank reads what another wrote, so that no client serves itself from its
// own cache. Collective.
bool shift_ranks(Context& context, const Params& params, Target& target) {
  const int ranks = context.comm.size();
  const int64_t shift =
      params.has("rank-shift") ? params.integer("rank-shift") : context.place.local_size;
  std::string all;
  for (const std::string& path : context.comm.gather(target.path())) all += path + "\n";
  std::istringstream paths(context.comm.broadcast_text(std::move(all)));
  std::string path;
  for (int64_t i = 0; i <= (context.comm.rank() + shift) % ranks; ++i) std::getline(paths, path);
  return all_well(context, [&] {
    if (path != target.path()) target.read_from(path);
  });
}

// By one of the ranks of a host, since they share its disks.
std::vector<block::Device> watched_disks(Context& context, Target& target) {
  if (!context.place.first_on_host()) return {};
  return disks_of(context.fs, target.view().fd, target.storage().source);
}

std::vector<int> cpus_near(Context& context, Target& target) {
  return near_cpus(disks_of(context.fs, target.view().fd, target.storage().source), read_machine());
}

// One measurement of the target and its records; none if some rank could not (which threw).
std::vector<Record> measure(Context& context, const Params& params, Target& target,
                            Measurement& m) {
  const std::string started = utc_now();
  std::optional<DeviceWatch> watch;
  if (!all_well(context,
                [&] {
                  watch.emplace(context.fs, watched_disks(context, target));
                  run_measured(context, target, job_text(params), m);
                }) ||
      !all_well(context, [&] {
        if (!m.run.failure) finish_writes(context, target, params, m);
        watch->stop();
      }))
    return {};
  const bool failed = context.comm.any(m.run.failure.has_value());
  std::vector<Record> records;
  for (const Direction d : directions(target.job(), params)) {
    records.push_back(failed ? failed_record(context, params, target, m, d)
                             : record_of(context, params, d, target, m));
    watch->add_to(records.back(), context.place.host);
    records.back().started = started;
    records.back().ended = utc_now();
  }
  return records;
}

std::vector<Record> run(Context& context, const Params& given) {
  if (given.has("clean")) return run_clean(context, given);
  const Params params = with_workload(given);
  const std::string workload = params.has("workload") ? params.text("workload") : "";
  if (workload == "metadata") return {measure_metadata(context, params)};
  std::optional<Target> target;
  std::optional<SpaceNeed> need;
  EngineChoice choice;
  if (!all_well(context, [&] {
        choice = choose_engine(params.text("engine"),
                               static_cast<unsigned>(params.integer("queue-depth")), context.fs);
        target.emplace(params, context);
        if (target->own()) need = target->space_need();
      }))
    return {};
  if (need)
    require_space(context.comm, *need, static_cast<double>(params.integer("max-fill")) / 100);
  if (params.flag("dry-run")) return {dry_run_record(context, params, *target)};
  if (!all_well(context, [&] {
        target->make(choice.engine, hooks_of(context, "laying out the file"), context.cancel);
        if (params.flag("pin")) target->bind_threads(cpus_near(context, *target));
      }))
    return {};
  if (workload == "checkpoint-read" && !shift_ranks(context, params, *target)) return {};

  std::vector<Record> records;
  bool failed = false;
  for (const unsigned depth : queue_depths(params)) {
    target->set_queue_depth(depth);
    Measurement m{.choice = choice};
    const Params point = params.with("queue-depth", int64_t{depth});
    const std::vector<Record> more = measure(context, point, *target, m);
    if (more.empty()) return {};
    for (Record record : more) {
      if (workload == "checkpoint-read")
        record.facts["reads_from"] =
            fmt::format("rank {} reads {}", context.comm.rank(),
                        target->path().substr(target->path().rfind('/') + 1));
      records.push_back(std::move(record));
    }
    failed = context.comm.any(m.run.failure.has_value());
    if (failed) break;
  }
  // Behind all_well() nobody reads another's file any more.
  all_well(context, [&] {
    if (params.flag("keep") && !failed) {
      records.back().notes.push_back("kept " + target->keep());
    } else {
      target->remove();
    }
  });
  return records;
}

void check(const Params& params, Problems& problems) {
  io::check_params(with_workload(params), problems);
  if (!params.has("workload")) return;
  const std::string& workload = params.text("workload");
  if (params.has("file") && workload != "qd-sweep")
    problems.add("--workload", fmt::format("{} makes its own files: give --dir", workload));
  if (workload == "kv-cache" && !params.has("rate"))
    problems.add("--rate",
                 "is needed by kv-cache: requests per second per rank that the service "
                 "makes, whatever the storage answers");
}

}  // namespace

Case io_case() { return {describe(), run, check}; }

}  // namespace cb
