#include "bench/storage/io/run.h"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/storage/io/directory.h"
#include "bench/storage/io/measurement.h"
#include "bench/storage/io/timer_pace.h"
#include "sys/storage/slot_buffers.h"
#include "sys/storage/uring.h"
#include "tests/unit/sys/tree.h"

using namespace cb;
using namespace cb::io;
using namespace std::chrono_literals;

namespace {

// A file without a name, removed when it is closed.
Fd scratch_file() {
  char name[] = "/tmp/cb-io-run-XXXXXX";
  Fd fd(::mkstemp(name));
  REQUIRE(fd.get() >= 0);
  ::unlink(name);
  return fd;
}

std::vector<Engine> engines() {
  std::vector<Engine> out{Engine::threads};
  // In a sandbox without io_uring there is one engine to test.
  if (!why_no_uring(8, FsRoot())) out.push_back(Engine::io_uring);
  return out;
}

RunResult go(const Job& job, const FileView& view, Engine engine, const FsRoot& fs = FsRoot()) {
  const CancelToken cancel;
  return run_job(job, view, engine, fs, cancel, {});
}

Job job_for(Order order, int read_percent, unsigned generation) {
  return {.order = order,
          .read_percent = read_percent,
          .block_bytes = 4096,
          .file_bytes = 333 * 4096,
          .queue_depth = 8,
          .threads = 3,
          .check_every = 1,
          .generation = generation};
}

// `blocks` requests, one at a time, of a pipe that has each only when the one before is taken, and
// the last `pause` later; on a machine with that idle driver.
RunResult read_pipe(const std::string& idle_driver, uint64_t blocks,
                    std::chrono::milliseconds pause) {
  const test::Tree tree;
  tree.add("/sys/devices/system/cpu/cpuidle/current_driver", idle_driver);
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const Fd out(ends[0]), in(ends[1]);
  std::thread device([&] {
    const std::vector<char> block(4096);
    for (uint64_t i = 0; i < blocks; ++i) {
      for (int held = 1; held > 0; std::this_thread::yield())
        REQUIRE(::ioctl(out.get(), FIONREAD, &held) == 0);
      if (i + 1 == blocks) std::this_thread::sleep_for(pause);
      CHECK(::write(in.get(), block.data(), block.size()) == 4096);
    }
  });
  Job job = job_for(Order::sequential, 100, 1);
  job.file_bytes = blocks * 4096;
  job.threads = job.queue_depth = 1;
  const RunResult run = go(job, {out.get(), "pipe"}, Engine::io_uring, tree.fs());
  device.join();
  return run;
}

}  // namespace

TEST_CASE("both engines write the same bytes and each reads right what the other wrote") {
  const Pattern pattern({1, 5});
  for (const Engine writer : engines()) {
    const Fd fd = scratch_file();
    const FileView view{fd.get(), "scratch", &pattern, true};
    const RunResult written =
        go(job_for(Order::random, 0, Pattern::kPrepared), {fd.get(), "scratch", &pattern}, writer);
    CHECK(written.of(Direction::write).ios == 333);
    CHECK(written.of(Direction::write).bytes == 333 * 4096);
    CHECK(written.of(Direction::write).latency.count() == 333);
    CHECK(written.of(Direction::read).ios == 0);

    std::vector<std::byte> whole(333 * 4096), expected(333 * 4096);
    REQUIRE(::pread(fd.get(), whole.data(), whole.size(), 0) == static_cast<ssize_t>(whole.size()));
    pattern.fill(expected, 0, Pattern::kPrepared);
    CHECK(whole == expected);

    for (const Engine reader : engines()) {
      for (const Order order : {Order::sequential, Order::random}) {
        const RunResult read = go(job_for(order, 100, 1), view, reader);
        CHECK_FALSE(read.wrong);
        CHECK(read.blocks_checked == 333);
        CHECK(read.of(Direction::read).bytes == 333 * 4096);
      }
    }
  }
}

TEST_CASE("one wrong byte in the file is found, with its offset, by both engines") {
  const Pattern pattern({1, 5});
  const Fd fd = scratch_file();
  const FileView view{fd.get(), "scratch", &pattern, true};
  go(job_for(Order::sequential, 0, Pattern::kPrepared), view, Engine::threads);
  const uint64_t at = 100 * 4096 + 640;
  std::byte byte{};
  REQUIRE(::pread(fd.get(), &byte, 1, static_cast<off_t>(at)) == 1);
  byte ^= std::byte{1};
  REQUIRE(::pwrite(fd.get(), &byte, 1, static_cast<off_t>(at)) == 1);
  for (const Engine engine : engines()) {
    const RunResult read = go(job_for(Order::random, 100, 1), view, engine);
    REQUIRE(read.wrong);
    CHECK(read.wrong->offset == at);
  }
}

TEST_CASE("a fault for which a mixed run had no read is planted where it is read back") {
  const Pattern pattern({1, 5});
  const Fd fd = scratch_file();
  const FileView view{fd.get(), "scratch", &pattern, true};
  go(job_for(Order::sequential, 0, Pattern::kPrepared), view, Engine::threads);
  Job mixed = job_for(Order::random, 1, Pattern::kWritten);
  mixed.file_bytes = 8 * 4096;  // none of the eight requests is a read
  mixed.faulty = true;
  for (const Engine engine : engines()) {
    const RunResult run = go(mixed, view, engine);
    REQUIRE(run.of(Direction::read).ios == 0);
    CHECK_FALSE(run.wrong);
    CHECK(run.fault_left);
    const CancelToken cancel;
    const auto back = [&](bool spoil_first) {
      return read_back(
          mixed, view, run.issued, 1, cancel, [](double) {}, spoil_first);
    };
    CHECK_FALSE(back(false).wrong);
    const ReadBack spoilt = back(true);
    REQUIRE(spoilt.wrong);
    CHECK(spoilt.blocks_checked == 1);
    CHECK(spoilt.wrong->damage == Damage::bit_flip);
  }
}

TEST_CASE("a fault that was planted as a block was read or written is not left") {
  const Pattern pattern({1, 5});
  for (const Engine engine : engines()) {
    for (const int read_percent : {100, 50, 0}) {
      const Fd fd = scratch_file();
      const FileView view{fd.get(), "scratch", &pattern, true};
      go(job_for(Order::sequential, 0, Pattern::kPrepared), view, engine);
      Job job = job_for(Order::random, read_percent, Pattern::kWritten);
      CHECK_FALSE(go(job, view, engine).fault_left);  // none was asked for
      go(job_for(Order::sequential, 0, Pattern::kPrepared), view, engine);
      job.faulty = true;
      const RunResult run = go(job, view, engine);
      CHECK_FALSE(run.fault_left);
      CHECK(run.wrong.has_value() == (read_percent > 0));
    }
  }
}

TEST_CASE("a fault that found no block at all is an error: it says nothing of the check") {
  Measurement m;
  CHECK_NOTHROW(require_planted(m));
  m.run.fault_left = true;
  CHECK_THROWS_WITH_AS(require_planted(m), doctest::Contains("the fault was not planted"), Error);
  m.read_back.blocks_checked = 1;
  CHECK_NOTHROW(require_planted(m));
}

TEST_CASE("a mixed run reads and writes, and what it wrote reads back as written") {
  const Pattern pattern({1, 5});
  for (const Engine engine : engines()) {
    const Fd fd = scratch_file();
    const FileView view{fd.get(), "scratch", &pattern, true};
    go(job_for(Order::sequential, 0, Pattern::kPrepared), view, engine);
    const Job mixed = job_for(Order::random, 50, Pattern::kWritten);
    const RunResult run = go(mixed, view, engine);
    CHECK_FALSE(run.wrong);
    const uint64_t writes = run.of(Direction::write).ios;
    CHECK(run.of(Direction::read).ios + writes == 333);
    const CancelToken cancel;
    ReadBack back = read_back(mixed, view, run.issued, 1, cancel, [](double) {});
    CHECK_FALSE(back.wrong);
    CHECK(back.blocks_checked == writes);

    // A write that the device lost: the old content stands where a written block is expected.
    std::vector<std::byte> old(333 * 4096);
    pattern.fill(old, 0, Pattern::kPrepared);
    REQUIRE(::pwrite(fd.get(), old.data(), old.size(), 0) == static_cast<ssize_t>(old.size()));
    back = read_back(mixed, view, run.issued, 1, cancel, [](double) {});
    REQUIRE(back.wrong);
    CHECK(back.wrong->damage == Damage::stale);
  }
}

TEST_CASE("a file that ends early is an error naming file and offset, not a number") {
  for (const Engine engine : engines()) {
    const Fd fd = scratch_file();
    REQUIRE(::ftruncate(fd.get(), 10 * 4096) == 0);
    const RunResult run = go(job_for(Order::sequential, 100, 1), {fd.get(), "short.dat"}, engine);
    REQUIRE(run.failure);
    CHECK(run.failure->text().find("of short.dat failed: end of file") != std::string::npos);
    CHECK(run.failure->text().find("at offset") != std::string::npos);
    CHECK(run.finished_ios <= 10);  // what was done until then is still known
    CHECK(run.bytes[0] == run.finished_ios * 4096);
  }
}

TEST_CASE("a failing device is an error with the kernel's reason") {
  const Fd full(::open("/dev/full", O_RDWR));
  REQUIRE(full.get() >= 0);
  const Pattern pattern({1, 5});
  for (const Engine engine : engines()) {
    const RunResult run =
        go(job_for(Order::sequential, 0, 1), {full.get(), "/dev/full", &pattern}, engine);
    REQUIRE(run.failure);
    CHECK(run.failure->text().find("No space left on device (ENOSPC); next: free space") !=
          std::string::npos);
  }
}

TEST_CASE("the null engine makes every request of the order and none of them happens") {
  const Pattern pattern({1, 5});
  const Job job = job_for(Order::random, 70, 1);
  const RunResult run = go(job, {-1, "nothing", &pattern}, Engine::null);
  CHECK(run.of(Direction::read).ios + run.of(Direction::write).ios == 333);
  CHECK(run.of(Direction::read).latency.count() == run.of(Direction::read).ios);
  CHECK(run.finished_ios == 333);
  CHECK(run.cpu_seconds > 0);
}

TEST_CASE("with a rate requests are planned: no more than that, and waiting for a turn counts") {
  const Fd fd = scratch_file();
  REQUIRE(::ftruncate(fd.get(), 333 * 4096) == 0);
  Job job = job_for(Order::random, 100, 1);
  job.seconds = 1;
  job.rate = 200;
  for (const Engine engine : engines()) {
    const RunResult run = go(job, {fd.get(), "scratch"}, engine);
    CHECK(run.of(Direction::read).ios <= 200);
    CHECK(run.of(Direction::read).ios > 0);
  }
  // A plan that no device keeps: the queue grows, and so does the time from the plan to the end. A
  // run that was put aside for most of its time shows nothing, so it may be tried again.
  job.seconds = 0.3;
  job.rate = 1e9;
  double longest = 0;
  for (int tries = 0; tries < 10 && longest <= 0.1; ++tries) {
    try {
      longest = go(job, {fd.get(), "scratch"}, Engine::threads).of(Direction::read).latency.max();
    } catch (const Error&) {  // no request ended in its time
      longest = 0;
    }
  }
  CHECK(longest > 0.1);
}

TEST_CASE("a cancelled run ends at once and says so; before_start is called all the same") {
  const Fd fd = scratch_file();
  REQUIRE(::ftruncate(fd.get(), 333 * 4096) == 0);
  Job job = job_for(Order::random, 100, 1);
  job.seconds = 60;
  for (const Engine engine : engines()) {
    CancelToken cancel;
    int started = 0;
    RunHooks hooks;
    hooks.before_start = [&] {
      ++started;
      cancel.cancel();
    };
    CHECK_THROWS_AS(run_job(job, {fd.get(), "scratch"}, engine, FsRoot(), cancel, hooks),
                    Interrupted);
    CHECK(started == 1);
  }
}

TEST_CASE("a run bounded by time lasts that long and counts only it") {
  const Fd fd = scratch_file();
  REQUIRE(::ftruncate(fd.get(), 333 * 4096) == 0);
  Job job = job_for(Order::random, 100, 1);
  job.seconds = 1;
  job.warm_up_seconds = 0.5;
  for (const Engine engine : engines()) {
    const RunResult run = go(job, {fd.get(), "scratch"}, engine);
    CHECK(run.elapsed == 1);
    CHECK(run.bytes[0] > run.of(Direction::read).bytes);  // the warm-up is not counted
    CHECK(run.of(Direction::read).bytes > 0);
  }
}

TEST_CASE("every slot of the buffers begins on a page") {
  const SlotBuffers buffers(5, 5000);
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  for (size_t i = 0; i < 5; ++i) {
    CHECK(reinterpret_cast<uintptr_t>(buffers.slot(i)) % page == 0);
    CHECK(buffers.slot(i) + 5000 <= buffers.whole().data() + buffers.whole().size());
  }
  CHECK(buffers.slot(1) - buffers.slot(0) >= 5000);
}

TEST_CASE("large buffers begin on a huge page, and all of their memory can be written") {
  constexpr size_t kHuge = size_t{2} << 20;
  for (const size_t slots : {4, 5, 16, 17}) {  // of 256 KiB: 1 MiB, a bit more, 4 MiB, a bit more
    const SlotBuffers buffers(slots, 256 << 10);
    CHECK(reinterpret_cast<uintptr_t>(buffers.slot(0)) % kHuge == 0);
    CHECK(buffers.whole().size() == slots * (256 << 10));
    for (std::byte& b : buffers.whole()) b = std::byte{1};
  }
}

TEST_CASE("where idle stops the tick a timer keeps it, beside the requests and not among them") {
  if (engines().size() == 1) return;
  // A run that was put aside again and again has no timer, and one on a fast machine is over before
  // the second: so it is tried again, with more requests.
  uint64_t woken = 0, count = 5000;
  for (int tries = 0; tries < 8 && woken < 2; ++tries, count *= 2) {
    const RunResult kept = read_pipe("none", count, 0ms);
    CHECK(kept.engine.text().find("ms keeps the tick") != std::string::npos);
    CHECK(kept.finished_ios == count);
    CHECK(kept.of(Direction::read).latency.count() == count);
    woken = kept.system_calls - count;
  }
  CHECK(woken >= 2);  // by one timer after the other

  const RunResult left_alone = read_pipe("intel_idle", 5000, 0ms);
  CHECK(left_alone.engine.text().find("tick") == std::string::npos);
  CHECK(left_alone.finished_ios == 5000);
  CHECK(left_alone.system_calls == 5000);
}

TEST_CASE("no timer runs beside a device that answers late") {
  if (engines().size() == 1) return;
  CHECK(read_pipe("none", 1, 100ms).system_calls == 1);
  // The one that began when requests were many ends once, and is the last.
  const RunResult slower = read_pipe("none", 13, 100ms);
  CHECK(slower.system_calls <= 14);
  CHECK(slower.of(Direction::read).latency.max() > 0.08);
}

TEST_CASE("a timer begins and goes on while eight requests come back in its time") {
  TimerPace pace(0.003);
  CHECK_FALSE(pace.begin(7, 0.001));
  CHECK(pace.begin(8, 0.003));
  CHECK(pace.go_on(16, 0.006));
  CHECK_FALSE(pace.go_on(23, 0.009));
  CHECK_FALSE(pace.begin(30, 0.010));
  CHECK_FALSE(pace.begin(31, 0.0121));  // eight, but in more than its time
  CHECK(pace.begin(39, 0.015));
}

TEST_CASE("a run that others want to stop stops, says so, and gives what was done") {
  const Pattern pattern({1, 5});
  for (const Engine engine : engines()) {
    const Fd fd = scratch_file();
    const FileView view{fd.get(), "scratch", &pattern, true};
    go(job_for(Order::sequential, 0, Pattern::kPrepared), view, engine);
    Job endless = job_for(Order::random, 100, 1);
    endless.seconds = 3600;
    const CancelToken cancel;
    RunHooks hooks;
    hooks.consult = [](RunState) { return RunState::stop; };
    const RunResult run = run_job(endless, view, engine, FsRoot(), cancel, hooks);
    CHECK(run.stopped);
    CHECK(run.partial());
    CHECK_FALSE(run.failure);
    CHECK(run.finished_ios > 0);
    CHECK(run.elapsed < 60);  // what it was, not what was planned
  }
}

TEST_CASE("a run waits for a steady state of all before it counts") {
  const Pattern pattern({1, 5});
  const Fd fd = scratch_file();
  const FileView view{fd.get(), "scratch", &pattern, false};
  go(job_for(Order::sequential, 0, Pattern::kPrepared), view, Engine::threads);
  Job job = job_for(Order::random, 100, 1);
  job.seconds = 0.5;
  job.steady_round = 1000;  // never over in this test
  const CancelToken cancel;
  RunHooks hooks;
  int asked = 0;
  // The others' word counts: only when nobody is unsteady the counted time begins.
  hooks.consult = [&](RunState mine) {
    CHECK(mine == (asked < 3 ? RunState::unsteady : RunState::working));
    return ++asked < 3 ? RunState::unsteady : RunState::working;
  };
  const RunResult run = run_job(job, view, Engine::null, FsRoot(), cancel, hooks);
  CHECK(asked >= 3);
  REQUIRE(run.conditioning);
  CHECK_FALSE(run.conditioning->reached());
  CHECK(run.lead > 0.2);  // three looks
  CHECK(run.elapsed == 0.5);
}

TEST_CASE("each thread's part and time are known") {
  const Pattern pattern({1, 5});
  for (const Engine engine : engines()) {
    const Fd fd = scratch_file();
    const RunResult run = go(job_for(Order::sequential, 0, Pattern::kPrepared),
                             {fd.get(), "scratch", &pattern}, engine);
    REQUIRE(run.threads.size() == 3);
    for (const ThreadWork& t : run.threads) {
      CHECK(t.bytes == 111 * 4096);
      CHECK(t.done >= run.first_done());
      CHECK(t.done <= run.last_done());
    }
    CHECK(run.first_done() > 0);
    CHECK(run.elapsed == run.last_done());
    // While all worked: no more than all, and all at the end.
    const RateSeries& series = run.of(Direction::write).series;
    CHECK(series.bytes_until(run.first_done()) <= 333 * 4096);
    CHECK(series.bytes_until(run.last_done() + 1) == doctest::Approx(333 * 4096));
  }
}
