#include "campaign/env_sweep.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "core/error.h"
#include "core/file.h"

using namespace cb;
namespace fs = std::filesystem;

namespace {

class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    std::string name = (fs::temp_directory_path() / "cb-sweep-XXXXXX").string();
    path = ::mkdtemp(name.data());
  }
  ~TemporaryDirectory() { fs::remove_all(path); }
  fs::path path;
};

// A program that does as its variable PLAY says: good leaves a document, hang none ever.
fs::path write_program(const fs::path& directory) {
  Document document;
  document.run.id = "1";
  document.run.started = document.run.ended = "2026-01-01T00:00:00Z";
  document.run.hosts = {"h"};
  std::ofstream(directory / "document.json") << to_json_text(document);
  const fs::path program = directory / "program";
  std::ofstream(program) << "#!/bin/sh\n"
                            "for last; do :; done\n"
                            "case $PLAY in\n"
                            "good) cp \"$(dirname \"$0\")/document.json\" \"$last\";;\n"
                            "fail) echo 'clusterbench x: broke' >&2; exit 4;;\n"
                            "refuse*) exit 2;;\n"
                            "hang) sleep 600;;\n"
                            "esac\n";
  fs::permissions(program, fs::perms::owner_all);
  return program;
}

// Of one variable, "NAME=VALUE,…"; its directory is not there yet.
SweepSetup sweep_in(const fs::path& place, const std::string& variable) {
  Problems problems;
  SweepSetup out;
  out.directory = place / "out";
  out.binary = write_program(place).string();
  out.arguments = {"x"};
  out.variables = parse_variables({variable}, problems);
  out.hosts = {{"h", 1}};
  out.ranks_per_host = 1;
  out.deadline_seconds = 60;
  out.repeats = 1;
  out.executor.term_grace_seconds = 0.2;
  return out;
}

std::vector<SweepOutcome> play(const std::string& values) {
  const TemporaryDirectory place;
  SweepSetup setup = sweep_in(place.path, "PLAY=" + values);
  setup.deadline_seconds = 6;  // one of them hangs
  fs::create_directory(setup.directory);
  auto out = run_sweep(setup, [](size_t, const SweepOutcome&) {});
  CHECK(fs::exists(setup.directory / "sweep.json"));
  return out;
}

}  // namespace

TEST_CASE("A sweep whose file cannot be written gives its outcomes and the reason") {
  const TemporaryDirectory place;
  const SweepSetup setup = sweep_in(place.path, "PLAY=good");
  fs::create_directories(setup.directory / "sweep.json");  // a directory stands there
  std::vector<Said> unwritten;
  const auto outcomes = run_sweep(
      setup, [](size_t, const SweepOutcome&) {}, &unwritten);
  REQUIRE(outcomes.size() == 1);
  CHECK(outcomes[0].document.has_value());
  REQUIRE(unwritten.size() == 1);
  CHECK(unwritten[0].text().find("sweep.json") != std::string::npos);
  CHECK_THROWS_AS(run_sweep(setup, [](size_t, const SweepOutcome&) {}), Error);
}

TEST_CASE("A run whose output cannot be kept costs itself alone") {
  const TemporaryDirectory place;
  SweepSetup setup = sweep_in(place.path, "A=1,2");
  setup.launch.launcher = Launcher::mpirun;
  const fs::path launcher = place.path / "mpirun";
  std::ofstream(launcher) << "#!/bin/sh\necho debug output\n"
                             "while [ \"$1\" != --json ]; do shift; done\n"
                             "cp \"$(dirname \"$0\")/document.json\" \"$2\"\n";
  fs::permissions(launcher, fs::perms::owner_all);
  const std::string before = std::getenv("PATH");
  ::setenv("PATH", (place.path.string() + ":" + before).c_str(), 1);
  fs::create_directories(setup.directory / "001.out");  // a directory stands in the way
  const auto outcomes = run_sweep(setup, [](size_t, const SweepOutcome&) {});
  ::setenv("PATH", before.c_str(), 1);
  REQUIRE(outcomes.size() == 2);
  CHECK(outcomes[0].state == JobState::failed);
  CHECK(outcomes[0].reason.text().find("001.out: is the disk full?") != std::string::npos);
  CHECK(outcomes[1].state == JobState::done);
  CHECK(outcomes[1].document.has_value());
}

TEST_CASE("A combination that fails or hangs costs itself alone") {
  auto outcomes = play("good,fail,hang,none,inherit");
  REQUIRE(outcomes.size() == 5);
  std::ranges::sort(outcomes, {}, [](const SweepOutcome& o) { return o.job.combination; });
  CHECK(outcomes[0].state == JobState::done);
  CHECK(outcomes[0].document.has_value());
  CHECK(outcomes[1].state == JobState::failed);
  CHECK(outcomes[1].reason == "it ended with code 4: clusterbench x: broke");
  CHECK(outcomes[2].state == JobState::deadline);
  CHECK(outcomes[3].state == JobState::failed);
  CHECK(outcomes[3].reason.text().find("it left no result document") != std::string::npos);
  CHECK(outcomes[4].state == JobState::failed);
}

TEST_CASE("A refused command ends the sweep") {
  const auto outcomes = play("refuse1,refuse2");
  CHECK(outcomes[0].refused);
  CHECK(outcomes[1].state == JobState::missing);
  CHECK(outcomes[1].reason == "it was not run");
}

TEST_CASE("All combinations, the last variable changing fastest") {
  Problems problems;
  const auto variables = parse_variables({"A=1,2", "B=x,,y"}, problems);
  CHECK(problems.empty());
  const auto all = combinations(variables);
  REQUIRE(all.size() == 6);
  CHECK(all[0] == std::vector<std::string>{"1", "x"});
  CHECK(all[1] == std::vector<std::string>{"1", ""});
  CHECK(all[3] == std::vector<std::string>{"2", "x"});
}

TEST_CASE("Every mistake in the variables is told") {
  Problems problems;
  parse_variables({"A", "=x", "2B=x", "C=1,1", "D=1", "D=2"}, problems);
  CHECK(problems.list.size() == 5);
  for (const char* name : {"2", "0", "9", "0A", "9A", "A-B", "A B", "Ä"}) {
    Problems bad;
    parse_variables({std::string(name) + "=x"}, bad);
    CHECK_MESSAGE(bad.list.size() == 1, name);
  }
  for (const char* name : {"A", "_", "z9", "_0"}) {
    Problems none;
    CHECK(parse_variables({std::string(name) + "=x"}, none).at(0).name == name);
    CHECK(none.empty());
  }
  Problems many;
  parse_variables({"A=1,2,3,4,5,6,7,8,9,10,11", "B=1,2,3,4,5,6,7,8,9,10", "C=1,2,3,4,5,6,7,8,9,10"},
                  many);
  REQUIRE(many.list.size() == 1);
  CHECK(many.list[0].what == "more than 1000 combinations");
}

TEST_CASE("A command carries its values by the launcher's way, and inherit is left out") {
  Problems problems;
  SweepSetup setup;
  setup.binary = "/b";
  setup.arguments = {"mpi", "--op", "all_reduce"};
  setup.variables = parse_variables({"A=1", "B=inherit"}, problems);
  setup.hosts = {{"h", 2}};
  setup.launch.launcher = Launcher::mpirun;
  CHECK(shell_text(sweep_command(setup, {"1", "inherit"}, "/o.json")) ==
        "mpirun --host h:2 -np 2 -x A=1 /b mpi --op all_reduce --quiet --json /o.json");
  setup.launch.launcher = Launcher::none;
  CHECK(shell_text(sweep_command(setup, {"1", "inherit"}, "/o.json")) ==
        "A=1 /b mpi --op all_reduce --quiet --json /o.json");
}

TEST_CASE("Each block holds every combination once and the first twice, in an order of its own") {
  const auto jobs = sweep_jobs(3, 20, 7);
  REQUIRE(jobs.size() == 80);
  std::set<std::vector<size_t>> orders;
  size_t control_after = 0;
  for (size_t block = 0; block < 20; ++block) {
    std::vector<size_t> seen(4), order;
    size_t plain_at = 0, control_at = 0;
    for (size_t i = 0; i < 4; ++i) {
      const SweepJob& job = jobs[block * 4 + i];
      CHECK(job.block == block);
      if (job.control) CHECK(job.combination == 0);
      ++seen[job.control ? 3 : job.combination];
      order.push_back(job.control ? 3 : job.combination);
      if (job.control) control_at = i;
      if (!job.control && job.combination == 0) plain_at = i;
    }
    CHECK(seen == std::vector<size_t>{1, 1, 1, 1});
    orders.insert(order);
    control_after += control_at > plain_at ? 1 : 0;
  }
  CHECK(orders.size() > 10);  // of 24
  CHECK(control_after > 4);   // the control is neither always first nor always last
  CHECK(control_after < 16);
}

TEST_CASE("The order is that of the seed, on every machine") {
  CHECK(sweep_jobs(3, 2, 1) == sweep_jobs(3, 2, 1));
  CHECK_FALSE(sweep_jobs(3, 2, 1) == sweep_jobs(3, 2, 2));
  std::string order;
  for (const SweepJob& job : sweep_jobs(3, 2, 1))
    order += job.control ? 'A' : static_cast<char>('a' + job.combination);
  CHECK(order == "bcAaAbac");
}

TEST_CASE("One block, or one combination, has no control") {
  CHECK(sweep_jobs(3, 1, 1).size() == 3);
  CHECK(sweep_jobs(1, 5, 1).size() == 5);
  CHECK(sweep_jobs(2, 2, 1).size() == 6);
}

TEST_CASE("An empty value is one, wherever it stands") {
  const auto values = [](const std::string& text) {
    Problems problems;
    const auto variables = parse_variables({text}, problems);
    CHECK(problems.empty());
    return variables.at(0).values;
  };
  CHECK(values("A=") == std::vector<std::string>{""});
  CHECK(values("A=x,") == std::vector<std::string>{"x", ""});
  CHECK(values("A=,x") == std::vector<std::string>{"", "x"});
  CHECK(values("A=x=y") == std::vector<std::string>{"x=y"});
}

TEST_CASE("A thousand combinations are the most") {
  const auto problems_of = [](size_t last) {
    std::string many = "C=0";
    for (size_t i = 1; i < last; ++i) many += "," + std::to_string(i);
    Problems problems;
    parse_variables({"A=1,2,3,4,5,6,7,8,9,10", "B=1,2,3,4,5,6,7,8,9,10", many}, problems);
    return problems.list.size();
  };
  CHECK(problems_of(10) == 0);
  CHECK(problems_of(11) == 1);
}

TEST_CASE("What a sweep did stands in its file: blocks from one, values, documents") {
  const TemporaryDirectory place;
  SweepSetup setup = sweep_in(place.path, "PLAY=good,none");
  fs::create_directory(setup.directory);
  setup.repeats = 2;
  setup.seed = 1;
  size_t told = 0;
  const auto outcomes = run_sweep(setup, [&](size_t index, const SweepOutcome& o) {
    CHECK(index == told++);
    CHECK(o.seconds > 0);
  });
  CHECK(told == 6);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const bool good = outcomes[i].values == std::vector<std::string>{"good"};
    CHECK(outcomes[i].document.has_value() == good);
    CHECK(outcomes[i].job.block == i / 3);
    CHECK(fs::exists(setup.directory / ("00" + std::to_string(i + 1) + ".json")) == good);
  }
  const std::string text = read_file(setup.directory / "sweep.json");
  CHECK(text.find("\"block\": 0") == std::string::npos);
  CHECK(text.find("\"block\": 1") != std::string::npos);
  CHECK(text.find("\"block\": 2") != std::string::npos);
  CHECK(text.find("\"block\": 3") == std::string::npos);
  CHECK(text.find("\"control\": true") != std::string::npos);
}
