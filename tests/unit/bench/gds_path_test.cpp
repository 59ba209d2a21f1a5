#include "bench/gds/path.h"

#include <doctest/doctest.h>

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
  CHECK(judge(counters({}, 0), counters({}, 0), 1000).text.find("not loaded") != std::string::npos);
  CHECK(judge(counters(7, 0), counters(7, 0), 1000).path == Path::unproven);
  CHECK(judge(counters(7, 0), counters(7, 0, false), 1000).text.find("rw_stats_enabled") !=
        std::string::npos);
}
