#include "cli/doctor_checks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/messages/mentions.h"
#include "core/text.h"
#include "core/units.h"
#include "sys/os/dl.h"
#include "sys/os/dl_trial.h"

namespace cb {
namespace {

constexpr double kMebibyte = 1 << 20;
constexpr double kGibibyte = 1 << 30;
// Docker's and Kubernetes's default, with which NCCL and MPI fail on hosts with several ranks.
constexpr double kSmallShm = 64 * kMebibyte;
constexpr double kPlainShm = kGibibyte;
constexpr double kSmallMemlock = kGibibyte;  // a few queue pairs with their buffers
constexpr double kSlowLookup = 1;            // seconds
constexpr double kMostOfMemory = 0.9;

DoctorCheck good(const char* id, Said seen) { return {id, DoctorState::ok, std::move(seen)}; }
DoctorCheck absent(const char* id, Said seen) {
  return {id, DoctorState::not_checked, std::move(seen)};
}
DoctorCheck warned(const char* id, Said seen, Said next) {
  return {id, DoctorState::warn, std::move(seen), std::move(next)};
}
DoctorCheck failed(const char* id, Said seen, Said next) {
  return {id, DoctorState::fail, std::move(seen), std::move(next)};
}

Quantity bytes(double value) { return {value, "bytes"}; }

DoctorCheck shared_memory(const DoctorFacts& f) {
  constexpr const char* id = "shared-memory";
  if (!f.shm_bytes) return failed(id, said("doctor.no_shm"), said("doctor.mount_shm"));
  const Said seen = said("doctor.shm", bytes(*f.shm_bytes));
  if (*f.shm_bytes <= kSmallShm) return failed(id, seen, said("doctor.more_shm"));
  return *f.shm_bytes < kPlainShm ? warned(id, seen, said("doctor.more_shm")) : good(id, seen);
}

DoctorCheck locked_memory(const DoctorFacts& f) {
  constexpr const char* id = "locked-memory";
  if (!f.memlock_bytes) return absent(id, said("doctor.no_limits"));
  if (std::isinf(*f.memlock_bytes)) return good(id, said("doctor.memlock_unlimited"));
  const Said seen = said("doctor.memlock", bytes(*f.memlock_bytes));
  if (f.rdma_devices == 0) return good(id, seen);
  return *f.memlock_bytes < kSmallMemlock ? failed(id, seen, said("doctor.more_memlock"))
                                          : warned(id, seen, said("doctor.more_memlock"));
}

DoctorCheck rdma(const DoctorFacts& f) {
  constexpr const char* id = "rdma";
  if (f.rdma_devices == 0) return absent(id, said("doctor.no_rdma"));
  if (!f.rdma_files)
    return failed(id, said("doctor.rdma_no_files", f.rdma_devices), said("doctor.give_rdma"));
  if (!f.rdma_opens) return failed(id, said("doctor.rdma_closed"), said("doctor.open_rdma"));
  if (!f.verbs_library) return failed(id, said("doctor.no_verbs"), said("doctor.install_verbs"));
  return good(id, said("doctor.rdma", f.rdma_devices));
}

// What `why` says is mended first: the library that another one needs. Then the file that a
// variable names.
Said step_of_library(const char* variable, const std::string& value, const Said& why,
                     const char* otherwise) {
  if (lacks_library(why)) return said("doctor.install_needed");
  return value.empty() ? said(otherwise) : said("doctor.mend_variable", variable, value);
}

Said step_of_unsafe_nvml(const DoctorFacts& f) {
  const Said& why = f.nvml_fault.empty() ? f.gpus_unread : f.nvml_fault;
  return step_of_library("CLUSTERBENCH_NVML_LIBRARY", f.named_nvml, why, "doctor.driver_again");
}

// What keeps NVML from answering for the GPUs. A library that is not there has a sentence of its
// own.
std::optional<DoctorCheck> nvml_fault(const char* id, const DoctorFacts& f) {
  if (f.nvml_fault.empty()) return std::nullopt;
  const Said seen = said("doctor.no_nccl", f.gpus, f.nvml_fault);
  if (f.nvml_hangs) return failed(id, seen, said("doctor.restart_driver"));
  if (library_trial::is_unsafe(f.nvml_fault)) return failed(id, seen, step_of_unsafe_nvml(f));
  if (f.nvml_opens) return failed(id, seen, said("doctor.reload_driver"));
  if (!f.nvml_library && f.named_nvml.empty()) return std::nullopt;
  return failed(
      id, seen,
      step_of_library("CLUSTERBENCH_NVML_LIBRARY", f.named_nvml, f.nvml_fault, "doctor.give_gpu"));
}

Said counted(const char* id, const DoctorFacts& f, const SilentGpus& silent) {
  return said(id, silent.count, f.gpus, silent.addresses, silent.why);
}

// GPUs that NVML has to answer for, and does not.
std::optional<DoctorCheck> gpu_fault(const char* id, const DoctorFacts& f) {
  if (f.lost.count > 0)
    return failed(id, counted("doctor.gpus_lost", f, f.lost), said("doctor.reset_gpu"));
  if (f.may_be_lost.count > 0)
    return failed(id, said("doctor.gpus_may_be_lost", f.may_be_lost.addresses, f.may_be_lost.why),
                  said("doctor.reset_gpu"));
  if (f.unlisted.count > 0)
    return failed(id, counted("doctor.gpus_unlisted", f, f.unlisted), said("doctor.reset_gpu"));
  return std::nullopt;
}

// GPUs that may be meant for others.
std::optional<DoctorCheck> gpu_lack(const char* id, const DoctorFacts& f) {
  if (f.not_given.count > 0)
    return warned(id, counted("doctor.gpus_unlisted", f, f.not_given),
                  said("doctor.give_all_gpus"));
  if (f.not_driven.count > 0)
    return warned(id, counted("doctor.gpus_unlisted", f, f.not_driven), said("doctor.bind_gpus"));
  return std::nullopt;
}

std::optional<DoctorCheck> cuda_fault(const char* id, const DoctorFacts& f) {
  if (f.driver_hangs)
    return failed(id, said("doctor.driver_hangs", f.gpus), said("doctor.restart_driver"));
  if (f.driver_unfit.empty()) return std::nullopt;
  return failed(
      id, said(f.cuda_library ? "doctor.driver_unfit" : "doctor.no_nccl", f.gpus, f.driver_unfit),
      step_of_library("CLUSTERBENCH_CUDA_LIBRARY", f.named_driver, f.driver_unfit,
                      library_trial::is_unsafe(f.driver_unfit) ? "doctor.driver_again"
                      : f.cuda_library                         ? "doctor.give_driver"
                                                               : "doctor.give_gpu"));
}

// The driver's own libraries: what is wrong with them, and what to do.
std::optional<DoctorCheck> driver_fault(const char* id, const DoctorFacts& f) {
  if (const auto fault = cuda_fault(id, f)) return fault;
  if (const auto fault = nvml_fault(id, f)) return fault;
  if (const auto fault = gpu_fault(id, f)) return fault;
  if (!f.nvml_library || !f.cuda_library)
    return failed(id,
                  said("doctor.gpu_no_library", f.gpus,
                       f.nvml_library ? "libcuda.so.1" : "libnvidia-ml.so.1"),
                  said("doctor.give_gpu"));
  return std::nullopt;
}

// The files of this program's CUDA modules: the driver needs one of them.
std::optional<DoctorCheck> module_fault(const char* id, const DoctorFacts& f) {
  if (f.modules_hang)
    return failed(id, said("doctor.modules_hang", f.gpus), said("doctor.slow_modules"));
  const Said unusable = said("doctor.no_nccl", f.gpus, f.unusable_modules);
  const bool is_slow = library_trial::is_slow(f.unusable_modules);
  const Said step = step_of_library("CLUSTERBENCH_CUDA_MODULE", f.named_module, f.unusable_modules,
                                    is_slow ? "doctor.slow_modules" : "doctor.unpack_again");
  if (f.no_module && !f.unusable_modules.empty()) return failed(id, unusable, step);
  if (f.no_module && !f.named_module.empty())
    return failed(id, said("doctor.named_module_new", f.gpus, f.driver), step);
  if (f.no_module)
    return failed(id, said("doctor.no_module", f.gpus, f.driver), said("doctor.give_module"));
  if (!f.unusable_modules.empty()) return warned(id, unusable, step);
  return std::nullopt;
}

Said step_of_unread(const DoctorFacts& f) {
  if (library_trial::is_unsafe(f.gpus_unread) || mentions(f.gpus_unread.message(), {"dl.is_set"}))
    return step_of_unsafe_nvml(f);
  if (f.gpus_unread.message().id == "thread.not_started") return said("doctor.allow_processes");
  return said(f.gpus_unread.message().id == "nvml.hangs" ? "doctor.restart_driver"
                                                         : "doctor.reload_driver");
}

DoctorCheck gpu(const DoctorFacts& f) {
  constexpr const char* id = "gpu-driver";
  if (f.gpus == 0 && !f.gpus_unread.empty())
    return failed(id, said("doctor.gpus_unread", f.gpus_unread), step_of_unread(f));
  const SilentGpus& elsewhere = f.of_machines;
  if (f.gpus == 0 && elsewhere.count > 0)
    return absent(id, said("doctor.gpus_of_machines", elsewhere.count, elsewhere.why));
  if (f.gpus == 0) return absent(id, said("doctor.no_gpu"));
  if (const auto fault = driver_fault(id, f)) return *fault;
  const auto fault = module_fault(id, f);
  if (fault && fault->state == DoctorState::fail) return *fault;
  if (const auto lack = gpu_lack(id, f)) return *lack;
  if (fault) return *fault;
  if (elsewhere.count == 0) return good(id, said("doctor.gpu", f.gpus));
  return good(id, said("doctor.gpu_and_machines", f.gpus, elsewhere.count));
}

// A slow file may open the next time; another is opened where a variable names none, or another.
Said step_of_unsafe(const char* variable, const std::string& value, const Said& why,
                    const Said& next) {
  if (lacks_library(why)) return said("doctor.install_needed");
  std::vector<Said> steps;
  if (library_trial::is_slow(why)) steps.push_back(said("doctor.slow_library"));
  if (!value.empty()) steps.push_back(said("doctor.mend_variable", variable, value));
  return steps.empty() ? next : said_list(steps);
}

// A library that GPU cases need beside the driver. The words are those that NCCL had alone.
DoctorCheck gpu_library(const char* id, const DoctorFacts& f, const OpenedLibrary& library,
                        const char* variable, const Said& next) {
  if (f.gpus == 0 && !f.gpus_unread.empty()) return absent(id, said("doctor.not_tried_gpus"));
  if (f.gpus == 0) return absent(id, said("doctor.no_gpu"));
  if (library.name.empty())
    return warned(id, said("doctor.no_nccl", f.gpus, library.reason),
                  f.driver_hangs   ? said("doctor.restart_driver")
                  : f.modules_hang ? said("doctor.slow_modules")
                  : library.slow   ? said("doctor.slow_library")
                  : library_trial::is_unsafe(library.reason) || lacks_library(library.reason)
                      ? step_of_unsafe(variable, library.named, library.reason, next)
                      : next);
  return good(id, said("doctor.nccl", library.name));
}

DoctorCheck nccl_library(const DoctorFacts& f) {
  return gpu_library("nccl", f, f.nccl, "CLUSTERBENCH_NCCL_LIBRARY", said("doctor.give_nccl"));
}

// The driver brings no cuBLAS: gemm, burn and the training steps take that of a CUDA Toolkit.
DoctorCheck cublas_library(const DoctorFacts& f) {
  return gpu_library("cublas", f, f.cublaslt, "CLUSTERBENCH_CUBLASLT_LIBRARY",
                     said("doctor.give_cublas"));
}

DoctorCheck processors(const DoctorFacts& f) {
  constexpr const char* id = "processors";
  if (f.cpus_allowed == 0) return absent(id, said("doctor.no_limits"));
  if (f.cpu_quota && *f.cpu_quota < f.cpus_allowed)
    return warned(id, said("doctor.cpu_quota", *f.cpu_quota, f.cpus_allowed),
                  said("doctor.more_cpus"));
  const Said seen = said("doctor.cpus", f.cpus_allowed, f.cpus_online);
  return f.cpus_allowed < f.cpus_online ? warned(id, seen, said("doctor.more_cpus"))
                                        : good(id, seen);
}

DoctorCheck memory(const DoctorFacts& f) {
  constexpr const char* id = "memory";
  if (!f.memory_bytes) return absent(id, said("doctor.no_limits"));
  if (f.memory_limit_bytes && *f.memory_limit_bytes < kMostOfMemory * *f.memory_bytes)
    return warned(id,
                  said("doctor.memory_limit", bytes(*f.memory_limit_bytes), bytes(*f.memory_bytes)),
                  said("doctor.more_memory"));
  if (f.process_memory_bytes && *f.process_memory_bytes < kMostOfMemory * *f.memory_bytes)
    return warned(
        id, said("doctor.process_memory", bytes(*f.process_memory_bytes), bytes(*f.memory_bytes)),
        said("doctor.lift_memory"));
  return good(id, said("doctor.memory", bytes(*f.memory_bytes)));
}

DoctorCheck clock(const DoctorFacts& f) {
  constexpr const char* id = "clock";
  if (!f.clock_synchronised) return absent(id, said("doctor.no_clock"));
  return *f.clock_synchronised ? good(id, said("doctor.clock"))
                               : warned(id, said("doctor.clock_free"), said("doctor.set_clock"));
}

// True if no file had any of the names: the loader says the same of each.
bool none_found(const Said& why) {
  constexpr std::string_view kMissing =
      ": cannot open shared object file: No such file or directory";
  const std::string& text = why.text();
  return why.message().id.empty() && text.ends_with(kMissing) &&
         text.find(kMissing) == text.size() - kMissing.size();
}

DoctorCheck mpi(const DoctorFacts& f) {
  constexpr const char* id = "mpi";
  const bool launcher = !f.mpirun.empty() || f.srun;
  const std::string started_by = f.mpirun.empty() ? "srun" : f.mpirun;
  if (!launcher) return warned(id, said("doctor.no_launcher"), said("doctor.install_mpi"));
  if (!f.mpi_unopened.empty() && !none_found(f.mpi_unopened))
    return failed(id, said("doctor.mpi_unsafe", started_by, f.mpi_unopened),
                  step_of_unsafe("CLUSTERBENCH_MPI_LIBRARY", f.named_mpi, f.mpi_unopened,
                                 said("doctor.name_mpi")));
  if (f.mpi_library.empty() || f.mpi_library == "none")
    return failed(id, said("doctor.no_mpi_library", started_by), said("doctor.name_mpi"));
  return good(id, said("doctor.mpi", f.mpi_library, started_by));
}

// Slurm takes a pmix of some version ("pmix_v5") where pmix is asked for.
bool srun_has(const DoctorFacts& f, const std::string& plugin) {
  return std::ranges::any_of(*f.srun_plugins, [&](const std::string& listed) {
    return listed == plugin || (plugin == "pmix" && listed.starts_with("pmix_v"));
  });
}

// The plugin that the user chose is the one that starts the ranks, whatever else srun has.
DoctorCheck named_plugin(const char* id, const DoctorFacts& f) {
  if (f.srun_plugin == "none")
    return warned(id, said("doctor.srun_no_plugin", f.srun_arguments), said("doctor.other_plugin"));
  if (srun_has(f, f.srun_plugin)) return good(id, said("doctor.srun_plugin", f.srun_plugin));
  return failed(id,
                said("doctor.srun_lacks", f.srun_plugin, f.srun_arguments,
                     fmt::format("{}", fmt::join(*f.srun_plugins, " "))),
                said("doctor.mend_srun_arguments"));
}

DoctorCheck pmix(const DoctorFacts& f) {
  constexpr const char* id = "pmix";
  if (!f.srun) return absent(id, said("doctor.no_slurm"));
  if (!f.srun_unasked.empty())
    return warned(id, said("doctor.srun_unasked", f.srun_unasked), said("doctor.allow_processes"));
  if (!f.srun_plugins) return warned(id, said("doctor.srun_silent"), said("doctor.try_srun"));
  if (!f.srun_plugin.empty()) return named_plugin(id, f);
  return srun_has(f, "pmix") ? good(id, said("doctor.pmix"))
                             : warned(id, said("doctor.no_pmix"), said("doctor.other_plugin"));
}

DoctorCheck name_check(const char* id, const std::string& name, const NameLookup& lookup,
                       const Said& next) {
  if (!lookup.unasked.empty())
    return warned(id, said("doctor.name_unasked", name, lookup.unasked),
                  said("doctor.allow_processes"));
  if (!lookup.seconds) return failed(id, said("doctor.name_silent", name), next);
  const Said seen = said("doctor.name_after", name, Quantity{*lookup.seconds, "seconds"});
  if (*lookup.seconds > kSlowLookup) return warned(id, seen, next);
  if (!lookup.known) return warned(id, said("doctor.name_unknown", name), next);
  return good(id, said("doctor.name", name));
}

DoctorCheck own_name(const DoctorFacts& f) {
  return name_check("own-name", f.host, f.own_name, said("doctor.name_in_hosts", f.host));
}

DoctorCheck localhost(const DoctorFacts& f) {
  return name_check("localhost", "localhost", f.localhost, said("doctor.localhost_in_hosts"));
}

std::string word(Lang lang, const char* id) { return said(id).in(lang); }

std::string state_word(Lang lang, DoctorState state) {
  switch (state) {
    case DoctorState::ok:
      return word(lang, "doctor.state_ok");
    case DoctorState::warn:
      return word(lang, "doctor.state_warn");
    case DoctorState::fail:
      return word(lang, "doctor.state_fail");
    case DoctorState::not_checked:
      return word(lang, "doctor.state_open");
  }
  return "";
}

}  // namespace

const char* doctor_state_name(DoctorState state) {
  switch (state) {
    case DoctorState::ok:
      return "ok";
    case DoctorState::warn:
      return "warn";
    case DoctorState::fail:
      return "fail";
    case DoctorState::not_checked:
      return "not checked";
  }
  return "";
}

std::vector<DoctorCheck> doctor_checks(const DoctorFacts& facts) {
  return {shared_memory(facts), locked_memory(facts), rdma(facts),
          gpu(facts),           nccl_library(facts),  cublas_library(facts),
          processors(facts),    memory(facts),        clock(facts),
          mpi(facts),           pmix(facts),          own_name(facts),
          localhost(facts)};
}

bool host_fails(const DoctorHost& host) {
  return std::ranges::find(host.checks, DoctorState::fail, &DoctorCheck::state) !=
         host.checks.end();
}

std::string doctor_table(std::span<const DoctorHost> hosts, Lang lang) {
  std::string out;
  for (const DoctorHost& host : hosts) {
    std::vector<std::vector<std::string>> rows{
        {word(lang, "doctor.check"), word(lang, "doctor.state"), word(lang, "doctor.seen"),
         word(lang, "doctor.next")}};
    for (const DoctorCheck& c : host.checks) {
      rows.push_back({terminal_safe(c.id), state_word(lang, c.state),
                      terminal_safe(c.seen.in(lang)), terminal_safe(c.next.in(lang))});
    }
    out += (out.empty() ? "" : "\n") + terminal_safe(host.host) + "\n" + text_table(rows, {});
  }
  return out;
}

}  // namespace cb
