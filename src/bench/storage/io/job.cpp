#include "bench/storage/io/job.h"

#include <fmt/format.h>

#include "core/units.h"

namespace cb::io {
namespace {

// The content check compares words of 8 bytes, see Pattern.
constexpr int64_t kWordBytes = 8;

int read_percent(const Params& params) {
  const std::string& rw = params.text("rw");
  if (rw == "randrw") return static_cast<int>(params.integer("rwmix"));
  return rw == "read" || rw == "randread" ? 100 : 0;
}

Order order_of(const Params& params) {
  if (!params.text("rw").starts_with("rand")) return Order::sequential;
  return params.text("distribution") == "zipf" ? Order::zipf : Order::random;
}

UringPoll poll_of(const Params& params) {
  const std::string& poll = params.text("poll");
  if (poll == "iopoll") return UringPoll::iopoll;
  return poll == "sqpoll" ? UringPoll::sqpoll : UringPoll::none;
}

}  // namespace

const char* direction_name(Direction direction) {
  return direction == Direction::read ? "read" : "write";
}

Job job_of(const Params& params) {
  const auto block = static_cast<uint64_t>(params.integer("block-size"));
  const auto size = static_cast<uint64_t>(params.integer("size"));
  Job job{.order = order_of(params),
          .read_percent = read_percent(params),
          .block_bytes = block,
          .file_bytes = size / block * block,
          .queue_depth = static_cast<unsigned>(params.integer("queue-depth")),
          .threads = static_cast<unsigned>(params.integer("threads")),
          .seed = static_cast<uint64_t>(params.integer("seed")),
          .zipf_theta = params.number("zipf-theta"),
          .reap = static_cast<unsigned>(params.integer("reap")),
          .poll = poll_of(params)};
  if (params.has("rate")) job.rate = params.number("rate");
  if (params.has("duration")) {
    job.seconds = params.number("duration");
    job.warm_up_seconds = params.number("warm-up");
  }
  if (params.flag("steady") && job.seconds) job.steady_round = params.number("round");
  job.verify_only = params.flag("verify-only");
  if (params.flag("verify") || job.verify_only) job.check_every = 1;
  return job;
}

std::string job_text(const Params& params) {
  return fmt::format("{} {}, queue depth {}, {} thread{}", params.text("rw"),
                     format_size(params.integer("block-size")), params.integer("queue-depth"),
                     params.integer("threads"), params.integer("threads") == 1 ? "" : "s");
}

namespace {

// Options that change nothing here: whoever gives one expects a measurement that is not made.
void refuse_idle_options(const Params& params, Problems& problems) {
  const bool workload = params.has("workload");
  const auto only = [&](bool acts, bool changed, const char* option, const char* with) {
    if (!acts && changed)
      problems.add(option, fmt::format("changes nothing here: it is for {}", with));
  };
  const bool mixes = !workload && params.text("rw") == "randrw";
  only(mixes, params.integer("rwmix") != 70, "--rwmix", "--rw randrw");
  only(mixes, params.texts("direction").size() == 1, "--direction", "--rw randrw");
  only(params.text("distribution") == "zipf", params.number("zipf-theta") != 1.1, "--zipf-theta",
       "--distribution zipf");
  only(params.flag("steady"), params.number("round") != 60, "--round", "--steady");
  only(workload && params.text("workload") == "metadata", params.integer("files") != 1000,
       "--files", "--workload metadata");
}

}  // namespace

void check_params(const Params& params, Problems& problems) {
  if (params.has("clean")) {
    if (params.has("dir") || params.has("file"))
      problems.add("--clean", "names the directory itself: without --dir and --file");
    if (params.has("inject-fault"))
      problems.add("--inject-fault", said("fault.nothing_measured", "--clean"));
    return;
  }
  const Job job = job_of(params);
  const bool dir = params.has("dir"), file = params.has("file");
  if (params.flag("verify-only") && (!file || job.writes()))
    problems.add("--verify-only", "reads a kept file: give --file F and --rw read");
  if (params.flag("keep") && !dir)
    problems.add("--keep", "is for files that this run makes: give --dir");
  if (file && params.has("inject-fault"))
    problems.add("--inject-fault", "spoils only what this run makes itself: give --dir");
  const bool metadata = params.has("workload") && params.text("workload") == "metadata";
  if (params.text("engine") == "null" && !metadata && params.has("inject-fault"))
    problems.add("--inject-fault", said("fault.null_engine"));
  if (params.flag("dry-run") && params.has("inject-fault"))
    problems.add("--inject-fault", said("fault.nothing_measured", "--dry-run"));
  if (dir == file)
    problems.add("--dir", dir ? "cannot be given together with --file: one of the two"
                              : "is needed: a directory to create files in (or --file F to read an "
                                "existing file)");
  if (file && job.writes() && !params.flag("allow-overwrite") && !params.has("allow-raw-write"))
    problems.add("--file", fmt::format("is never written with --rw {} unless --allow-overwrite is "
                                       "given (for a device --allow-raw-write SERIAL); its content "
                                       "would be lost",
                                       params.text("rw")));
  if (params.has("allow-raw-write") && !file)
    problems.add("--allow-raw-write", "is for a block device named with --file");
  if (file && params.flag("verify") && !job.writes())
    problems.add("--verify",
                 "cannot check a file whose content is not known; use --dir instead of --file");
  if (params.integer("block-size") % kWordBytes != 0)
    problems.add("--block-size", "must be a multiple of 8 bytes");
  if (dir && job.blocks() < job.threads)
    problems.add("--size", fmt::format("{} is fewer than one block of {} for each of {} thread{}",
                                       format_size(params.integer("size")),
                                       format_size(params.integer("block-size")), job.threads,
                                       job.threads == 1 ? "" : "s"));
  if (params.flag("shared-file") && !dir)
    problems.add("--shared-file", "is made by the ranks themselves: give --dir");
  if (params.flag("shared-file") && params.has("workload") && params.text("workload") == "mixed")
    problems.add("--shared-file",
                 "is not for mixed: its data set and checkpoint are one file each");
  if (params.flag("steady") && !params.has("duration"))
    problems.add("--steady", "counts for a time from the steady state on: give --duration");
  if (params.integer("reap") > params.integer("queue-depth"))
    problems.add("--reap", fmt::format("{} completions can never be there with --queue-depth {}",
                                       params.integer("reap"), params.integer("queue-depth")));
  if (params.has("rate") && params.integer("reap") > 1)
    problems.add("--reap", "above 1 would delay the requests that --rate plans");
  if (params.has("duration") && params.number("duration") <= 0)
    problems.add("--duration", "must be longer than 0; leave it out to be bounded by --size");
  refuse_idle_options(params, problems);
}

}  // namespace cb::io
