#include "sys/os/child_process.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"
#include "core/error.h"
#include "sys/cpu/numa.h"
#include "sys/os/dl.h"

using namespace cb;

TEST_CASE("a child's output and end are told") {
  const auto environment = child_environment({}, {});
  const ChildResult good = run_child({"/bin/sh", "-c", "echo hello"}, environment, 10);
  CHECK(good.ok);
  CHECK(good.out == "hello\n");
  const ChildResult bad = run_child({"/bin/sh", "-c", "echo half; exit 3"}, environment, 10);
  CHECK_FALSE(bad.ok);
  CHECK(bad.how == "exit code 3");
  CHECK(bad.out == "half\n");
  const ChildResult crash = run_child({"/bin/sh", "-c", "kill -ILL $$"}, environment, 10);
  CHECK_FALSE(crash.ok);
  CHECK(crash.how.starts_with("killed by signal 4"));
  CHECK_THROWS_AS(run_child({"/nowhere/program"}, environment, 10), Error);
}

TEST_CASE("a child that hangs is killed at the deadline, also with its stdout closed") {
  const auto environment = child_environment({}, {});
  for (const char* script : {"exec sleep 60", "exec sleep 60 >&-"}) {
    const double start = monotonic_seconds();
    const ChildResult hung = run_child({"/bin/sh", "-c", script}, environment, 0.2);
    CHECK_FALSE(hung.ok);
    CHECK(hung.how == "did not end within 0.2 s and was killed");
    CHECK(monotonic_seconds() - start < 10);
  }
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
