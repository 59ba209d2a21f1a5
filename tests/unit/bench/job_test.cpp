#include "bench/harness/job.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <doctest/doctest.h>

#include "bench/harness/points.h"
#include "core/file.h"
#include "tests/unit/bench/case_runner.h"

using namespace cb;
using namespace std::chrono_literals;

namespace {

// What a job shows, kept for looking at.
class HeardView final : public JobView {
 public:
  Progress& progress(bool root) override {
    was_root = root;
    return none_;
  }
  void say(const std::string& lines) override {
    const std::lock_guard lock(mutex_);
    said_ += lines;
  }
  void results(const Document& document) override { shown = document; }
  void outcome(const Document&) override { outcome_told = true; }
  std::string said() const {
    const std::lock_guard lock(mutex_);
    return said_;
  }

  bool was_root = false;
  bool outcome_told = false;
  std::optional<Document> shown;

 private:
  NoProgress none_;
  mutable std::mutex mutex_;
  std::string said_;
};

// A fresh directory that goes with its test.
struct JobFolder {
  JobFolder() {
    std::string pattern = std::filesystem::temp_directory_path() / "cb-job-XXXXXX";
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    path = pattern;
  }
  ~JobFolder() { std::filesystem::remove_all(path); }
  JobFolder(const JobFolder&) = delete;
  JobFolder& operator=(const JobFolder&) = delete;

  std::string file(const char* name) const { return path / name; }
  std::filesystem::path path;
};

constexpr int kNotAborted = -1;

// One rank; the end that it was told is noted instead of taken.
struct JobBench {
  ExitCode run(const Case& c, const std::string& json = {}, double deadline_seconds = 60) {
    return run_job({.what = c,
                    .params = params,
                    .json = json,
                    .deadline_seconds = deadline_seconds,
                    .stall_seconds = 60,
                    .sysroot = "/nonexistent"},
                   view,
                   {.who = "n0",
                    .join = [](Watchdog&) { return JobRanks{.comm = single_comm()}; },
                    .abort =
                        [this](ExitCode code) {
                          int none = kNotAborted;
                          aborted.compare_exchange_strong(none, static_cast<int>(code));
                        }});
  }

  Params params = {};
  HeardView view = {};
  std::atomic<int> aborted{kNotAborted};
};

Record with_check(const Context& context, bool passed) {
  Record r = good(context);
  r.checks.push_back({.name = "data", .passed = passed, .entity = 0});
  return r;
}

// A case of points 1, 2 and 3; `at_two` is what becomes of the second.
Case three_points(std::function<void(Context&)> at_two) {
  return case_of([at_two](Context& context, const Params& params) {
    return run_points(
        context, "x", std::vector<int64_t>{1, 2, 3},
        [&](int64_t n) {
          return PointName{params.with("n", n), std::to_string(n)};
        },
        [&](int64_t n) {
          if (n == 2) at_two(context);
          Record r = good(context);
          r.params.set("n", n);
          return r;
        });
  });
}

Document document_in(const std::string& path) { return parse_document(read_file(path), path); }

}  // namespace

TEST_CASE("a job that measured ends with 0 and writes its document") {
  const JobFolder folder;
  JobBench bench;
  const Case c = case_of(
      [](Context& context, const Params&) -> std::vector<Record> { return {good(context)}; });
  CHECK(bench.run(c, folder.file("x.json")) == ExitCode::ok);
  CHECK(bench.view.was_root);
  CHECK(bench.view.outcome_told);
  CHECK(bench.view.said().empty());
  const Document document = document_in(folder.file("x.json"));
  REQUIRE(document.records.size() == 1);
  CHECK(!document.run.partial);
  CHECK(document.run.ranks == 1);
  CHECK(document.hosts.size() == 1);
  CHECK(!document.run.ended.empty());
}

TEST_CASE("the exit code is that of the worst record") {
  struct Expected {
    RunCase run;
    ExitCode code;
  };
  const std::vector<Expected> all{
      {[](Context& c, const Params&) -> std::vector<Record> { return {with_check(c, true)}; },
       ExitCode::ok},
      {[](Context& c, const Params&) -> std::vector<Record> { return {with_check(c, false)}; },
       ExitCode::not_accepted},
      {[](Context&, const Params&) -> std::vector<Record> { throw Error("broken"); },
       ExitCode::runtime},
      {[](Context&, const Params&) -> std::vector<Record> {
         return {{.case_name = "x", .outcome = Skipped{"not here"}}};
       },
       ExitCode::incomplete},
      {[](Context&, const Params&) -> std::vector<Record> {
         throw UsageError("clusterbench x", "--n", "is wrong");
       },
       ExitCode::usage}};
  for (const Expected& expected : all) {
    JobBench bench;
    CHECK(bench.run(case_of(expected.run)) == expected.code);
    CHECK(bench.aborted == kNotAborted);
  }
}

TEST_CASE("a failed check weighs more than an error beside it") {
  Record wrong{.case_name = "x"}, broken{.case_name = "x", .outcome = Errored{"n0", "broken"}};
  wrong.checks.push_back({.name = "data", .passed = false});
  CHECK(outcome_code({broken, wrong}) == ExitCode::not_accepted);
  CHECK(outcome_code({broken}) == ExitCode::runtime);
  CHECK(outcome_code({}) == ExitCode::incomplete);
}

TEST_CASE("what a case refuses is said, and nothing is written") {
  const JobFolder folder;
  JobBench bench;
  const Case c = case_of([](Context&, const Params&) -> std::vector<Record> {
    throw UsageError("clusterbench x", "--n", "is wrong");
  });
  CHECK(bench.run(c, folder.file("x.json")) == ExitCode::usage);
  CHECK(bench.view.said().find("--n") != std::string::npos);
  CHECK(!bench.view.shown);
  CHECK(!std::filesystem::exists(folder.file("x.json")));
}

TEST_CASE("a signal leaves a partial document with what was finished") {
  for (const int signal : {SIGINT, SIGTERM}) {
    const JobFolder folder;
    JobBench bench;
    const Case c = three_points([signal](Context& context) {
      std::raise(signal);
      if (context.cancel.cancelled()) throw Interrupted();
    });
    CHECK(bench.run(c, folder.file("x.json")) == ExitCode::interrupted);
    const Document document = document_in(folder.file("x.json"));
    REQUIRE(document.records.size() == 1);
    CHECK(document.records[0].params.integer("n") == 1);
    REQUIRE(document.run.partial);
    CHECK(document.run.partial->text() == "interrupted");
    REQUIRE(bench.view.shown);
    CHECK(bench.view.shown->records.size() == 1);
  }
}

TEST_CASE("an error at one point costs that point") {
  JobBench bench;
  CHECK(bench.run(three_points([](Context&) { throw Error("broken"); })) == ExitCode::runtime);
  REQUIRE(bench.view.shown);
  REQUIRE(bench.view.shown->records.size() == 3);
  CHECK(std::holds_alternative<Errored>(bench.view.shown->records[1].outcome));
  CHECK(std::holds_alternative<Measured>(bench.view.shown->records[2].outcome));
}

TEST_CASE("where the document cannot go is told before anything is measured") {
  JobBench bench;
  bool measured = false;
  const Case c = case_of([&](Context& context, const Params&) -> std::vector<Record> {
    measured = true;
    return {good(context)};
  });
  CHECK(bench.run(c, "/nonexistent/x.json") == ExitCode::usage);
  CHECK(!measured);
  CHECK(bench.view.said().find("/nonexistent/x.json cannot be written") != std::string::npos);
  CHECK(bench.run(c, std::filesystem::temp_directory_path()) == ExitCode::usage);
  CHECK(bench.view.said().find("is a directory") != std::string::npos);
}

TEST_CASE("a document that can no longer be written leaves what is shown, and an error") {
  const JobFolder folder;
  const auto below = folder.path / "below";
  std::filesystem::create_directory(below);
  JobBench bench;
  const Case c = case_of([&](Context& context, const Params&) -> std::vector<Record> {
    std::filesystem::remove(below);
    return {good(context)};
  });
  CHECK(bench.run(c, below / "x.json") == ExitCode::runtime);
  REQUIRE(bench.view.shown);
  CHECK(bench.view.shown->records.size() == 1);
  CHECK(bench.view.said().find((below / "x.json").string()) != std::string::npos);
}

TEST_CASE("the watchdog ends a stuck job, and what was finished is written") {
  const JobFolder folder;
  JobBench bench;
  const Case c = three_points([&](Context&) {
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (bench.aborted == kNotAborted && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(5ms);
    throw Interrupted();
  });
  bench.run(c, folder.file("x.json"), 2);
  CHECK(bench.aborted == static_cast<int>(ExitCode::deadline));
  CHECK(bench.view.said().find("deadline") != std::string::npos);
  CHECK(bench.view.said().find("1 finished record in " + folder.file("x.json")) !=
        std::string::npos);
}

TEST_CASE("what a case logs is said with its name") {
  JobBench bench;
  const Case c = case_of([](Context& context, const Params&) -> std::vector<Record> {
    context.log("look at \x1b[31mthis");
    return {good(context)};
  });
  CHECK(bench.run(c) == ExitCode::ok);
  CHECK(bench.view.said().starts_with("clusterbench x: note: look at "));
  CHECK(bench.view.said().find('\x1b') == std::string::npos);
}
