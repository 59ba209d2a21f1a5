#include "bench/storage/io/run.h"

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <deque>
#include <limits>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/storage/io/worker.h"
#include "sys/cpu/affinity.h"
#include "sys/cpu/ticks.h"
#include "sys/storage/slot_buffers.h"

namespace cb::io {
namespace {

constexpr auto kTick = std::chrono::milliseconds(100);

// The operating-system threads of one run: starts them, lines them up, watches and joins them.
class WorkerThreads {
 public:
  WorkerThreads(Shared& shared, Engine engine) : shared_(shared), engine_(engine) {
    const unsigned each = engine == Engine::threads ? shared.job.queue_depth : 1;
    for (unsigned t = 0; t < shared.job.threads; ++t) {
      feeds_.emplace_back(OpSource(shared.job, t));
      if (shared.job.rate > 0) {
        feeds_.back().due_step = shared.job.threads / shared.job.rate;
        feeds_.back().first_due = t / shared.job.rate;
      }
      for (unsigned i = 0; i < each; ++i) workers_.emplace_back(shared, feeds_.back(), each > 1);
    }
  }

  ~WorkerThreads() {
    shared_.stop = true;
    release();
    for (std::thread& t : threads_) t.join();
  }
  WorkerThreads(const WorkerThreads&) = delete;
  WorkerThreads& operator=(const WorkerThreads&) = delete;

  // Starts the threads and returns when each is ready or has failed.
  void line_up() {
    for (Worker& w : workers_) threads_.emplace_back([this, &w] { work(w); });
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ready_ + ended_ >= workers_.size(); });
  }

  void release() {
    const std::lock_guard lock(mutex_);
    released_ = true;
    changed_.notify_all();
  }

  // Returns true when all threads have ended, false after a tick.
  bool wait_a_tick() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kTick, [&] { return ended_ == workers_.size(); });
  }

  std::deque<Worker>& workers() { return workers_; }
  std::deque<OpQueue>& feeds() { return feeds_; }

 private:
  void work(Worker& worker) {
    bool lined_up = false;
    if (!shared_.job.cpus.empty()) bind_thread(shared_.job.cpus);
    double cpu_before = 0;
    const auto start = [&] {
      std::unique_lock lock(mutex_);
      lined_up = true;
      ++ready_;
      changed_.notify_all();
      changed_.wait(lock, [&] { return released_; });
      cpu_before = thread_busy_seconds();
    };
    try {
      if (engine_ == Engine::io_uring) {
        work_with_uring(worker, start);
      } else if (engine_ == Engine::null) {
        work_with_nothing(worker, start);
      } else {
        work_with_blocking_calls(worker, start);
      }
    } catch (...) {
      worker.failure = std::current_exception();
      shared_.stop = true;
    }
    worker.cpu_seconds = thread_busy_seconds() - cpu_before;
    const std::lock_guard lock(mutex_);
    if (lined_up) --ready_;
    ++ended_;
    changed_.notify_all();
  }

  Shared& shared_;
  Engine engine_;
  std::deque<OpQueue> feeds_;  // deques, since neither type can be moved
  std::deque<Worker> workers_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t ready_ = 0;
  size_t ended_ = 0;
  bool released_ = false;
};

// Calls before_start() exactly once, even if the set-up throws.
void line_up_then(WorkerThreads& crew, const std::function<void()>& before_start) {
  std::exception_ptr failure;
  try {
    crew.line_up();
  } catch (...) {
    failure = std::current_exception();
  }
  before_start();
  if (failure) std::rethrow_exception(failure);
}

double share_done(const Shared& shared, uint64_t finished, double start) {
  if (shared.job.seconds) return (shared.clock.now() - start) / (shared.count_until.load() - start);
  return static_cast<double>(finished) / static_cast<double>(shared.job.file_bytes);
}

// The main thread of a run: watches the workers and what the other ranks' runs want.
class Supervisor {
 public:
  Supervisor(WorkerThreads& crew, Shared& shared, const CancelToken& cancel, const RunHooks& hooks)
      : crew_(crew), shared_(shared), cancel_(cancel), hooks_(hooks) {
    if (shared.job.steady_round > 0)
      conditioning_.emplace(shared.job.steady_round, shared.start + shared.job.warm_up_seconds);
  }

  void watch() {
    while (!crew_.wait_a_tick()) {
      if (cancel_.cancelled()) shared_.stop = true;
      const uint64_t finished = count();
      if (waiting()) conditioning_->look(shared_.clock.now(), finished);
      const RunState all = hooks_.consult(state());
      if (all >= RunState::stop) {
        told_to_stop_ = told_to_stop_ || !shared_.stop;
        shared_.stop = true;
      } else if (all <= RunState::working && waiting()) {
        begin_counting();
      }
      tell(finished);
    }
    if (cancel_.cancelled()) throw Interrupted();
  }

  bool told_to_stop() const { return told_to_stop_; }
  const std::optional<Conditioning>& conditioning() const { return conditioning_; }

 private:
  bool waiting() const { return conditioning_ && std::isinf(shared_.count_from.load()); }

  RunState state() const {
    if (shared_.stop) return RunState::stop;
    return waiting() && !conditioning_->over() ? RunState::unsteady : RunState::working;
  }

  // Sets the end first: a worker that sees the beginning must see the end too.
  void begin_counting() {
    const double now = shared_.clock.now();
    shared_.count_until = now + *shared_.job.seconds;
    shared_.count_from = now;
  }

  uint64_t count() {
    uint64_t finished = 0;
    for (const Worker& w : crew_.workers()) finished += w.told();
    return finished;
  }

  void tell(uint64_t finished) {
    if (finished == seen_) return;
    seen_ = finished;
    const double share = waiting() ? static_cast<double>(conditioning_->rounds()) /
                                         static_cast<double>(kMaxSteadyRounds + 1)
                                   : share_done(shared_, finished, shared_.start);
    hooks_.progress(std::min(1.0, share));
  }

  WorkerThreads& crew_;
  Shared& shared_;
  const CancelToken& cancel_;
  const RunHooks& hooks_;
  std::optional<Conditioning> conditioning_;
  bool told_to_stop_ = false;
  uint64_t seen_ = 0;
};

// A failed request becomes part of the result. Any other exception passes on.
void note_failure(RunResult& out, const std::exception_ptr& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (const IoError& e) {
    if (!out.failure) out.failure = said_by(e);
  }
}

// What each thread of the job did. With blocking calls a thread of the job has several workers.
std::vector<ThreadWork> shares_of(WorkerThreads& crew, double count_from) {
  std::vector<ThreadWork> out(crew.feeds().size());
  const size_t each = crew.workers().size() / out.size();
  for (size_t i = 0; i < crew.workers().size(); ++i) {
    const Worker& w = crew.workers()[i];
    ThreadWork& share = out[i / each];
    share.bytes += w.tally[0].bytes + w.tally[1].bytes;
    share.done = std::max(share.done, w.last - count_from);
  }
  return out;
}

RunResult collect(WorkerThreads& crew, const Shared& shared, const Supervisor& supervisor) {
  RunResult out;
  for (Worker& w : crew.workers()) {
    if (w.failure) note_failure(out, w.failure);
    for (size_t d = 0; d < 2; ++d) {
      out.tally[d].merge(w.tally[d]);
      out.bytes[d] += w.bytes[d];
    }
    out.finished_ios += w.finished_ios;
    out.system_calls += w.system_calls;
    out.cpu_seconds += w.cpu_seconds;
    out.blocks_checked += w.blocks_checked;
    if (w.wrong && !out.wrong) out.wrong = w.wrong;
  }
  for (const OpQueue& feed : crew.feeds()) out.issued.push_back(feed.source.issued());
  out.engine = crew.workers().front().how;
  out.clock = shared.clock.how();
  out.stopped = supervisor.told_to_stop();
  out.fault_left = shared.spoil_read || (shared.faulty_write && !shared.write_spoilt);
  out.conditioning = supervisor.conditioning();
  const double from = std::min(shared.count_from.load(), shared.clock.now());
  out.lead = from - shared.start;
  out.threads = shares_of(crew, from);
  out.elapsed = shared.job.seconds && !out.partial() ? *shared.job.seconds : out.last_done();
  if (!out.wrong && !out.partial()) shared.clock.check();
  if (!out.wrong && !out.partial() && out.tally[0].ios + out.tally[1].ios == 0)
    throw Error(said("io.none_on_file", shared.file.path));
  return out;
}

void schedule(Shared& shared) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const Job& job = shared.job;
  shared.start = shared.clock.now();
  const double from = job.steady_round > 0 ? kNever : shared.start + job.warm_up_seconds;
  shared.count_from = from;
  shared.count_until = job.seconds ? from + *job.seconds : kNever;
}

// A job that reads and writes gets a fault in what it reads: every block read can be compared. If
// none is read, reading back plants it.
void plant_fault(Shared& shared) {
  if (!shared.job.faulty) return;
  if (shared.job.reads())
    shared.spoil_read = true;
  else
    shared.faulty_write = OpSource(shared.job, 0).next()->offset;
}

}  // namespace

double RunResult::first_done() const {
  const auto least =
      std::min_element(threads.begin(), threads.end(),
                       [](const ThreadWork& a, const ThreadWork& b) { return a.done < b.done; });
  return least == threads.end() ? 0 : least->done;
}

double RunResult::last_done() const {
  double out = 0;
  for (const ThreadWork& t : threads) out = std::max(out, t.done);
  return out;
}

const char* engine_name(Engine engine) {
  if (engine == Engine::null) return "null";
  return engine == Engine::io_uring ? "io_uring" : "threads";
}

RunResult run_job(const Job& job, const FileView& file, Engine engine, const FsRoot& fs,
                  const CancelToken& cancel, const RunHooks& hooks) {
  Shared shared{job, file, fs, TickClock(fs)};
  plant_fault(shared);
  WorkerThreads crew(shared, engine);
  line_up_then(crew, hooks.before_start);
  schedule(shared);
  crew.release();
  Supervisor supervisor(crew, shared, cancel, hooks);
  supervisor.watch();
  return collect(crew, shared, supervisor);
}

ReadBack read_back(const Job& job, const FileView& file, const std::vector<uint64_t>& issued,
                   unsigned every, const CancelToken& cancel,
                   const std::function<void(double)>& progress, bool spoil_first) {
  ReadBack out;
  const SlotBuffers buffer(1, job.block_bytes);
  for (unsigned t = 0; t < job.threads; ++t) {
    OpSource source(job, t);
    // After one pass the same blocks repeat.
    const uint64_t count = job.reads() ? issued[t] : std::min(issued[t], source.blocks());
    for (uint64_t i = 0; i < count; ++i) {
      const Op op = *source.next();
      if (op.direction != Direction::write || i % every != 0) continue;
      if (cancel.cancelled()) throw Interrupted();
      for (uint32_t done = 0; done < op.length;) {
        const ssize_t rc = ::pread(file.fd, buffer.slot(0) + done, op.length - done,
                                   static_cast<off_t>(op.offset + done));
        if (rc < 0 && errno == EINTR) continue;
        if (rc <= 0) throw request_error(Direction::read, op, file.path, rc < 0 ? errno : 0);
        done += static_cast<uint32_t>(rc);
      }
      if (spoil_first && out.blocks_checked == 0) spoil_block(buffer.slot(0), op.length);
      ++out.blocks_checked;
      out.wrong = file.pattern->check({buffer.slot(0), op.length}, op.offset, {job.generation});
      if (out.wrong) return out;
      progress(static_cast<double>(i) / static_cast<double>(count));
    }
  }
  return out;
}

}  // namespace cb::io
