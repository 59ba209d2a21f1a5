// Reads and writes files below a directory (or reads an existing file) with io_uring, or blocking
// threads where it is not allowed. Figures are of the time between barrier and end: making the
// file, the fsync at the end and the reading back are not in them. docs/methods/io.md.
#include <algorithm>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "bench/storage/io/cache_compare.h"
#include "bench/storage/io/clean.h"
#include "bench/storage/io/metadata.h"
#include "bench/storage/io/mixed.h"
#include "bench/storage/io/session.h"
#include "bench/storage/io/workload.h"
#include "core/param_builder.h"

namespace cb {
namespace {

using namespace io;

CaseInfo describe() {
  using namespace param;
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
          {text("dir")
               .help("directories, measured one after the other; each gets an own fresh directory")
               .list(),
           text("file").help("an existing file (or block device) to read"),
           flag("allow-overwrite").help("let --rw write into --file"),
           choice("workload", {"checkpoint-write", "checkpoint-read", "dataset-read", "mixed",
                               "memory-cache", "qd-sweep", "metadata", "kv-cache", "soak"})
               .help("a workload of training clusters; sets access, block size, queue depth and "
                     "bounds")
               .excludes({"rw", "block-size", "queue-depth"})
               .excludes({"duration"}, {"checkpoint-write", "checkpoint-read"}),
           text("cache-dir")
               .help("memory-cache: a directory in memory to compare --dir with")
               .by_default("/dev/shm"),
           choice("model", {"8B", "70B", "405B", "1T"})
               .help("checkpoint bytes per rank of a model of that size (MLPerf Storage), instead "
                     "of --size")
               .excludes({"size"}),
           number("scale")
               .help("share of the model's checkpoint to write")
               .by_default("1")
               .range(1e-9, 1),
           integer("rank-shift")
               .help("checkpoint-read: each rank reads the file of the rank that is this many "
                     "further on [ranks of a host]; given with writes, that rank reads them back")
               .range(0, 1 << 20),
           integer("files")
               .help("files per rank of the metadata workload")
               .by_default("1000")
               .range(1, 1000000),
           flag("shared-directory")
               .help("metadata: all ranks' files in one directory instead of one each"),
           flag("shared-file")
               .help("one file for all ranks, each its own part of it, instead of one each"),
           flag("keep").help("leave the files, for --verify-only later"),
           flag("verify-only")
               .help("read a kept --file and check every sector: after a power loss, or on another "
                     "host"),
           text("allow-raw-write")
               .help("the serial number of the block device --file: lets --rw write to it"),
           text("clean").help(
               "remove what killed runs left in this directory, and nothing else; measure nothing"),
           flag("dry-run").help("say what would be made and written, and stop"),
           integer("max-fill")
               .help("largest fill of the filesystem with our files, in per cent")
               .by_default("95")
               .range(1, 100),
           choice("rw", {"read", "write", "randread", "randwrite", "randrw"})
               .help("access")
               .by_default("randread"),
           integer("rwmix").help("per cent of reads in randrw").by_default("70").range(1, 99),
           size("block-size").help("bytes per request").by_default("4K").range(512, 1 << 30),
           integer("queue-depth")
               .help("requests in flight per thread")
               .by_default("32")
               .range(1, 4096),
           integer("threads")
               .help("threads per rank, each with its part of the file")
               .by_default("1")
               .range(1, 1024),
           size("size").help("bytes per rank's file below --dir").by_default("1G").at_least(512),
           duration("duration")
               .help("measure for this long; without it until each block was accessed once"),
           duration("warm-up").help("before the measured time of --duration").by_default("500ms"),
           flag("steady").help("count only from a steady state on (SNIA PTS: five rounds alike), "
                               "and give no figures without one"),
           duration("round")
               .help("duration of a round of --steady")
               .by_default("60s")
               .at_least(0.1),
           flag("direct").help("bypass the page cache (O_DIRECT)").by_default("true"),
           flag("fsync").help("after writing, timed apart").by_default("true"),
           flag("verify").help("check every block instead of a sample"),
           choice("engine", {"auto", "io_uring", "threads", "null"})
               .help("how requests are made; null makes none: the tool's own cost")
               .by_default("auto"),
           choice("distribution", {"uniform", "zipf"})
               .help("distribution of random offsets; zipf: some blocks are hot")
               .by_default("uniform"),
           number("zipf-theta").help("skew of zipf").by_default("1.1").range(0.01, 5),
           number("rate")
               .help("requests per second per rank, planned in time: latency counts from the plan")
               .range(0.01, 1e9),
           integer("reap")
               .help("completions that one wait of io_uring asks for")
               .by_default("1")
               .range(1, 4096),
           choice("poll", {"none", "iopoll", "sqpoll"})
               .help("iopoll: poll the device; sqpoll: a kernel thread submits")
               .by_default("none"),
           flag("pin")
               .help("bind threads to the CPUs of the device's NUMA node")
               .by_default("true"),
           seed_param("of order and data"),
           choice("direction", {"read", "write"})
               .help("direction of a randrw run to report; each is a record of its own")
               .by_default("read,write")
               .list(),
           fault_param("spoils a block of its own file as it is read or written, to prove that it "
                       "is seen")},
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes of finished requests over the whole counted time"},
                  {"io_per_second", "io_per_second", Better::higher,
                   "finished requests, as bytes_per_second counts them"},
                  {"interval_bytes_per_second", "bytes_per_second", Better::higher,
                   "with --duration: the same per interval of about 100 ms"},
                  {"latency_seconds", "seconds", Better::lower,
                   "from intended submission to completion seen, every request"},
                  {"cpu_seconds_per_io", "seconds", Better::lower,
                   "CPU time of the IO threads, user and system, per request"},
                  {"requests_per_system_call", "ratio", Better::higher,
                   "io_uring: how many one call submits and takes back"},
                  {"fsync_seconds", "seconds", Better::lower, "the fsync after the last write"},
                  {"durable_bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes written over the time of writing and fsync"},
                  {"aggregate_durable_bytes_per_second", "bytes_per_second", Better::higher,
                   "written by all ranks over write, fsync and close of the slowest"},
                  {"slowest_rank_bytes_per_second", "bytes_per_second", Better::higher,
                   "rate of the slowest rank; writes include fsync and close"},
                  {"thread_bytes_per_second", "bytes_per_second", Better::higher,
                   "rate of each thread of a rank, in the threads' order"},
                  {"share_of_undisturbed", "share", Better::higher,
                   "mixed: reading beside a checkpoint over reading alone"},
                  {"speedup_over_storage", "ratio", Better::higher,
                   "memory-cache: reading from memory over reading from --dir"},
                  {"first_done_seconds", "seconds", Better::lower,
                   "bounded by size: when the first thread had done its part"},
                  {"last_done_seconds", "seconds", Better::lower,
                   "when the last thread had done its part"},
                  {"stonewall_bytes_per_second", "bytes_per_second", Better::higher,
                   "bounded by size: until the first was done, so while all worked"},
                  {"create_per_second", "io_per_second", Better::higher,
                   "files created, 4 KiB each"},
                  {"create_latency_seconds", "seconds", Better::lower, "time of one creation"},
                  {"stat_per_second", "io_per_second", Better::higher, "files looked up"},
                  {"stat_latency_seconds", "seconds", Better::lower, "time of one look-up"},
                  {"read_per_second", "io_per_second", Better::higher, "files opened and read"},
                  {"read_latency_seconds", "seconds", Better::lower, "time to open and read one"},
                  {"unlink_per_second", "io_per_second", Better::higher, "files removed"},
                  {"unlink_latency_seconds", "seconds", Better::lower, "time of one removal"},
                  {"aggregate_create_per_second", "io_per_second", Better::higher,
                   "creations of all ranks over the time of the slowest rank"},
                  {"aggregate_stat_per_second", "io_per_second", Better::higher,
                   "stat calls of all ranks together"},
                  {"aggregate_read_per_second", "io_per_second", Better::higher,
                   "read calls of all ranks together"},
                  {"aggregate_unlink_per_second", "io_per_second", Better::higher,
                   "unlink calls of all ranks together"},
                  {"aggregate_bytes_per_second", "bytes_per_second", Better::higher,
                   "bytes of all ranks over the time of the slowest"},
                  {"media_errors", "count", Better::lower,
                   "errors that an NVMe drive's SMART log counted during the run (root only)"},
                  {"critical_warnings", "count", Better::lower,
                   "critical warnings that its SMART log shows after the run (root only)"}},
      .checks = {"data", "direct", "steady"},
      .fault = {.planted = said("fault.block"),
                .checks = {"data"},
                .brief = {{"duration", {"1s"}}, {"warm-up", {"0s"}}, {"steady", {"false"}}},
                .point_seconds = 3,
                // The files of metadata are read whatever the engine.
                .blind = {{"file", {}, said("fault.foreign_file")},
                          {"dry-run", {"true"}, said("fault.no_io")},
                          {"clean", {}, said("fault.no_io")},
                          {"workload", {"metadata"}, {}},
                          {"engine", {"null"}, said("fault.no_io")}}},
  };
}

std::vector<Record> run_one_place(Context& context, const Params& given) {
  const Params params = with_workload(given);
  const std::string workload = params.has("workload") ? params.text("workload") : "";
  if (workload == "metadata") return measure_metadata(context, params);
  if (workload == "mixed") return measure_mixed(context, given);
  if (workload == "memory-cache") return measure_memory_cache(context, params);
  return measure_target(context, params);
}

// Directory by directory. What a place's own loop over points finishes is finished here, once.
std::vector<Record> run_places(Context& context, const Params& given) {
  Context inner = context;
  inner.publisher = {};
  inner.finished = nullptr;
  const auto name = [&](const std::string& dir) { return PointName{given.with("dir", dir), dir}; };
  return run_points(context, "io", given.texts("dir"), name, [&](const std::string& dir) {
    return run_one_place(inner, given.with("dir", dir));
  });
}

std::vector<Record> run(Context& context, const Params& given) {
  if (given.has("clean")) return run_clean(context, given);
  require_faulty_rank(context, given);
  const bool several = given.has("dir") && given.texts("dir").size() > 1;
  return several ? run_places(context, given) : run_one_place(context, given);
}

void refuse_twice(const std::vector<std::string>& dirs, Problems& problems) {
  for (size_t i = 0; i < dirs.size(); ++i) {
    if (std::find(dirs.begin(), dirs.begin() + static_cast<long>(i), dirs[i]) !=
        dirs.begin() + static_cast<long>(i))
      problems.add("--dir", dirs[i] + " is given twice");
  }
}

void check(const Params& params, Problems& problems) {
  if (params.has("dir")) refuse_twice(params.texts("dir"), problems);
  io::check_params(with_workload(params), problems);
  if (!params.has("workload")) return;
  const std::string& workload = params.text("workload");
  if (params.has("file") && workload != "qd-sweep")
    problems.add("--workload", fmt::format("{} makes its own files: give --dir", workload));
  if (params.flag("shared-directory") && workload != "metadata")
    problems.add("--shared-directory", "is for --workload metadata");
  if (workload == "kv-cache" && !params.has("rate"))
    problems.add("--rate",
                 "is needed by kv-cache: requests per second per rank that the service "
                 "makes, whatever the storage answers");
}

}  // namespace

Case io_case() { return {describe(), run, check}; }

}  // namespace cb
