#include "bench/training/checkpoint.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"

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
