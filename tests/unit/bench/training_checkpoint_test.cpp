#include "bench/training/checkpoint.h"

#include <filesystem>
#include <fstream>
#include <numeric>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"
#include "sys/storage/file_stream.h"

namespace cb::training {
namespace {

namespace fs = std::filesystem;

class CheckpointFolder {
 public:
  CheckpointFolder() {
    std::string name = (fs::temp_directory_path() / "checkpoint-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~CheckpointFolder() { fs::remove_all(path); }
  fs::path slot(int n) const {
    return path / ("clusterbench-train-rank3." + std::to_string(n) + ".checkpoint");
  }
  fs::path path;
};

std::vector<float> numbers(float first) { return {first, first + 1, first + 2}; }

void save(Checkpoints& to, int64_t steps, float first) {
  const std::vector<float> a = numbers(first), b{first};
  to.save(steps, {a, b});
}

std::vector<float> loaded(const Checkpoints& from, int64_t steps) {
  std::vector<float> a(3), b(1);
  from.load(steps, {a, b});
  a.push_back(b[0]);
  return a;
}

void write_bytes(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

}  // namespace

TEST_CASE("a stream writes each byte to its place, by each way to the file") {
  const CheckpointFolder folder;
  const fs::path path = folder.path / "stream";
  constexpr size_t kHead = 5;
  // 1000: no direct write can be so long, so the file system refuses the first one.
  for (const size_t block : {size_t{1000}, size_t{4096}, size_t{16384}}) {
    for (const size_t bytes :
         {kHead, kHead + 1, block - 1, block, block + 1, 3 * block, 20 * block + 7}) {
      for (const int way : {0, 1, 2, 3}) {
        CAPTURE(block);
        CAPTURE(bytes);
        CAPTURE(way);
        std::string expected(bytes, '\0');
        for (size_t i = 0; i < bytes; ++i) expected[i] = static_cast<char>(i * 7 + i / 251);
        fill_file_atomically(path, [&](int fd) {
          FileStream stream(fd, path,
                            {.bytes = bytes,
                             .head_bytes = kHead,
                             .block_bytes = block,
                             .in_flight = 3,
                             .direct = way % 2 == 0,
                             .ring = way < 2},
                            FsRoot());
          for (size_t at = kHead; at < bytes; at += 700) stream.add(expected.substr(at, 700));
          stream.finish(expected.substr(0, kHead));
          const std::string how = stream.how().text();
          CHECK_MESSAGE((how.find("threads: pread and pwrite") != std::string::npos) ==
                            (way >= 2 || how.find("io_uring") == std::string::npos),
                        how);
          if (way % 2 == 1) CHECK(how.starts_with("direct") == false);
        });
        REQUIRE(read_file(path) == expected);
      }
    }
  }
}

TEST_CASE("a stream that runs into an error names the file and waits for what is being written") {
  const int full = ::open("/dev/full", O_RDWR | O_CLOEXEC);
  REQUIRE(full >= 0);
  const auto message = [&](bool ring) {
    try {
      FileStream stream(full, "/data/x", {.bytes = 40960, .block_bytes = 4096, .ring = ring},
                        FsRoot());
      stream.add(std::string(40960, 'x'));
      stream.finish("");
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  for (const bool ring : {true, false})
    CHECK(message(ring) ==
          "cannot write /data/x: No space left on device; next: make room there, or name another "
          "directory");
  ::close(full);
}

TEST_CASE("a checkpoint of several blocks is, byte for byte, header and arrays") {
  const CheckpointFolder folder;
  std::vector<float> a(2500000), b(1300001);
  std::iota(a.begin(), a.end(), 0.0F);
  std::iota(b.begin(), b.end(), 0.5F);
  Checkpoints to(folder.path, 3, "tiny");
  const Saved saved = to.save(10, {a, {}, b});
  CHECK(saved.host_seconds > 0);
  CHECK(saved.storage_seconds > 0);
  const auto bytes_of = [](const std::vector<float>& v) {
    return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float));
  };
  // As every earlier build wrote it.
  const std::string head = "clusterbench-checkpoint/1\n" + sha256_hex("tiny") +
                           "\n10\n3\n10000000 " + sha256_hex(bytes_of(a)) + "\n0 " +
                           sha256_hex("") + "\n5200004 " + sha256_hex(bytes_of(b)) + "\n";
  const std::string expected =
      head + "header " + sha256_hex(head) + "\nend\n" + bytes_of(a) + bytes_of(b);
  CHECK((read_file(folder.slot(0)) == expected));
  // And what they wrote is read.
  write_bytes(folder.slot(0), expected);
  std::vector<float> a2(a.size()), none, b2(b.size());
  to.load(10, {a2, none, b2});
  CHECK((a2 == a && b2 == b));
}

TEST_CASE("what a killed process left half written is removed by the training that goes on") {
  const CheckpointFolder folder;
  Checkpoints mine(folder.path, 3, "tiny");
  save(mine, 10, 1);
  const fs::path left = folder.slot(1).string() + ".77.partial";
  const fs::path of_another_rank = folder.path / "clusterbench-train-rank4.0.checkpoint.77.partial";
  write_bytes(left, "half");
  write_bytes(of_another_rank, "half");
  CHECK_THROWS_AS(mine.require_own(false), Error);
  CHECK(fs::exists(left));
  mine.require_own(true);
  CHECK_FALSE(fs::exists(left));
  CHECK(fs::exists(of_another_rank));
  CHECK(mine.whole() == std::vector<int64_t>{10});
}

TEST_CASE("the two newest checkpoints stay and give back what was saved") {
  const CheckpointFolder folder;
  Checkpoints first(folder.path, 3, "tiny");
  CHECK(first.whole().empty());
  save(first, 10, 1);
  save(first, 20, 2);
  save(first, 30, 3);
  CHECK(first.whole() == std::vector<int64_t>{30, 20});
  CHECK(loaded(first, 20) == std::vector<float>{2, 3, 4, 2});
  // Another process goes on and overwrites the older one.
  Checkpoints second(folder.path, 3, "tiny");
  save(second, 40, 4);
  CHECK(second.whole() == std::vector<int64_t>{40, 30});
  CHECK(loaded(second, 40) == std::vector<float>{4, 5, 6, 4});
}

TEST_CASE("a file that is torn at any byte, or has a changed one, is no checkpoint") {
  const CheckpointFolder folder;
  Checkpoints all(folder.path, 3, "tiny");
  save(all, 10, 1);
  save(all, 20, 2);
  const std::string good = read_file(folder.slot(1));
  for (size_t length = 0; length < good.size(); ++length) {
    write_bytes(folder.slot(1), good.substr(0, length));
    REQUIRE(all.whole() == std::vector<int64_t>{10});
  }
  for (size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write_bytes(folder.slot(1), changed);
    REQUIRE(all.whole() == std::vector<int64_t>{10});
  }
  write_bytes(folder.slot(1), good + "x");
  CHECK(all.whole() == std::vector<int64_t>{10});
  CHECK_THROWS_AS(loaded(all, 20), Error);
  // The next one takes the place of the torn one.
  Checkpoints next(folder.path, 3, "tiny");
  next.require_own(true);
  save(next, 30, 3);
  CHECK(next.whole() == std::vector<int64_t>{30, 10});
}

TEST_CASE("a checkpoint of another training, rank or size is not read") {
  const CheckpointFolder folder;
  Checkpoints mine(folder.path, 3, "tiny");
  save(mine, 10, 1);
  CHECK(Checkpoints(folder.path, 3, "8B").whole().empty());
  CHECK(Checkpoints(folder.path, 2, "tiny").whole().empty());
  std::vector<float> a(4), b(1);
  CHECK_THROWS_AS(mine.load(10, {a, b}), Error);
  CHECK_THROWS_AS(mine.load(10, {b}), Error);
}

TEST_CASE("what is there is replaced only by the training that wrote it, and on its word") {
  const CheckpointFolder folder;
  Checkpoints mine(folder.path, 3, "tiny");
  CHECK_NOTHROW(mine.require_own(false));
  save(mine, 10, 1);
  CHECK_THROWS_AS(mine.require_own(false), Error);
  CHECK_NOTHROW(mine.require_own(true));
  CHECK_THROWS_AS(Checkpoints(folder.path, 3, "other").require_own(true), Error);
  write_bytes(folder.slot(0), "torn");
  CHECK_NOTHROW(mine.require_own(true));
  fs::remove(folder.slot(0));
  fs::create_symlink("/nowhere", folder.slot(0));
  CHECK_THROWS_AS(mine.require_own(false), Error);
}

TEST_CASE("of two runs that begin in one directory the second one saves nothing") {
  const CheckpointFolder folder;
  Checkpoints first(folder.path, 3, "tiny"), second(folder.path, 3, "tiny");
  CHECK_NOTHROW(second.require_own(false));
  save(first, 10, 1);
  CHECK_THROWS_AS(save(second, 10, 2), Error);
  save(first, 20, 3);
  CHECK(loaded(first, 10) == std::vector<float>{1, 2, 3, 1});
}

}  // namespace cb::training
