// `clusterbench list`: shows every case, what it needs, and whether this machine can run it.
#include <iostream>

#include <fmt/format.h>

#include "bench/registry.h"
#include "cli/commands.h"
#include "core/text.h"
#include "sys/inventory/inventory.h"
#include "sys/mpi/mpi.h"
#include "sys/os/dl_trial.h"

namespace cb {
namespace {

std::string needs_text(const Needs& needs) {
  std::string out;
  if (needs.ranks > 1) out += fmt::format("{} ranks", needs.ranks);
  if (needs.gpu) out += out.empty() ? "GPU" : ", GPU";
  if (needs.directory) out += out.empty() ? "directory" : ", directory";
  return out.empty() ? "–" : out;
}

// The reason without its details and next step, which the case itself gives when it runs.
std::string in_short(const std::string& reason) {
  return terminal_safe(reason.substr(0, reason.find_first_of(":;")));
}

std::string can_run(const Case& c, const FsRoot& fs, const HostInventory& inventory) {
  const Needs& needs = c.info.needs;
  if (needs.gpu && inventory.find("gpu") == nullptr) return "no: no GPU on this host";
  const Said lacks = c.lacks ? c.lacks(fs) : Said();
  if (!lacks.empty()) return "no: " + in_short(lacks.text());
  if (needs.ranks > 1) return "yes, under mpirun or srun";
  return needs.directory ? "yes, in a directory that you may write to" : "yes";
}

ExitCode list_cases() {
  if (!mpi::launched()) library_trial::begin();
  const FsRoot fs;
  const HostInventory inventory = collect_inventory(fs, host_name());
  std::vector<std::vector<std::string>> rows{
      {"case", "device", "needs", "here", "what it measures"}};
  for (const Case& c : all_cases()) {
    if (c.info.hidden) continue;
    rows.push_back({c.info.name, c.info.device.empty() ? "–" : c.info.device,
                    needs_text(c.info.needs), can_run(c, fs, inventory), c.info.summary});
  }
  std::cout << text_table(rows, {});
  return ExitCode::ok;
}

}  // namespace

void add_list_command(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("list", "every case, what it needs, and whether this machine can run it");
  sub->group("Other");
  sub->footer("Example:\n  clusterbench list");
  sub->callback([&action] { action = list_cases; });
}

}  // namespace cb
