#include "sys/os/child_process.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "sys/cpu/numa.h"
#include "sys/os/dl.h"

using namespace cb;

namespace {

// Whether the process of this file of /proc ends, or waits for nothing but its parent's notice.
bool ends(const std::string& stat) {
  for (const double until = monotonic_seconds() + 10; monotonic_seconds() < until;) {
    std::ifstream file(stat);
    std::string number, name, state;
    if (!(file >> number >> name >> state) || state == "Z") return true;
    ::usleep(1000);
  }
  return false;
}

}  // namespace

TEST_CASE("a child's output and end are told") {
  const auto environment = child_environment({}, {});
  const ChildResult good = run_child({"/bin/sh", "-c", "echo hello"}, environment, 10);
  CHECK(good.ok);
  CHECK(good.out == "hello\n");
  const ChildResult bad = run_child({"/bin/sh", "-c", "echo half; exit 3"}, environment, 10);
  CHECK_FALSE(bad.ok);
  CHECK(bad.how == "exit code 3");
  CHECK(bad.exit_code == 3);
  CHECK(bad.signal == 0);
  CHECK(bad.out == "half\n");
  const ChildResult crash = run_child({"/bin/sh", "-c", "kill -ILL $$"}, environment, 10);
  CHECK_FALSE(crash.ok);
  CHECK(crash.how.starts_with("killed by signal 4"));
  CHECK(crash.signal == 4);
  CHECK_FALSE(crash.exit_code.has_value());
  CHECK_THROWS_AS(run_child({"/nowhere/program"}, environment, 10), Error);
}

TEST_CASE("a child that hangs is killed at the deadline, also with its stdout closed") {
  const auto environment = child_environment({}, {});
  for (const char* script : {"exec sleep 60", "exec sleep 60 >&-"}) {
    const double start = monotonic_seconds();
    const ChildResult hung = run_child({"/bin/sh", "-c", script}, environment, 0.2);
    CHECK_FALSE(hung.ok);
    CHECK(hung.how == "did not end within 0.2 s and was killed");
    CHECK(hung.signal == 0);
    CHECK_FALSE(hung.exit_code.has_value());
    CHECK(monotonic_seconds() - start < 10);
  }
}

TEST_CASE("the end of a child is not that of what it leaves") {
  const auto environment = child_environment({}, {});
  const double start = monotonic_seconds();
  const ChildResult left = run_child({"/bin/sh", "-c", "sleep 20 & echo done"}, environment, 15);
  CHECK(left.ok);
  CHECK(left.out == "done\n");
  CHECK(monotonic_seconds() - start < 10);
}

TEST_CASE("a trial's report has a descriptor of its own") {
  const ChildResult trial = run_child({"/bin/sh", "-c", "echo printed; echo report >&3"},
                                      child_environment({}, {}), 10, ChildKind::trial);
  CHECK(trial.ok);
  CHECK(trial.out == "report\n");
}

TEST_CASE("what a trial starts ends with it, also at its deadline") {
  for (const char* last : {"exit 0", "sleep 60"}) {
    CAPTURE(last);
    const std::string script = std::string("sleep 60 & echo $! >&3; ") + last;
    const ChildResult trial =
        run_child({"/bin/sh", "-c", script}, child_environment({}, {}), 3, ChildKind::trial);
    const std::string process = trial.out.substr(0, trial.out.find('\n'));
    REQUIRE_FALSE(process.empty());
    CHECK(ends("/proc/" + process + "/stat"));
  }
}

TEST_CASE("a signal that a trial sends to its group does not come here") {
  const ChildResult trial = run_child({"/bin/sh", "-c", "kill -TERM 0; sleep 60"},
                                      child_environment({}, {}), 20, ChildKind::trial);
  CHECK(trial.signal == SIGTERM);
}

TEST_CASE("an environment that a library has cleared is an empty one") {
  char** const before = environ;
  environ = nullptr;
  const auto environment = child_environment({}, {{"CB_TEST_KEEP", "2"}});
  environ = before;
  CHECK(environment == std::vector<std::string>{"CB_TEST_KEEP=2"});
}

TEST_CASE("a child's environment lacks what was dropped and has what was set") {
  ::setenv("CB_TEST_DROP_ME", "1", 1);
  ::setenv("CB_TEST_KEEP", "1", 1);
  const auto environment = child_environment({"CB_TEST_DROP_"}, {{"CB_TEST_KEEP", "2"}});
  const auto has = [&](const char* entry) {
    return std::count(environment.begin(), environment.end(), entry);
  };
  CHECK(has("CB_TEST_DROP_ME=1") == 0);
  CHECK(has("CB_TEST_KEEP=1") == 0);
  CHECK(has("CB_TEST_KEEP=2") == 1);
  ::unsetenv("CB_TEST_DROP_ME");
  ::unsetenv("CB_TEST_KEEP");
}

TEST_CASE("a library opens, gives typed symbols, and has a second instance") {
  const DynamicLibrary dl = DynamicLibrary::open("CB_TEST_NO_SUCH_VARIABLE", {"libm.so.6"});
  REQUIRE(dl.present());
  CHECK(dl.path().find("libm") != std::string::npos);
  const auto floor = dl.symbol<double(double)>("floor");
  REQUIRE((floor != nullptr));
  CHECK(floor(2.5) == 2);
  CHECK((dl.symbol<void()>("no_such_symbol_in_libm") == nullptr));
  const DynamicLibrary second = dl.private_copy();
  REQUIRE_MESSAGE(second.present(), second.reason());
  CHECK((second.symbol<double(double)>("floor") != floor));
  CHECK(second.symbol<double(double)>("floor")(-0.5) == -1);
}

TEST_CASE("a library that is missing is data") {
  const DynamicLibrary dl = DynamicLibrary::open("CB_TEST_NO_SUCH_VARIABLE", {"libnot-there.so.9"});
  CHECK_FALSE(dl.present());
  CHECK(dl.reason().find("libnot-there.so.9") != std::string::npos);
  CHECK((dl.symbol<void()>("f") == nullptr));
}

TEST_CASE("the machine has every allowed CPU on exactly one core") {
  const Machine machine = read_machine();
  std::vector<int> cpus;
  for (const Core& c : machine.cores) cpus.insert(cpus.end(), c.cpus.begin(), c.cpus.end());
  std::sort(cpus.begin(), cpus.end());
  CHECK(cpus == allowed_cpus());
  CHECK(machine.nodes.size() >= 1);
  CHECK(machine.node_llc_bytes.size() == machine.nodes.size());
}

TEST_CASE("a binding holds for its scope") {
  const std::vector<int> before = allowed_cpus();
  {
    const KeepAffinity keep;
    REQUIRE(bind_thread({before[0]}));
    CHECK(allowed_cpus() == std::vector<int>{before[0]});
  }
  CHECK(allowed_cpus() == before);
}

TEST_CASE("lists of CPUs are written as the kernel writes them") {
  CHECK(cpu_list({0, 1, 2, 3, 8}) == "0-3,8");
  CHECK(cpu_list({5}) == "5");
  CHECK(cpu_list({}).empty());
}
