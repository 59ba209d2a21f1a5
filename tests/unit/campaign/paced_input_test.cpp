#include "campaign/paced_input.h"

#include <chrono>
#include <cstdlib>
#include <fstream>

#include <doctest/doctest.h>
#include <unistd.h>

#include "campaign/executor.h"
#include "core/error.h"
#include "core/file.h"

using namespace cb;
namespace fs = std::filesystem;

namespace {

struct PacedFolder {
  PacedFolder() {
    std::string pattern = fs::temp_directory_path() / "cb-paced-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    top = pattern;
  }
  ~PacedFolder() { fs::remove_all(top); }
  PacedFolder(const PacedFolder&) = delete;
  PacedFolder& operator=(const PacedFolder&) = delete;

  TaskEnd run(const std::string& script, const std::string& input, size_t piece) const {
    std::ofstream(top / "in", std::ios::binary) << input;
    Task task;
    task.command.argv = {"sh", "-c", script};
    task.out = top / "out";
    task.err = top / "err";
    task.in = top / "in";
    task.piece = piece;
    task.deadline_seconds = 20;
    TaskEnd out;
    run_tasks({task}, {}, {[](size_t) {}, [&](size_t, const TaskEnd& end) { out = end; }});
    return out;
  }
  std::string out() const { return read_file(top / "out"); }

  fs::path top;
};

constexpr const char* kAsk = "echo clusterbench-next-piece;";

}  // namespace

TEST_CASE("a command gets a piece for each that it asks for, and its other words are kept") {
  const PacedFolder f;
  const std::string ask = kAsk;
  const TaskEnd end = f.run(
      "echo begins; " + ask + "head -c 3; echo; " + ask + "head -c 3; printf ends", "abcdefgh", 3);
  CHECK(end.kind == TaskEnd::Kind::exited);
  CHECK(end.code == 0);
  CHECK(f.out() == "begins\nabc\ndefends");
}

TEST_CASE("a command that asks behind the last piece is told of the end") {
  const PacedFolder f;
  const std::string ask = kAsk;
  f.run(ask + "head -c 3; echo;" + ask + "head -c 2; echo;" + ask + "cat; echo .", "abcde", 3);
  CHECK(f.out() == "abc\nde\n.\n");
}

TEST_CASE("the launcher's mark before a question is no part of it") {
  const PacedFolder f;
  f.run("printf '[1,0]<stdout>: '; " + std::string(kAsk) + "head -c 4; echo", "abcd", 4);
  CHECK(f.out() == "abcd\n");
}

TEST_CASE("a command that asks without reading gets an end, and nobody waits for it") {
  const PacedFolder f;
  const TaskEnd end =
      f.run("for i in 1 2 3 4 5; do echo clusterbench-next-piece; done; sleep 0.3; wc -c",
            std::string(400'000, 'x'), PacedInput::kMaxPiece);
  CHECK(end.code == 0);
  CHECK(f.out() == "65536\n");
}

TEST_CASE("a process that outlives the command and keeps its output is not waited for") {
  const PacedFolder f;
  const auto begin = std::chrono::steady_clock::now();
  const TaskEnd end = f.run("setsid sleep 15 & echo done", "abc", 3);
  CHECK(end.code == 0);
  CHECK(f.out() == "done\n");
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("nor one that goes on to write") {
  const PacedFolder f;
  const auto begin = std::chrono::steady_clock::now();
  const TaskEnd end =
      f.run("setsid sh -c 'while echo more; do sleep 0.02; done' & echo done", "abc", 3);
  CHECK(end.code == 0);
  CHECK(f.out().find("done\n") != std::string::npos);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(10));
}

TEST_CASE("an input that is not there stops nothing else") {
  const PacedFolder f;
  CHECK_THROWS_AS(PacedInput(f.top / "none", f.top / "out", 3), Error);
}
