#include "cli/doctor_checks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"

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

// The driver's own library: what is wrong with it, and what to do.
std::optional<DoctorCheck> driver_fault(const char* id, const DoctorFacts& f) {
  if (f.driver_hangs)
    return failed(id, said("doctor.driver_hangs", f.gpus), said("doctor.restart_driver"));
  if (f.cuda_library && !f.driver_unfit.empty())
    return failed(id, said("doctor.driver_unfit", f.gpus, f.driver_unfit),
                  said("doctor.give_driver"));
  if (!f.cuda_library && !f.driver_unfit.empty())
    return failed(id, said("doctor.no_nccl", f.gpus, f.driver_unfit), said("doctor.give_gpu"));
  if (!f.nvml_library || !f.cuda_library)
    return failed(id,
                  said("doctor.gpu_no_library", f.gpus,
                       f.nvml_library ? "libcuda.so.1" : "libnvidia-ml.so.1"),
                  said("doctor.give_gpu"));
  return std::nullopt;
}

DoctorCheck gpu(const DoctorFacts& f) {
  constexpr const char* id = "gpu-driver";
  if (f.gpus == 0) return absent(id, said("doctor.no_gpu"));
  if (const auto fault = driver_fault(id, f)) return *fault;
  if (f.modules_hang)
    return failed(id, said("doctor.modules_hang", f.gpus), said("doctor.slow_modules"));
  if (f.no_module)
    return failed(id, said("doctor.no_module", f.gpus, f.driver), said("doctor.give_module"));
  return good(id, said("doctor.gpu", f.gpus));
}

// A library that GPU cases need beside the driver. The words are those that NCCL had alone.
DoctorCheck gpu_library(const char* id, const DoctorFacts& f, const OpenedLibrary& library,
                        const Said& next) {
  if (f.gpus == 0) return absent(id, said("doctor.no_gpu"));
  if (library.name.empty())
    return warned(id, said("doctor.no_nccl", f.gpus, library.reason),
                  f.driver_hangs   ? said("doctor.restart_driver")
                  : f.modules_hang ? said("doctor.slow_modules")
                  : library.slow   ? said("doctor.slow_library")
                                   : next);
  return good(id, said("doctor.nccl", library.name));
}

DoctorCheck nccl_library(const DoctorFacts& f) {
  return gpu_library("nccl", f, f.nccl, said("doctor.give_nccl"));
}

// The driver brings no cuBLAS: gemm, burn and the training steps take that of a CUDA Toolkit.
DoctorCheck cublas_library(const DoctorFacts& f) {
  return gpu_library("cublas", f, f.cublaslt, said("doctor.give_cublas"));
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
  return good(id, said("doctor.memory", bytes(*f.memory_bytes)));
}

DoctorCheck clock(const DoctorFacts& f) {
  constexpr const char* id = "clock";
  if (!f.clock_synchronised) return absent(id, said("doctor.no_clock"));
  return *f.clock_synchronised ? good(id, said("doctor.clock"))
                               : warned(id, said("doctor.clock_free"), said("doctor.set_clock"));
}

DoctorCheck mpi(const DoctorFacts& f) {
  constexpr const char* id = "mpi";
  const bool launcher = !f.mpirun.empty() || f.srun;
  const std::string started_by = f.mpirun.empty() ? "srun" : f.mpirun;
  if (!launcher) return warned(id, said("doctor.no_launcher"), said("doctor.install_mpi"));
  if (f.mpi_library.empty() || f.mpi_library == "none")
    return failed(id, said("doctor.no_mpi_library", started_by), said("doctor.name_mpi"));
  return good(id, said("doctor.mpi", f.mpi_library, started_by));
}

DoctorCheck pmix(const DoctorFacts& f) {
  constexpr const char* id = "pmix";
  if (!f.srun) return absent(id, said("doctor.no_slurm"));
  if (f.srun_has_plugin) return good(id, said("doctor.srun_plugin", f.srun_plugin));
  if (!f.srun_pmix) return warned(id, said("doctor.srun_silent"), said("doctor.try_srun"));
  return *f.srun_pmix ? good(id, said("doctor.pmix"))
                      : warned(id, said("doctor.no_pmix"), said("doctor.other_plugin"));
}

DoctorCheck name_check(const char* id, const std::string& name, const NameLookup& lookup,
                       const Said& next) {
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
