// Hidden subcommand: `run` starts it on a host to hear whether the host answers, and to end what a
// job left behind there (campaign/roll_call.h).
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "campaign/roll_call.h"
#include "cli/commands.h"
#include "core/build_info.h"
#include "core/text.h"
#include "sys/inventory/inventory.h"
#include "sys/os/processes.h"

namespace cb {
namespace {

ExitCode answer(const std::string& ended) {
  const int killed = ended.empty() ? 0 : kill_processes_with("--json", ended);
  const BuildInfo& build = build_info();
  std::cout << fmt::format("{} {} {} {}, {} left processes ended\n", terminal_safe(host_name()),
                           kRollCallAnswer, build.version, build.commit, killed)
            << std::flush;
  return ExitCode::ok;
}

}  // namespace

void add_roll_call_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand(kRollCall, "answers that this host is there");
  sub->group("");
  const auto ended = std::make_shared<std::string>();
  sub->add_option("--end", *ended, "kill what still writes this document")->type_name("FILE");
  sub->callback([&action, ended] { action = [ended] { return answer(*ended); }; });
}

}  // namespace cb
