#include "bench/storage/gds/path.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/descriptor.h"
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
class StandInCufile {
 public:
  explicit StandInCufile(const char* behaviour) {
    const char* build = std::getenv("CLUSTERBENCH_BUILD_DIR");
    if (build == nullptr) return;
    const std::string library = std::string(build) + "/fake/fake_cufile.so";
    ::setenv("CLUSTERBENCH_CUFILE_LIBRARY", library.c_str(), 1);
    ::setenv("FAKE_CUFILE", behaviour, 1);
    there_ = true;
  }
  ~StandInCufile() {
    ::unsetenv("CLUSTERBENCH_CUFILE_LIBRARY");
    ::unsetenv("FAKE_CUFILE");
  }
  StandInCufile(const StandInCufile&) = delete;
  StandInCufile& operator=(const StandInCufile&) = delete;
  bool there() const { return there_; }

 private:
  bool there_ = false;
};

// A page of one letter, opened as `io` opens files: no link is followed, no time of access changed.
class FileOf {
 public:
  explicit FileOf(char letter) {
    const cb::Descriptor made(::mkstemp(path_));
    const std::string text(4096, letter);
    REQUIRE(::write(made.get(), text.data(), text.size()) == 4096);
    own_ = cb::Descriptor(::open(path_, O_RDWR | O_NOFOLLOW | O_NOATIME | O_CLOEXEC));
    REQUIRE(own_.open());
  }
  ~FileOf() { ::unlink(path_); }
  FileOf(const FileOf&) = delete;
  FileOf& operator=(const FileOf&) = delete;
  const char* path() const { return path_; }
  int fd() const { return own_.get(); }

 private:
  char path_[32] = "/tmp/clusterbench-gds-XXXXXX";
  cb::Descriptor own_;
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
  const StandInCufile lost("lost");
  if (!lost.there()) return;  // not started by ctest
  const cb::cufile::Driver driver;
  const FileOf a('a');
  const cb::cufile::File file(driver, a.fd(), "rank0.dat");
  const std::string words = "request at offset 12288 of rank0.dat did not come back";
  {
    cb::cufile::StreamQueue stream(driver, nullptr);
    check_lost(stream, file, words);
  }
  {  // storage that does not answer keeps the stream busy: not the GPU is named
    cb::cufile::StreamQueue busy(driver, nullptr, [] {
      throw cb::Error("the GPU has not finished", cb::ExitCode::deadline);
    });
    check_lost(busy, file, words);
  }
  {
    std::vector<std::byte> memory(4096);
    cb::cufile::StreamQueue failed(driver, nullptr, [] { throw cb::Error("the GPU is lost"); });
    CHECK_THROWS_WITH(
        failed.run(file, cb::cufile::Direction::read, memory.data(), 4096, {{0, 0}}, 60),
        "the GPU is lost");
  }
  cb::cufile::Batch batch(driver, 2);
  check_lost(batch, file, "batch on rank0.dat: 2 of 2 requests did not come back");
}

TEST_CASE("cuFile gets the open file itself, without the flags that it refuses") {
  const StandInCufile direct("direct");
  if (!direct.there()) return;  // not started by ctest
  const cb::cufile::Driver driver;
  const FileOf a('a'), b('b');
  REQUIRE(::unlink(a.path()) == 0);
  REQUIRE(::symlink(b.path(), a.path()) == 0);  // what O_NOFOLLOW is for
  const cb::cufile::File file(driver, a.fd(), a.path());
  std::string memory(4096, ' ');
  file.transfer(cb::cufile::Direction::read, memory.data(), 4096, 0, 0);
  CHECK(memory == std::string(4096, 'a'));
  CHECK((::fcntl(a.fd(), F_GETFL) & O_NOFOLLOW) != 0);  // the caller's stays as it was
  try {
    const cb::cufile::File closed(driver, 1 << 20, "rank0.dat");
    FAIL("no such descriptor");
  } catch (const cb::Error& e) {
    CHECK(std::string(e.what()).find("cannot open rank0.dat again for cuFile") == 0);
  }
}

TEST_CASE("every error of cufile.h has its words") {
  using cb::cufile::error_text;
  CHECK(error_text(5001) == "5001 (nvidia-fs is not loaded)");
  CHECK(error_text(5019) == "5019 (the file was opened with a flag that cuFile does not take)");
  CHECK(error_text(5020) == "5020 (the file was not opened for direct IO)");
  CHECK(error_text(5030) == "5030 (internal error)");
  CHECK(error_text(5049) ==
        "5049 (compatibility mode is switched off and no direct path is there)");
  for (const int unknown : {0, 5000, 5021, 5032, 5050, -5001})
    CHECK(error_text(unknown) == std::to_string(unknown) + " (see cufile.h)");
  for (int error = 5001; error < 5050; ++error) {
    const bool known = error != 5021 && error != 5032;
    CHECK((error_text(error).find("see cufile.h") == std::string::npos) == known);
  }
}
