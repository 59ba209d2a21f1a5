#include "bench/storage/gds/path.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "sys/storage/cufile.h"

using namespace cb::gds;

namespace {

Counters counters(std::optional<uint64_t> nvfs, uint64_t posix, bool on = true) {
  return {.nvfs = nvfs, .nvfs_counts = on, .posix_bytes = posix};
}

}  // namespace

TEST_CASE("requests that nvidia-fs has served") {
  CHECK(nvfs_requests("NVFS statistics(ver: 4.0)\n"
                      "Batches\t: n=3 ok=3 err=0 Avg-Submit-Latency(usec)=5\n"
                      "Reads\t: n=100 ok=99 err=1 readMiB=400 io_state_err=0\n"
                      "Reads\t: Bandwidth(MiB/s)=7 Avg-Latency(usec)=9\n"
                      "Sparse Reads\t: n=50 io=0 holes=0 pages=0\n"
                      "Writes\t: n=20 ok=20 err=0 writeMiB=80\n") == 123);
  CHECK_FALSE(nvfs_requests(""));
  CHECK_FALSE(nvfs_requests("IO stats: Disabled\n"));
}

TEST_CASE("compatibility mode is half of the bytes in read and write calls, or more") {
  CHECK(judge(counters(0, 0), counters(0, 500), 1000).path == Path::compatibility);
  CHECK(judge(counters(0, 0), counters(9, 500), 1000).path == Path::compatibility);
  CHECK(judge(counters(0, 0), counters(9, 499), 1000).path == Path::nvidia_fs);
  CHECK(*judge(counters(0, 100), counters(9, 599), 1000).posix_share == 0.499);
}

TEST_CASE("what is not counted is not proven") {
  CHECK(judge(counters({}, 0), counters({}, 0), 1000).path == Path::unproven);
  CHECK(judge(counters({}, 0), counters({}, 0), 1000).text.text().find("not loaded") !=
        std::string::npos);
  CHECK(judge(counters(7, 0), counters(7, 0), 1000).path == Path::unproven);
  CHECK(judge(counters(7, 0), counters(7, 0, false), 1000).text.text().find("rw_stats_enabled") !=
        std::string::npos);
}

namespace {

// The stand-in for cuFile, as a process with these two variables opens it.
class LostRequests {
 public:
  LostRequests() {
    const char* build = std::getenv("CLUSTERBENCH_BUILD_DIR");
    if (build == nullptr) return;
    const std::string library = std::string(build) + "/fake/fake_cufile.so";
    ::setenv("CLUSTERBENCH_CUFILE_LIBRARY", library.c_str(), 1);
    ::setenv("FAKE_CUFILE", "lost", 1);
    there_ = true;
  }
  ~LostRequests() {
    ::unsetenv("CLUSTERBENCH_CUFILE_LIBRARY");
    ::unsetenv("FAKE_CUFILE");
  }
  LostRequests(const LostRequests&) = delete;
  LostRequests& operator=(const LostRequests&) = delete;
  bool there() const { return there_; }

 private:
  bool there_ = false;
};

constexpr double kDeadline = 0.2;  // seconds

// What is thrown for requests that never come back, and that it is thrown in time.
template <typename Queue>
void check_lost(Queue& queue, const cb::cufile::File& file, const std::string& words) {
  std::vector<std::byte> memory(8192);
  const double start = cb::monotonic_seconds();
  try {
    queue.run(file, cb::cufile::Direction::read, memory.data(), 4096, {{12288, 0}, {16384, 4096}},
              kDeadline);
    FAIL("a lost request was taken for one that came back");
  } catch (const cb::Error& e) {
    CHECK(e.code() == cb::ExitCode::deadline);
    CHECK(std::string(e.what()).find(words) != std::string::npos);
  }
  const double seconds = cb::monotonic_seconds() - start;
  CHECK(seconds >= kDeadline);
  CHECK(seconds < kDeadline + 20);  // of a busy machine
}

}  // namespace

TEST_CASE(
    "a request that cuFile never finishes ends the wait at its deadline, with file and place") {
  const LostRequests lost;
  if (!lost.there()) return;  // not started by ctest
  const cb::cufile::Driver driver;
  const cb::cufile::File file(driver, 0, "rank0.dat");
  cb::cufile::StreamQueue stream(driver, nullptr);
  check_lost(stream, file, "request at offset 12288 of rank0.dat did not come back");
  cb::cufile::Batch batch(driver, 2);
  check_lost(batch, file, "batch on rank0.dat: 2 of 2 requests did not come back");
}
