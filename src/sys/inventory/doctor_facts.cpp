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
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/path_search.h"
#include "core/srun_plugin.h"
#include "sys/gpu/cublaslt_file.h"
#include "sys/gpu/cuda_runtime.h"
#include "sys/gpu/nccl.h"
#include "sys/mpi/mpi.h"
#include "sys/os/child_process.h"
#include "sys/os/deadline_call.h"
#include "sys/os/dl_trial.h"

namespace cb {
namespace {

constexpr double kPatience = 5;  // seconds for srun and the name server
constexpr double kLibraryPatience = library_trial::kPatience;

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

std::optional<double> process_memory() {
  std::optional<double> out;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      lower(out, static_cast<double>(limit.rlim_cur));
  }
  return out;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
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

OpenedLibrary opened(const char* what, const char* named_by, std::function<OpenedLibrary()> open) {
  auto answer = call_with_deadline<OpenedLibrary>(kLibraryPatience, std::move(open));
  OpenedLibrary out =
      answer ? *answer
             : OpenedLibrary{.reason = said("doctor.opens_slowly", what, kLibraryPatience),
                             .slow = true};
  out.named = variable(named_by);
  return out;
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
  if (facts.driver_hangs) return std::nullopt;
  const auto driver = call_with_deadline<cuda::Driver>(kLibraryPatience, cuda::driver);
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
  facts.named_module = variable("CLUSTERBENCH_CUDA_MODULE");
  const auto chosen = call_with_deadline<Choice>(kLibraryPatience, cuda::module_for_driver);
  facts.modules_hang = !chosen;
  if (!chosen || !*chosen) return;
  facts.no_module = (*chosen)->runtime == 0;
  facts.unusable_modules = (*chosen)->unusable;
}

void open_gpu_libraries(DoctorFacts& facts) {
  const auto driver = read_driver(facts);
  if (driver) read_module(facts);
  if (!driver || facts.modules_hang) {
    facts.nccl = facts.cublaslt =
        not_tried(driver ? "doctor.not_tried_modules" : "doctor.not_tried_driver");
    return;
  }
  facts.nccl = opened("NCCL", "CLUSTERBENCH_NCCL_LIBRARY", open_nccl);
  if (facts.nccl.slow)
    facts.cublaslt = not_tried("doctor.not_tried_nccl");
  else
    facts.cublaslt = opened("cuBLASLt", "CLUSTERBENCH_CUBLASLT_LIBRARY",
                            [major = driver->version / 1000] { return open_cublaslt(major); });
}

void read_gpu_libraries(DoctorFacts& facts) {
  facts.named_driver = cuda::named_driver();
  if (facts.gpus == 0) return;
  try {
    open_gpu_libraries(facts);
  } catch (const Error& e) {  // no thread to wait for them
    facts.cuda_library = false;
    facts.driver_unfit = facts.nccl.reason = facts.cublaslt.reason = e.said();
  }
}

// It lists its plugins on stderr or stdout, by version.
void ask_srun(DoctorFacts& facts) {
  try {
    const ChildResult said = run_child({"/bin/sh", "-c", "exec srun --mpi=list 2>&1"},
                                       child_environment({}, {}), kPatience);
    if (said.ok) facts.srun_plugins = srun_plugins_of(said.out);
  } catch (const Error& e) {  // no process can be started
    facts.srun_unasked = e.said();
  }
}

void read_srun(DoctorFacts& facts) {
  facts.srun_plugin = srun_plugin_of_user();
  facts.srun_arguments = variable("CLUSTERBENCH_SRUN_ARGS");
  const std::string srun = file_in_path("srun");
  facts.srun = !srun.empty();
  if (facts.srun) ask_srun(facts);
}

NameLookup ask_for(const std::string& name) {
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

NameLookup look_up(const std::string& name) {
  try {
    return ask_for(name);
  } catch (const Error& e) {  // no thread to wait for it
    return {.unasked = e.said()};
  }
}

// Takes the reason why NVML says nothing of any GPU. False if it is one of this GPU.
bool read_nvml_fault(const Said& why, DoctorFacts& facts) {
  const std::string& id = why.message().id;
  const bool is_closed = id == "nvml.not_opened" || id == "nvml.too_old";
  if (!is_closed && id != "nvml.hangs" && id != "nvml.init") return false;
  facts.nvml_opens = !is_closed;
  facts.nvml_hangs = id == "nvml.hangs";
  facts.nvml_fault = why;
  return true;
}

SilentGpus& silent_as(const std::string& id, DoctorFacts& facts) {
  if (id == "nvml.virtual_function" || id == "nvml.for_machines") return facts.of_machines;
  if (id == "nvml.other_driver" || id == "nvml.excluded") return facts.not_driven;
  if (id == "nvml.not_given") return facts.not_given;
  if (id == "nvml.may_be_lost") return facts.may_be_lost;
  return id == "nvml.unlisted" ? facts.unlisted : facts.lost;
}

void read_nvml(const HostInventory& inventory, DoctorFacts& facts) {
  facts.named_nvml = variable("CLUSTERBENCH_NVML_LIBRARY");
  facts.nvml_opens = true;
  for (const Part* gpu : inventory.all("gpu")) {
    const auto why = gpu->unavailable.find("nvml");
    if (why == gpu->unavailable.end()) continue;
    if (read_nvml_fault(why->second, facts)) continue;
    SilentGpus& silent = silent_as(why->second.message().id, facts);
    if (silent.count++ == 0) silent.why = why->second;
    silent.addresses += (silent.addresses.empty() ? "" : ", ") + gpu->id;
  }
  facts.gpus -= facts.of_machines.count;
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
  if (const Part* failures = inventory.find("inventory"); failures != nullptr)
    if (const auto why = failures->unavailable.find("gpu"); why != failures->unavailable.end())
      facts.gpus_unread = why->second;
  read_nvml(inventory, facts);
  facts.nvml_library = facts.nvml_opens || inventory.find("library", "nvml") != nullptr;
  facts.verbs_library = inventory.find("library", "ibverbs") != nullptr;
  if (const Part* module = inventory.find("cuda"); module != nullptr)
    if (const auto why = module->unavailable.find("module"); why != module->unavailable.end())
      facts.driver_hangs = why->second.message().id == "inventory.driver_hangs";
  facts.mpi_library = text_of(inventory.find("library", "mpi"), "version").value_or("");
  facts.mpi_unopened = mpi::why_no_library();
  facts.named_mpi = variable("CLUSTERBENCH_MPI_LIBRARY");
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

std::vector<std::string> srun_plugins_of(const std::string& listed) {
  std::vector<std::string> out;
  std::istringstream lines(listed);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.rfind(':') + 1);   // "srun: pmi2", "… versions available: pmix_v4,pmix_v5"
    if (line.ends_with("...")) continue;  // "MPI plugin types are..."
    std::ranges::replace(line, ',', ' ');
    std::istringstream words(line);
    for (std::string word; words >> word;) out.push_back(word);
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
  facts.process_memory_bytes = process_memory();
  facts.mpirun = file_in_path("mpirun");
  read_srun(facts);
  facts.own_name = look_up(facts.host);
  facts.localhost = look_up("localhost");
  return facts;
}

}  // namespace cb
