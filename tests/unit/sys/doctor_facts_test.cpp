#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "sys/inventory/doctor_facts.h"

using namespace cb;

namespace {

// A machine of a few files below a directory of its own.
class CgroupTree {
 public:
  explicit CgroupTree(const std::map<std::string, std::string>& files) {
    std::string name = (std::filesystem::temp_directory_path() / "cgroups.XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    root_ = name;
    for (const auto& [path, text] : files) {
      const std::filesystem::path file = root_.string() + path;
      std::filesystem::create_directories(file.parent_path());
      std::ofstream(file) << text << '\n';
    }
  }
  ~CgroupTree() { std::filesystem::remove_all(root_); }
  CgroupTree(const CgroupTree&) = delete;
  CgroupTree& operator=(const CgroupTree&) = delete;
  FsRoot root() const { return FsRoot(root_); }

 private:
  std::filesystem::path root_;
};

}  // namespace

TEST_CASE("limits of version 2: the lowest of the group and those above it") {
  const CgroupTree tree({{"/proc/self/cgroup", "0::/pods/one/container"},
                         {"/sys/fs/cgroup/pods/one/container/cpu.max", "max 100000"},
                         {"/sys/fs/cgroup/pods/one/container/memory.max", "8589934592"},
                         {"/sys/fs/cgroup/pods/one/cpu.max", "450000 100000"},
                         {"/sys/fs/cgroup/pods/cpu.max", "800000 100000"},
                         {"/sys/fs/cgroup/pods/memory.max", "max"}});
  const CgroupLimits limits = cgroup_limits(tree.root());
  CHECK(limits.cpus == 4.5);
  CHECK(limits.memory_bytes == 8589934592.0);
}

TEST_CASE("limits of version 2 in a group of its own: at the root") {
  const CgroupTree tree(
      {{"/proc/self/cgroup", "0::/"}, {"/sys/fs/cgroup/cpu.max", "200000 100000"}});
  CHECK(cgroup_limits(tree.root()).cpus == 2.0);
  CHECK_FALSE(cgroup_limits(tree.root()).memory_bytes);
}

TEST_CASE("limits of version 1: -1 and a huge number are none") {
  const std::map<std::string, std::string> none{
      {"/proc/self/cgroup", "4:memory:/job\n3:cpu,cpuacct:/job"},
      {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1"},
      {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000"},
      {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "9223372036854771712"}};
  const CgroupTree unlimited(none);
  CHECK_FALSE(cgroup_limits(unlimited.root()).cpus);
  CHECK_FALSE(cgroup_limits(unlimited.root()).memory_bytes);
  std::map<std::string, std::string> some = none;
  some["/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us"] = "150000";
  some["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "1073741824";
  const CgroupTree limited(some);
  CHECK(cgroup_limits(limited.root()).cpus == 1.5);
  CHECK(cgroup_limits(limited.root()).memory_bytes == 1073741824.0);
}

TEST_CASE("without cgroups there are no limits") {
  const std::map<std::string, std::string> garbage{{"/proc/self/cgroup", "garbage"}};
  const CgroupTree tree(garbage);
  CHECK_FALSE(cgroup_limits(tree.root()).cpus);
}
