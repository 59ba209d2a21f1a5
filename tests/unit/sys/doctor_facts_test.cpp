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

TEST_CASE("plugins of srun: a line each, one line, with commas and with srun's headings") {
  const std::vector<std::string> versions{"none", "pmi2", "pmix", "pmix_v4", "pmix_v5"};
  CHECK(srun_plugins_of("MPI plugin types are...\n\tnone\n\tpmi2\n\tpmix\n"
                        "specific pmix plugin versions available: pmix_v4,pmix_v5\n") == versions);
  CHECK(srun_plugins_of("srun: MPI types are...\nsrun: none\nsrun: pmi2\n") ==
        std::vector<std::string>{"none", "pmi2"});
  CHECK(srun_plugins_of("none pmix_v4,pmix_v5") ==
        std::vector<std::string>{"none", "pmix_v4", "pmix_v5"});
  CHECK(srun_plugins_of("").empty());
}

TEST_CASE("what NVML says of GPUs on PCI is not lost") {
  HostInventory inventory{.host = "localhost"};
  inventory.parts = {{.kind = "gpu", .id = "0000:01:00.0"}, {.kind = "gpu", .id = "0000:02:00.0"}};
  const FsRoot fs;
  CHECK(doctor_facts(fs, inventory).nvml_fault.empty());
  inventory.parts[1].unavailable["nvml"] = said("nvml.init", "Driver/library version mismatch");
  const DoctorFacts failed = doctor_facts(fs, inventory);
  CHECK(failed.nvml_fault.text().find("version mismatch") != std::string::npos);
  CHECK(failed.nvml_opens);
  CHECK_FALSE(failed.nvml_hangs);
  inventory.parts[1].unavailable["nvml"] = said("nvml.hangs", "nvmlInit_v2", 20);
  CHECK(doctor_facts(fs, inventory).nvml_hangs);
  inventory.parts[1].unavailable["nvml"] = said("nvml.not_opened", "file too short");
  CHECK_FALSE(doctor_facts(fs, inventory).nvml_opens);
}
