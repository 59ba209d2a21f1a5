// `clusterbench list`: every case, what it needs, and whether this machine can run it.
#include <iostream>

#include <fmt/format.h>

#include "bench/registry.h"
#include "cli/commands.h"
#include "core/text.h"
#include "sys/inventory.h"

namespace cb {
namespace {

std::string needs_text(const Needs& needs) {
  std::string out;
  if (needs.ranks > 1) out += fmt::format("{} ranks", needs.ranks);
  if (needs.gpu) out += out.empty() ? "GPU" : ", GPU";
  if (needs.directory) out += out.empty() ? "directory" : ", directory";
  return out.empty() ? "–" : out;
}

std::string can_run(const Needs& needs, const HostInventory& inventory) {
  if (needs.gpu && inventory.find("gpu") == nullptr) return "no: no GPU on this host";
  return needs.ranks > 1 ? "yes, under mpirun or srun" : "yes";
}

ExitCode list_cases() {
  const HostInventory inventory = collect_inventory(FsRoot(), host_name());
  std::vector<std::vector<std::string>> rows{
      {"case", "device", "needs", "here", "what it measures"}};
  for (const CaseInfo& info : catalogue()) {
    if (info.name == "fake") continue;
    rows.push_back({info.name, info.device.empty() ? "–" : info.device, needs_text(info.needs),
                    can_run(info.needs, inventory), info.summary});
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
