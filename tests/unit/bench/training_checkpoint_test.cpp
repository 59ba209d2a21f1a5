#include "bench/training/checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <numeric>
#include <thread>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <unistd.h>

#include "bench/training/rank_share.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"
#include "sys/cpu/numa.h"
#include "sys/storage/file_stream.h"
#include "thread_comm.h"

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

std::string raw_bytes(const std::vector<float>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)};
}

// A header with the right digest of itself.
std::string sealed(const std::string& head) {
  return head + "header " + sha256_hex(head) + "\nend\n";
}

// As builds wrote it before version 2: a digest of each array in the header, no list behind them.
std::string of_version_1(const std::string& identity, const std::vector<float>& a) {
  return sealed("clusterbench-checkpoint/1\n" + sha256_hex(identity) + "\n10\n1\n" +
                std::to_string(a.size() * sizeof(float)) + " " + sha256_hex(raw_bytes(a)) + "\n") +
         raw_bytes(a);
}

// What is told of damaged files.
std::vector<std::string> damages(const Checkpoints& of) {
  std::vector<std::string> out;
  of.whole([&](const Said& damage) { out.push_back(damage.text()); });
  return out;
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    return e.what();
  }
  return "none";
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

TEST_CASE("a checkpoint of several blocks is, byte for byte, header, arrays and list of digests") {
  const CheckpointFolder folder;
  std::vector<float> a(2500000), b(1048576);  // two pieces and a part of one, one whole piece
  std::iota(a.begin(), a.end(), 0.0F);
  std::iota(b.begin(), b.end(), 0.5F);
  Checkpoints to(folder.path, 3, "tiny");
  const Saved saved = to.save(10, {a, {}, b});
  CHECK(saved.host_seconds > 0);
  CHECK(saved.storage_seconds > 0);
  const std::string of_a = raw_bytes(a);
  constexpr size_t kPieceBytes = 4194304;
  const std::string list = sha256_hex(of_a.substr(0, kPieceBytes)) + "\n" +
                           sha256_hex(of_a.substr(kPieceBytes, kPieceBytes)) + "\n" +
                           sha256_hex(of_a.substr(2 * kPieceBytes)) + "\n" +
                           sha256_hex(raw_bytes(b)) + "\n";
  const std::string expected =
      sealed("clusterbench-checkpoint/2\n" + sha256_hex("tiny") +
             "\n10\n3\n10000000\n0\n4194304\npieces " + sha256_hex(list) + "\n") +
      of_a + raw_bytes(b) + list;
  CHECK((read_file(folder.slot(0)) == expected));
  // And what other builds of this version write is read.
  write_bytes(folder.slot(0), expected);
  std::vector<float> a2(a.size()), none, b2(b.size());
  to.load(10, {a2, none, b2});
  CHECK((a2 == a && b2 == b));
  CHECK(damages(to).empty());
}

TEST_CASE("a changed byte is told with the array and the piece that it is in") {
  const CheckpointFolder folder;
  const std::vector<float> a(2500000, 1.0F), b(1048576, 2.0F);
  Checkpoints to(folder.path, 3, "tiny");
  to.save(10, {a, b});
  const std::string good = read_file(folder.slot(0));
  const size_t data = good.find("end\n") + 4;
  const auto damaged_at = [&](size_t at) {
    std::string changed = good;
    changed[at] = static_cast<char>(changed[at] ^ 1);
    write_bytes(folder.slot(0), changed);
    CHECK(to.whole().empty());
    const std::vector<std::string> told = damages(to);
    return told.size() == 1 ? told.front() : std::to_string(told.size());
  };
  const auto message = [&](const std::string& what) {
    return folder.slot(0).string() + " is damaged and counts as no checkpoint: " + what +
           "; next: look at the kernel log and at the storage of this directory";
  };
  const auto piece = [&](int array, size_t begin, size_t end) {
    return message(
        fmt::format("bytes {} to {} of array {} are not what was written", begin, end, array));
  };
  CHECK(damaged_at(data) == piece(1, 0, 4194304));
  CHECK(damaged_at(data + 4194303) == piece(1, 0, 4194304));
  CHECK(damaged_at(data + 4194304) == piece(1, 4194304, 8388608));
  CHECK(damaged_at(data + 9999999) == piece(1, 8388608, 10000000));
  CHECK(damaged_at(data + 10000000) == piece(2, 0, 4194304));
  CHECK(damaged_at(data + 14194303) == piece(2, 0, 4194304));
  CHECK(damaged_at(data + 14194304) == message("its list of digests is not what was written"));
  CHECK(damaged_at(good.size() - 1) == message("its list of digests is not what was written"));
  CHECK(damaged_at(data - 1) == message("its header is not what was written"));
  // Of several the first is told.
  std::string both = good;
  both[data + 9999999] = both[data + 5000000] = 'x';
  write_bytes(folder.slot(0), both);
  CHECK(damages(to) == std::vector<std::string>{piece(1, 4194304, 8388608)});
}

TEST_CASE("a checkpoint of another version is refused, and stays") {
  const CheckpointFolder folder;
  const std::string old = of_version_1("tiny", numbers(1));
  write_bytes(folder.slot(1), old);
  const std::string expected =
      folder.slot(1).string() +
      " is a checkpoint of version 1 of the format, and this build has version 2; next: go on with "
      "a build that wrote it, or another --checkpoint-dir without --resume";
  CHECK(message_of([&] { const Checkpoints refused(folder.path, 3, "tiny"); }) == expected);
  fs::remove(folder.slot(1));
  // Put there by another run meanwhile.
  Checkpoints mine(folder.path, 3, "tiny");
  write_bytes(folder.slot(0), old);
  write_bytes(folder.slot(1), old);
  CHECK(message_of([&] {
          mine.require_own(true);
        }).ends_with(expected.substr(expected.find(" is "))));
  CHECK_THROWS_AS(save(mine, 10, 1), Error);
  CHECK(mine.whole().empty());
  CHECK(damages(mine).empty());
  CHECK((read_file(folder.slot(0)) == old && read_file(folder.slot(1)) == old));
}

TEST_CASE("a byte that changed in the version is damage, and costs no resume from the other file") {
  const CheckpointFolder folder;
  Checkpoints all(folder.path, 3, "tiny");
  save(all, 10, 1);
  save(all, 20, 2);
  const std::string good = read_file(folder.slot(1));
  const size_t at = good.find('/') + 1;
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '2') continue;
    std::string changed = good;
    changed[at] = static_cast<char>(byte);
    write_bytes(folder.slot(1), changed);
    Checkpoints next(folder.path, 3, "tiny");
    REQUIRE(next.whole() == std::vector<int64_t>{10});
    REQUIRE(damages(next).size() == 1);
    REQUIRE_NOTHROW(next.require_own(true));
  }
  // Of version 1, too.
  std::string old = of_version_1("tiny", numbers(1));
  old[at] = '3';
  write_bytes(folder.slot(1), old);
  CHECK_NOTHROW(Checkpoints(folder.path, 3, "tiny").require_own(true));
}

TEST_CASE("lengths that the file does not have are damage before anything is read") {
  const CheckpointFolder folder;
  Checkpoints mine(folder.path, 3, "tiny");
  const auto told_of = [&](const std::string& lengths, const std::string& behind) {
    write_bytes(folder.slot(0), sealed("clusterbench-checkpoint/2\n" + sha256_hex("tiny") +
                                       "\n10\n" + lengths + "pieces " + sha256_hex(behind) + "\n") +
                                    behind);
    CHECK(mine.whole().empty());
    const std::vector<std::string> told = damages(mine);
    return told.size() == 1 ? told.front() : std::to_string(told.size());
  };
  const auto length = [&] {
    return fmt::format("it has {} bytes, and its header tells of another length",
                       fs::file_size(folder.slot(0)));
  };
  for (const std::string hostile :
       {"1\n1152921504606846976\n", "1\n18446744073709551615\n", "1\n-4\n",
        "2\n18446744073709551612\n4\n", "3\n4\n4\n1152921504606846976\n", "1\n3\n"}) {
    CAPTURE(hostile);
    CHECK(told_of(hostile, "data").find(length()) != std::string::npos);
  }
  // More arrays than lengths, no number, too large a number.
  for (const std::string broken :
       {"1152921504606846976\n4\n", "1\nx\n", "1\n99999999999999999999\n", "-1\n4\n"}) {
    CAPTURE(broken);
    CHECK(told_of(broken, "data").find("its header is not what was written") != std::string::npos);
  }
  // No arrays at all are no damage: they are not those of a training.
  CHECK(mine.whole().empty());
}

TEST_CASE("a file that is cut in its data is told with the bytes that are left") {
  const CheckpointFolder folder;
  Checkpoints mine(folder.path, 3, "tiny");
  save(mine, 10, 1);
  fs::resize_file(folder.slot(0), fs::file_size(folder.slot(0)) - 1);
  const std::vector<std::string> told = damages(mine);
  REQUIRE(told.size() == 1);
  CHECK(told.front().find(fmt::format("it has {} bytes, and its header",
                                      fs::file_size(folder.slot(0)))) != std::string::npos);
}

TEST_CASE("without a further thread a checkpoint is written and read all the same") {
  const CheckpointFolder folder;
  const std::vector<float> a(2500000, 1.0F);
  Checkpoints mine(folder.path, 3, "tiny");
  pthread_attr_t before, huge;
  REQUIRE(pthread_getattr_default_np(&before) == 0);
  pthread_attr_init(&huge);
  REQUIRE(pthread_attr_setstacksize(&huge, size_t{1} << 50) == 0);
  REQUIRE(pthread_setattr_default_np(&huge) == 0);
  CHECK(message_of([&] { mine.save(10, {a}); }) == "none");
  CHECK(mine.whole() == std::vector<int64_t>{10});
  pthread_setattr_default_np(&before);
  pthread_attr_destroy(&huge);
  pthread_attr_destroy(&before);
}

TEST_CASE("a thread that is bound to one CPU gets the rank's share for a while, and its CPU back") {
  const std::vector<int> all = allowed_cpus();
  const RankMap place{
      .host = "a", .hosts = {"a"}, .host_of_rank = {0, 0}, .local_rank = 0, .local_size = 2};
  const size_t cores = read_machine().cores.size();
  ThreadGroup(2).run([&](Comm& comm) {
    const auto rank = static_cast<size_t>(comm.rank());
    const std::vector<int> mine{all[rank % all.size()]};
    bind_thread(mine);
    const std::vector<int> share = share_of_rank(comm, place, mine);
    CHECK(allowed_cpus() == mine);
    CHECK(share.size() >= std::max<size_t>(1, cores / 2));
    {
      const OnAllOfRank wide(share);
      CHECK(allowed_cpus() == share);
      std::vector<int> inherited;
      std::thread([&] { inherited = allowed_cpus(); }).join();
      CHECK(inherited == share);
    }
    CHECK(allowed_cpus() == mine);
    const OnAllOfRank nothing({});
    CHECK(allowed_cpus() == mine);
  });
}

TEST_CASE("a rank alone keeps to the CPUs that it was started on") {
  const std::vector<int> all = allowed_cpus();
  const RankMap place{.host = "a", .hosts = {"a"}, .host_of_rank = {0}};
  ThreadGroup(1).run([&](Comm& comm) {
    pin_this_thread(all.front());
    CHECK(share_of_rank(comm, place, {all.front()}) == std::vector<int>{all.front()});
    CHECK(share_of_rank(comm, place, all) == all);
  });
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
