#include "bench/storage/io/directory.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <unistd.h>

#include "core/error.h"

using namespace cb;
using namespace cb::io;
namespace fs = std::filesystem;

namespace {

// A directory of the test's own.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "cb-io-test-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }
  ~Scratch() { fs::remove_all(path); }
  size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(path), {}));
  }
  fs::path path;
};

}  // namespace

TEST_CASE("what was made is removed, and nothing else") {
  const Scratch scratch;
  std::ofstream(scratch.path / "customer.dat") << "precious";
  {
    OwnDirectory own(scratch.path, "n1");
    own.create();
    own.create_file("rank0.dat", O_RDWR);
    own.create_file("rank1.dat", O_RDWR);
    CHECK(scratch.entries() == 2);
  }
  CHECK(scratch.entries() == 1);
  CHECK(fs::exists(scratch.path / "customer.dat"));
}

TEST_CASE("a foreign file in our directory stays, and the directory with it") {
  const Scratch scratch;
  OwnDirectory own(scratch.path, "n1");
  own.create();
  const Fd fd = own.create_file("rank0.dat", O_RDWR);
  const fs::path ours = own.path_of("rank0.dat");
  std::ofstream(ours.parent_path() / "foreign") << "x";
  CHECK_THROWS_AS(own.remove(), Error);
  CHECK_FALSE(fs::exists(ours));
  CHECK(fs::exists(ours.parent_path() / "foreign"));
}

TEST_CASE("a directory that was moved away and replaced by another is not removed") {
  const Scratch scratch;
  OwnDirectory own(scratch.path, "n1");
  own.create();
  const Fd fd = own.create_file("rank0.dat", O_RDWR);
  const fs::path dir = fs::path(own.path_of("rank0.dat")).parent_path();
  fs::rename(dir, scratch.path / "moved");
  fs::create_directory(dir);
  std::ofstream(dir / "rank0.dat") << "somebody else's";
  own.remove();
  CHECK(fs::exists(dir / "rank0.dat"));
  CHECK_FALSE(fs::exists(scratch.path / "moved" / "rank0.dat"));  // ours, by the open directory
}

TEST_CASE("what cannot be a directory to work in is refused with the reason") {
  const Scratch scratch;
  std::ofstream(scratch.path / "file") << "x";
  fs::create_symlink("loop2", scratch.path / "loop1");
  fs::create_symlink("loop1", scratch.path / "loop2");
  const auto message = [&](const char* name) -> std::string {
    try {
      const OwnDirectory own(scratch.path / name, "n1");
    } catch (const Error& e) {
      return e.what();
    }
    return "accepted";
  };
  CHECK(message("missing").find("No such file") != std::string::npos);
  CHECK(message("file").find("Not a directory") != std::string::npos);
  CHECK(message("loop1").find("symbolic links") != std::string::npos);
}

TEST_CASE("leftovers of earlier runs are named, those of living processes are not") {
  const Scratch scratch;
  const std::string mine = "clusterbench-io-n1-" + std::to_string(::getpid()) + "-00000001";
  fs::create_directory(scratch.path / mine);
  fs::create_directory(scratch.path / "clusterbench-io-n1-4194305-00000002");  // above pid_max
  fs::create_directory(scratch.path / "clusterbench-io-n2-1-00000003");        // another host
  fs::create_directory(scratch.path / "other");
  const OwnDirectory own(scratch.path, "n1");
  CHECK(own.leftovers() == std::vector<std::string>{"clusterbench-io-n1-4194305-00000002",
                                                    "clusterbench-io-n2-1-00000003"});
}

TEST_CASE("a file that is there already is never opened as ours") {
  const Scratch scratch;
  OwnDirectory own(scratch.path, "n1");
  own.create();
  const Fd first = own.create_file("rank0.dat", O_RDWR);
  CHECK_THROWS_AS(own.create_file("rank0.dat", O_RDWR), Error);
}
