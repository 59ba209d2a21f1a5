#include "bench/harness/host_load.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

#include "core/file.h"
#include "model/disturbance.h"
#include "tests/unit/bench/thread_comm.h"

using namespace cb;

namespace {

struct ProcStat {
  std::filesystem::path root =
      std::filesystem::temp_directory_path() / ("host-load-" + std::to_string(::getpid()));
  explicit ProcStat(const std::string& line) {
    std::filesystem::create_directories(root / "proc");
    std::ofstream(root / "proc/stat") << line;
  }
  ~ProcStat() { std::filesystem::remove_all(root); }
};

}  // namespace

TEST_CASE("the first line of /proc/stat: programs and stolen time, and all there was") {
  const ProcStat tree("cpu  200 50 999 1000 11 7 8 25 0 0\ncpu0 1 1 1 1 1 1 1 1 1 1\n");
  const auto times = read_cpu_times(FsRoot(tree.root));
  REQUIRE(times);
  const auto hertz = static_cast<double>(::sysconf(_SC_CLK_TCK));
  CHECK(times->user == doctest::Approx(275 / hertz));
  CHECK(times->capacity == doctest::Approx(2300 / hertz));
}

TEST_CASE("what cannot be read is nothing, not zero") {
  CHECK_FALSE(read_cpu_times(FsRoot("/nonexistent")));
  const ProcStat tree("cpu 1 2 three\n");
  CHECK_FALSE(read_cpu_times(FsRoot(tree.root)));
}

TEST_CASE("of a captured machine, and of a moment, nothing is said") {
  const auto comm = single_comm();
  const RankMap place = locate_ranks(*comm, "n1");
  Record r{.case_name = "x"};
  r.metrics.push_back({.name = "m", .unit = "seconds", .entity = r.entity({"n1", "host", ""})});
  std::vector<Record> records{r};
  HostLoad(FsRoot("/nonexistent")).add_to(records, *comm, place);
  HostLoad(FsRoot("/")).add_to(records, *comm, place);
  CHECK(records[0].telemetry.deltas.empty());
  CHECK_FALSE(disturbed(records[0]));
}
