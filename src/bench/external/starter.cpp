#include "bench/external/starter.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/inherited.h"
#include "sys/os/child_process.h"

namespace cb {
namespace {

using Words = std::vector<std::string>;

void append(Words& to, const Words& more) { to.insert(to.end(), more.begin(), more.end()); }

Words open_mpi_words(const StartRequest& r, const std::string& processes) {
  Words out{"mpirun", "-np", processes};
  if (r.hosts.size() > 1) {
    std::string list;
    for (const std::string& host : r.hosts)
      list += fmt::format("{}{}:{}", list.empty() ? "" : ",", host, r.per_host);
    append(out, {"--host", list});
  } else {
    out.emplace_back("--oversubscribe");  // the slots that the job has are those of its one rank
  }
  if (r.arguments.empty()) append(out, {"--bind-to", "none"});
  return out;
}

Words hydra_words(const StartRequest& r, const std::string& processes) {
  Words out{"mpirun", "-np", processes};
  if (r.hosts.size() > 1)
    append(out, {"-hosts", fmt::format("{}", fmt::join(r.hosts, ",")), "-ppn",
                 std::to_string(r.per_host)});
  return out;
}

Words srun_words(const StartRequest& r, const std::string& processes) {
  return {"srun",
          "--overlap",  // within the job's own allocation, beside its waiting ranks
          "--mpi=" + r.plugin,
          fmt::format("--nodes={}", r.hosts.size()),
          fmt::format("--nodelist={}", fmt::join(r.hosts, ",")),
          fmt::format("--ntasks={}", processes),
          fmt::format("--ntasks-per-node={}", r.per_host),
          "--kill-on-bad-exit=1"};
}

}  // namespace

Starter mpirun_kind(const std::string& version_text) {
  const bool open = version_text.find("Open MPI") != std::string::npos ||
                    version_text.find("OpenRTE") != std::string::npos ||
                    version_text.find("PRRTE") != std::string::npos;
  return open ? Starter::open_mpi : Starter::hydra;
}

std::vector<std::string> start_command(const StartRequest& r) {
  const auto processes =
      std::to_string(r.per_host * static_cast<int64_t>(std::max<size_t>(1, r.hosts.size())));
  Words out;
  if (r.starter == Starter::open_mpi) out = open_mpi_words(r, processes);
  if (r.starter == Starter::hydra) out = hydra_words(r, processes);
  if (r.starter == Starter::srun) out = srun_words(r, processes);
  if (r.starter != Starter::none) append(out, r.arguments);
  append(out, r.program);
  return out;
}

std::vector<std::string> start_environment(const std::map<std::string, std::string>& set) {
  // The job's own placement, too, is not that of the program.
  std::vector<std::string> dropped{
      "OMPI_MCA_pmix", "OMPI_MCA_shmem_RUNTIME", "OMPI_MCA_mpi_oversubscribe",
      "SLURM_PMI",     "SLURM_CPU_BIND",         "SLURM_DISTRIBUTION"};
  for (const std::string_view name : process_variables()) dropped.emplace_back(name);
  return child_environment(dropped, set);
}

std::vector<std::string> filled(const std::vector<std::string>& arguments,
                                const std::map<std::string, std::string>& values) {
  std::vector<std::string> out = arguments;
  for (std::string& word : out) {
    for (const auto& [name, value] : values) {
      const std::string mark = "{" + name + "}";
      for (size_t at = word.find(mark); at != std::string::npos;
           at = word.find(mark, at + value.size()))
        word.replace(at, mark.size(), value);
    }
  }
  return out;
}

}  // namespace cb
