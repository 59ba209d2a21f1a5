// Two jobs on one storage at once, as when a training job saves its state and goes on reading. The
// reading counts from the barrier at which the checkpoint begins until it is durable on this rank.
#include "bench/storage/io/mixed.h"

#include <atomic>
#include <exception>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "bench/harness/points.h"
#include "bench/storage/io/records.h"
#include "bench/storage/io/session.h"
#include "bench/storage/io/workload.h"
#include "core/clock.h"

namespace cb::io {
namespace {

constexpr double kUntilStopped = 1e9;  // seconds

// Reads in a thread of its own from release() to finish().
class Background {
 public:
  Background(Context& context, Target& target, Measurement& m)
      : thread_([this, &context, &target, &m] { read(context, target, m); }) {}
  ~Background() {
    release();
    end();
  }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  void release() {
    if (!released_.exchange(true)) gate_.set_value();
  }
  bool failed() const { return failed_; }
  // Throws what the reading threw.
  void finish() {
    end();
    if (error_) std::rethrow_exception(error_);
  }

 private:
  void end() {
    stop_ = true;
    if (thread_.joinable()) thread_.join();
  }

  void read(Context& context, Target& target, Measurement& m) {
    try {
      Job job = target.job();
      job.seconds = kUntilStopped;
      job.warm_up_seconds = 0;
      job.steady_round = 0;
      RunHooks hooks;
      hooks.before_start = [this] { gate_.get_future().wait(); };
      hooks.consult = [this](RunState mine) { return stop_ ? RunState::stop : mine; };
      m.run = run_job(job, target.view(), m.choice.engine, context.fs, context.cancel, hooks);
      // The stop is this run's planned end.
      m.run.stopped = false;
      m.run.elapsed = m.run.last_done();
    } catch (...) {
      error_ = std::current_exception();
    }
    failed_ = error_ != nullptr || m.run.failure || m.run.wrong;
  }

  std::promise<void> gate_;
  std::atomic<bool> released_{false}, stop_{false}, failed_{false};
  std::exception_ptr error_;
  std::thread thread_;  // the last: it uses the others
};

// The checkpoint with the reading beside it; false: some rank could not.
bool run_both(Context& context, const Params& params, Target& reader, Target& writer,
              Measurement& reading, Measurement& writing) {
  return all_well_together(context, [&](Agreement& agreement) {
    reading.read_before = bytes_read_from_storage();
    Background background(context, reader, reading);
    RunHooks hooks = hooks_of(context, "a checkpoint beside the reading", &agreement);
    hooks.before_start = [&] {
      context.comm.barrier();
      background.release();
    };
    hooks.consult = [&](RunState mine) {
      return agreement.exchange(background.failed() ? RunState::stop : mine);
    };
    writing.run = run_job(writer.job(), writer.view(), writing.choice.engine, context.fs,
                          context.cancel, hooks);
    if (!writing.run.partial()) make_durable(context, writer, params, writing);
    background.finish();
    reading.read_after = bytes_read_from_storage();
    return !writing.run.failure && !reading.run.failure && !reading.run.wrong;
  });
}

void add_share(Record& disturbed, const Record& alone) {
  const Metric* now = disturbed.find("bytes_per_second");
  const Metric* before = alone.find("bytes_per_second");
  if (now == nullptr || before == nullptr) return;
  const double whole = before->samples.summary().mean;
  if (!(whole > 0)) return;
  disturbed.add("share_of_undisturbed", now->entity, {now->samples.summary().mean / whole});
}

// The reading alone, then beside a checkpoint: two points.
class MixedRun {
 public:
  MixedRun(Context& context, const Params& params, Params reads, Params writes, Target& reader,
           Target& writer, EngineChoice choice)
      : context_(context),
        params_(params),
        reads_(std::move(reads)),
        writes_(std::move(writes)),
        reader_(reader),
        writer_(writer),
        choice_(std::move(choice)) {}

  std::vector<Record> run() {
    const std::vector<PointName> points{{reads_, "reading alone"},
                                        {as_mixed(reads_), "reading beside a checkpoint"}};
    return run_points(context_, "io", points,
                      [&](size_t i) { return i == 0 ? read_alone() : read_beside(); });
  }

 private:
  static Params as_mixed(const Params& params) {
    return params.with("workload", std::string("mixed"));
  }

  // Collective, as is the other. A rank that failed throws, and the others have no record.
  std::vector<Record> read_alone() {
    Measurement m{.choice = choice_};
    std::vector<Record> records = measure(context_, reads_, reader_, m);
    if (records.empty()) return records;
    if (!context_.comm.any(m.run.failure.has_value() || m.run.wrong.has_value()))
      alone_ = records.front();
    return records;
  }

  // Without the reading alone there is nothing of which this one would be a share.
  std::vector<Record> nothing_to_compare() const {
    std::vector<Record> records;
    for (const auto& [params, direction] :
         {std::pair{&reads_, Direction::read}, std::pair{&writes_, Direction::write}})
      records.push_back({.case_name = "io",
                         .params = as_mixed(*params).with("direction", direction_name(direction)),
                         .outcome = Skipped{said("io.alone_failed")}});
    return records;
  }

  std::vector<Record> read_beside() {
    if (!alone_) return nothing_to_compare();
    const std::string started = utc_now();
    Measurement reading{.choice = choice_}, writing{.choice = choice_};
    if (!run_both(context_, params_, reader_, writer_, reading, writing) ||
        !all_well(context_, [&] {
          if (!writing.run.partial()) read_back_writes(context_, writer_, params_, writing);
        }))
      return {};
    const bool failed =
        context_.comm.any(writing.run.failure.has_value() || reading.run.failure.has_value());
    const auto record = [&](const Params& p, Target& target, const Measurement& m, Direction d) {
      Record out = failed ? failed_record(context_, as_mixed(p), target, m, d)
                          : record_of(context_, as_mixed(p), d, target, m);
      out.started = started;
      return out;
    };
    std::vector<Record> records{record(reads_, reader_, reading, Direction::read),
                                record(writes_, writer_, writing, Direction::write)};
    if (!failed) add_share(records.front(), *alone_);
    return records;
  }

  Context& context_;
  const Params& params_;
  Params reads_, writes_;
  Target &reader_, &writer_;
  EngineChoice choice_;
  std::optional<Record> alone_;  // of this rank; none where it failed on any rank
};

}  // namespace

std::vector<Record> measure_mixed(Context& context, const Params& params) {
  Params reads = params.with("workload", std::string("dataset-read"));
  reads.erase("model");  // the size of the checkpoint alone
  reads = with_workload(reads);
  const Params writes = with_workload(params.with("workload", std::string("checkpoint-write")));
  std::vector<std::unique_ptr<Target>> targets;
  Preparation ready;
  if (!prepare(context, {reads, writes}, targets, ready)) return {};
  if (!ready.dry_run.empty()) return ready.dry_run;
  Target &reader = *targets[0], &writer = *targets[1];
  std::vector<Record> records =
      MixedRun(context, params, reads, writes, reader, writer, ready.choice).run();
  all_well(context, [&] {
    reader.remove();
    writer.remove();
  });
  return records;
}

}  // namespace cb::io
