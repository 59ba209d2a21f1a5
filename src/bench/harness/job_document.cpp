#include "bench/harness/job_document.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <span>

#include <fmt/format.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "core/clock.h"
#include "core/secrets.h"
#include "sys/mpi/mpi.h"

namespace cb {
namespace {

constexpr std::array<std::string_view, 8> kAllowedPrefixes{
    "NCCL_", "UCX_", "OMPI_MCA_", "CUDA_", "OMP_", "OPENBLAS_", "BLIS_", "SLURM_JOB_ID"};

// What mpirun itself sets for its children: addresses and job ids of the moment, nobody's choice.
constexpr std::array<std::string_view, 6> kLauncherInternals{
    "OMPI_MCA_orte_",        "OMPI_MCA_ess",           "OMPI_MCA_pmix",
    "OMPI_MCA_initial_wdir", "OMPI_MCA_shmem_RUNTIME", "OMPI_MCA_mpi_oversubscribe"};

bool starts_with_any(std::string_view text, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](std::string_view p) { return text.starts_with(p); });
}

std::map<std::string, std::string> allowed_environment(bool redact) {
  std::map<std::string, std::string> out;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    const std::string_view entry = *e;
    const size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    if (starts_with_any(entry, kAllowedPrefixes) && !starts_with_any(entry, kLauncherInternals))
      out.emplace(entry.substr(0, equals),
                  redact ? std::string(kRedacted)
                         : setting_or_redacted(entry.substr(0, equals), entry.substr(equals + 1)));
  }
  return out;
}

// The command line as it was typed, from the kernel, so that a report can print it.
std::vector<std::string> command_line(bool redact) {
  std::ifstream in("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> out;
  for (std::string argument; std::getline(in, argument, '\0');) out.push_back(argument);
  return redact ? arguments_without_values(out) : arguments_without_secrets(out);
}

std::string pack_inventory(const HostInventory& inventory) {
  return inventory_to_json(inventory).dump(-1, ' ', false,
                                           nlohmann::json::error_handler_t::replace);
}

std::string new_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

Document begin_document(const RankMap& place, int ranks, bool redact) {
  const BuildInfo& build = build_info();
  Document document;
  document.tool.version = build.version;
  document.tool.commit = build.commit;
  document.tool.dirty = build.dirty;
  document.tool.build = {{"compiler", std::string(build.compiler)},
                         {"build_type", std::string(build.build_type)},
                         {"cuda", std::string(build.cuda)},
                         {"mpi", mpi::joined_library_name()},
                         {"sanitizers", std::string(build.sanitizers)}};
  document.run.id = new_id();
  document.run.started = utc_now();
  document.run.argv = command_line(redact);
  document.run.launcher = mpi::launcher_name();
  document.run.ranks = ranks;
  document.run.hosts = place.hosts;
  document.run.environment = allowed_environment(redact);
  return document;
}

std::vector<HostInventory> gather_inventories(Comm& comm, const RankMap& place,
                                              const HostInventory& mine) {
  std::vector<HostInventory> out;
  for (const std::string& blob : comm.gather(place.first_on_host() ? pack_inventory(mine) : "")) {
    if (!blob.empty()) out.push_back(inventory_from_json(nlohmann::json::parse(blob)));
  }
  return out;
}

}  // namespace cb
