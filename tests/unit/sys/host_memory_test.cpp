// What a control group leaves to a process: page cache that the kernel drops is free.
#include "sys/cpu/host_memory.h"

#include <string>

#include <doctest/doctest.h>

#include "tests/unit/sys/tree.h"

using namespace cb;

namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kLimit = 16384 * kMiB;

// The files of a control group and their names in the two versions.
struct Group {
  const char* folder;
  const char* limit;
  const char* used;
  const char* idle;
};
constexpr Group kGroups[] = {{"/sys/fs/cgroup/", "memory.max", "memory.current", "inactive_file"},
                             {"/sys/fs/cgroup/memory/", "memory.limit_in_bytes",
                              "memory.usage_in_bytes", "total_inactive_file"}};

// A host with 64 GiB available, and a group with 16 GiB.
void add_group(const test::Tree& machine, const Group& group, uint64_t used) {
  machine.add("/proc/meminfo", "MemTotal: 99000000 kB\nMemAvailable: 67108864 kB\n");
  machine.add(std::string(group.folder) + group.limit, std::to_string(kLimit));
  machine.add(std::string(group.folder) + group.used, std::to_string(used));
}

// What is left of 16 GiB, with this memory.stat unless empty.
uint64_t left(const Group& group, uint64_t used, const std::string& statistics) {
  const test::Tree machine;
  add_group(machine, group, used);
  if (!statistics.empty()) machine.add(std::string(group.folder) + "memory.stat", statistics);
  return available_memory_bytes(machine.fs()).value();
}

}  // namespace

TEST_CASE("idle page cache of a control group counts as free, in both versions") {
  const uint64_t used = kLimit - 20 * kMiB, idle = 15000 * kMiB;
  for (const Group& group : kGroups) {
    const std::string statistics = "anon 1000\nactive_file 5000000\n" + std::string(group.idle) +
                                   " " + std::to_string(idle) + "\nunevictable 7\n";
    CHECK(left(group, used, statistics) == 15020 * kMiB);
  }
}

TEST_CASE("version 1 counts the cache of the groups below, too") {
  const std::string statistics = "inactive_file 4096\ntotal_inactive_file 1048576\n";
  CHECK(left(kGroups[1], kLimit - 20 * kMiB, statistics) == 21 * kMiB);
}

TEST_CASE("more idle cache than use leaves the whole limit and no more") {
  for (const Group& group : kGroups)
    CHECK(left(group, 10 * kMiB, std::string(group.idle) + " 99999999999\n") == kLimit);
}

TEST_CASE("without statistics, or without that one, all page cache counts as used") {
  for (const Group& group : kGroups) {
    CHECK(left(group, kLimit - 20 * kMiB, "") == 20 * kMiB);
    CHECK(left(group, kLimit - 20 * kMiB, "anon 1000\nactive_file 5000000\n") == 20 * kMiB);
    CHECK(left(group, kLimit - 20 * kMiB, "what is this") == 20 * kMiB);
    CHECK(left(group, kLimit + kMiB, "") == 0);
  }
}

TEST_CASE("a control group without a limit leaves what the host has") {
  const test::Tree machine;
  add_group(machine, kGroups[0], 0);
  machine.add("/sys/fs/cgroup/memory.max", "max");
  CHECK(available_memory_bytes(machine.fs()) == uint64_t{65536} * kMiB);
}
