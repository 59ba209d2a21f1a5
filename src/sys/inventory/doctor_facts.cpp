#include "sys/inventory/doctor_facts.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <sstream>
#include <variant>

#include <fmt/format.h>
#include <netdb.h>
#include <sched.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/srun_plugin.h"
#include "sys/gpu/cublaslt_file.h"
#include "sys/gpu/cuda_runtime.h"
#include "sys/gpu/nccl.h"
#include "sys/os/child_process.h"
#include "sys/os/deadline_call.h"

namespace cb {
namespace {

constexpr double kPatience = 5;  // seconds for srun, the name server and a library

std::optional<double> number(const std::optional<std::string>& text) {
  if (!text || text->empty() || text->find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  return std::strtod(text->c_str(), nullptr);
}

void lower(std::optional<double>& limit, const std::optional<double>& other) {
  if (other && (!limit || *other < *limit)) limit = other;
}

// "max 100000" or "200000 100000": microseconds in each period.
std::optional<double> quota_of(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::istringstream words(*text);
  std::string quota, period;
  words >> quota >> period;
  const auto used = number(quota), of = number(period);
  return used && of && *of > 0 ? std::optional(*used / *of) : std::nullopt;
}

std::optional<double> old_quota(const FsRoot& fs, const std::string& directory) {
  const auto used = number(fs.text(directory + "/cpu.cfs_quota_us"));
  const auto period = number(fs.text(directory + "/cpu.cfs_period_us"));
  return used && period && *period > 0 ? std::optional(*used / *period) : std::nullopt;
}

// Version 1 writes a number near 2^63 for "no limit".
std::optional<double> old_memory(const FsRoot& fs, const std::string& directory) {
  constexpr double kNoLimit = 1e18;
  const auto bytes = number(fs.text(directory + "/memory.limit_in_bytes"));
  return bytes && *bytes < kNoLimit ? bytes : std::nullopt;
}

// Calls `at` with the group's directory below `mount` and with each one above it.
void each_above(const std::string& mount, std::string group,
                const std::function<void(const std::string&)>& at) {
  for (; group.size() > 1; group.resize(group.rfind('/'))) at(mount + group);
  at(mount);
}

std::string file_in_path(const char* program) {
  const char* path = std::getenv("PATH");
  std::istringstream directories(path == nullptr ? "/usr/bin:/bin" : path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string file = directory + "/" + program;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

void read_rdma(const FsRoot& fs, DoctorFacts& facts) {
  facts.rdma_devices = fs.entries("/sys/class/infiniband").size();
  facts.rdma_opens = true;
  for (const std::string& name : fs.entries("/dev/infiniband")) {
    if (!name.starts_with("uverbs")) continue;
    facts.rdma_files = true;
    const auto file = fs.resolve("/dev/infiniband/" + name);
    facts.rdma_opens = facts.rdma_opens && ::access(file.c_str(), R_OK | W_OK) == 0;
  }
}

void read_processors(DoctorFacts& facts) {
  facts.cpus_online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) == 0)
    facts.cpus_allowed = CPU_COUNT(&allowed);
}

OpenedLibrary opened(const char* what, std::function<OpenedLibrary()> open) {
  if (auto out = call_with_deadline<OpenedLibrary>(kPatience, std::move(open))) return *out;
  return {.reason = said("doctor.opens_slowly", what, kPatience), .slow = true};
}

OpenedLibrary open_nccl() {
  const auto found = nccl::Library::find();
  if (const auto* library = std::get_if<nccl::Library>(&found)) return {.name = library->name()};
  return {.reason = std::get<Said>(found)};
}

OpenedLibrary open_cublaslt(int driver_major) {
  const DynamicLibrary library = cublaslt::open_file(driver_major);
  const Said reason = cublaslt::why_unfit(library, driver_major);
  return {.name = reason.empty() ? library.path() : "", .reason = reason};
}

// A library whose file hangs keeps the loader's lock: those after it are not tried.
OpenedLibrary not_tried(const char* why) { return {.reason = said(why), .slow = true}; }

// Whether the driver's library answers, and what it says of itself.
std::optional<cuda::Driver> read_driver(DoctorFacts& facts) {
  const auto driver = call_with_deadline<cuda::Driver>(kPatience, cuda::driver);
  facts.driver_hangs = !driver;
  if (!driver) return driver;
  facts.cuda_library = driver->opens;  // what a file's name promises counts less
  facts.driver_unfit = driver->reason;
  facts.driver = driver->version > 0 ? cuda::version_text(driver->version) : "";
  return driver;
}

void read_module(DoctorFacts& facts) {
  using Choice = std::optional<cuda::ModuleChoice>;
  if (!cuda::uses_modules()) return;
  const auto chosen = call_with_deadline<Choice>(kPatience, cuda::module_for_driver);
  facts.modules_hang = !chosen;
  facts.no_module = chosen && *chosen && (*chosen)->runtime == 0;
}

void read_gpu_libraries(DoctorFacts& facts) {
  if (facts.gpus == 0) return;
  const auto driver = read_driver(facts);
  if (driver) read_module(facts);
  if (!driver || facts.modules_hang) {
    facts.nccl = facts.cublaslt =
        not_tried(driver ? "doctor.not_tried_modules" : "doctor.not_tried_driver");
    return;
  }
  facts.nccl = opened("NCCL", open_nccl);
  if (facts.nccl.slow)
    facts.cublaslt = not_tried("doctor.not_tried_nccl");
  else
    facts.cublaslt =
        opened("cuBLASLt", [major = driver->version / 1000] { return open_cublaslt(major); });
}

void read_srun(DoctorFacts& facts) {
  facts.srun_plugin = srun_plugin_of_user();
  const std::string srun = file_in_path("srun");
  facts.srun = !srun.empty();
  if (!facts.srun) return;
  // It lists its plugins on stderr or stdout, by version.
  const ChildResult said = run_child({"/bin/sh", "-c", "exec srun --mpi=list 2>&1"},
                                     child_environment({}, {}), kPatience);
  if (!said.ok) return;
  facts.srun_pmix = said.out.find("pmix") != std::string::npos;
  std::istringstream listed(said.out);
  for (std::string word; listed >> word;)
    facts.srun_has_plugin |= word == facts.srun_plugin && word != "none";
}

NameLookup look_up(const std::string& name) {
  const double begin = monotonic_seconds();
  const auto code = call_with_deadline<int>(kPatience, [name] {
    addrinfo* found = nullptr;
    const int result = ::getaddrinfo(name.c_str(), nullptr, nullptr, &found);
    if (result == 0) ::freeaddrinfo(found);
    return result;
  });
  if (!code) return {};
  return {.seconds = monotonic_seconds() - begin, .known = *code == 0};
}

void read_inventory(const HostInventory& inventory, DoctorFacts& facts) {
  const Part* limits = inventory.find("limits");
  if (text_of(limits, "memlock_bytes") == "unlimited")
    facts.memlock_bytes = std::numeric_limits<double>::infinity();
  else
    facts.memlock_bytes = number_of(limits, "memlock_bytes");
  if (const auto clock = text_of(inventory.find("clock"), "synchronised"))
    facts.clock_synchronised = *clock == "yes";
  facts.memory_bytes = number_of(inventory.find("memory"), "total_bytes");
  facts.gpus = inventory.all("gpu").size();
  facts.nvml_library = inventory.find("library", "nvml") != nullptr;
  facts.cuda_library = inventory.find("library", "cuda") != nullptr;
  facts.verbs_library = inventory.find("library", "ibverbs") != nullptr;
  facts.mpi_library = text_of(inventory.find("library", "mpi"), "version").value_or("");
}

}  // namespace

CgroupLimits cgroup_limits(const FsRoot& fs) {
  CgroupLimits out;
  std::istringstream groups(fs.text("/proc/self/cgroup").value_or(""));
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string kinds = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string group = line.substr(second + 1);
    if (kinds == ",,")
      each_above("/sys/fs/cgroup", group, [&](const std::string& at) {
        lower(out.cpus, quota_of(fs.text(at + "/cpu.max")));
        lower(out.memory_bytes, number(fs.text(at + "/memory.max")));
      });
    if (kinds.find(",cpu,") != std::string::npos)
      each_above("/sys/fs/cgroup/cpu", group,
                 [&](const std::string& at) { lower(out.cpus, old_quota(fs, at)); });
    if (kinds.find(",memory,") != std::string::npos)
      each_above("/sys/fs/cgroup/memory", group,
                 [&](const std::string& at) { lower(out.memory_bytes, old_memory(fs, at)); });
  }
  return out;
}

DoctorFacts doctor_facts(const FsRoot& fs, const HostInventory& inventory) {
  DoctorFacts facts{.host = inventory.host};
  struct statvfs shm {};
  if (fs.exists("/dev/shm") && ::statvfs(fs.resolve("/dev/shm").c_str(), &shm) == 0)
    facts.shm_bytes = static_cast<double>(shm.f_blocks) * static_cast<double>(shm.f_frsize);
  read_inventory(inventory, facts);
  read_rdma(fs, facts);
  read_gpu_libraries(facts);
  read_processors(facts);
  const CgroupLimits limits = cgroup_limits(fs);
  facts.cpu_quota = limits.cpus;
  facts.memory_limit_bytes = limits.memory_bytes;
  facts.mpirun = file_in_path("mpirun");
  read_srun(facts);
  facts.own_name = look_up(facts.host);
  facts.localhost = look_up("localhost");
  return facts;
}

}  // namespace cb
