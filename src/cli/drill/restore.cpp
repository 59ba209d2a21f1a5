#include <algorithm>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "cli/drill/measurement.h"
#include "cli/drill/runner.h"
#include "core/clock.h"
#include "core/error.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr double kUndoSeconds = 30;  // of the agent on one host

// The list is a file like any other: of the hosts that it names only those of the command line are
// called. A host may be known there by another name: then each host is asked for its own part.
std::vector<HostSlots> hosts_to_restore(const DrillSetup& setup, const UndoList& list) {
  std::vector<HostSlots> named;
  for (const Undo& u : list.open()) {
    const auto known = std::ranges::find(setup.hosts, u.host, &HostSlots::name);
    if (known == setup.hosts.end()) return setup.hosts;
    if (std::ranges::find(named, u.host, &HostSlots::name) == named.end()) named.push_back(*known);
  }
  return named;
}

}  // namespace

void restore_drills(const DrillSetup& setup) {
  const UndoList list(undo_file(setup.directory));
  for (const HostSlots& host : hosts_to_restore(setup, list)) {
    const fs::path stem = setup.directory / "restore-agent";
    const std::vector<std::string> words{setup.binary,         "drill", "agent", "--list",
                                         list.file().string(), "--undo"};
    Measurement agent(launch_command(setup.launch, {host}, 1, {}, words), stem, "");
    const double until = monotonic_seconds() + kUndoSeconds;
    while (!agent.poll() && monotonic_seconds() < until)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    agent.end();
  }
  std::string left;
  for (const Undo& u : list.open()) left += fmt::format("\n  {}: {} {}", u.host, u.action, u.part);
  if (!left.empty())
    throw Error(fmt::format("not undone:{}\n  see {}; next: reach the host, or undo it by hand",
                            left, (setup.directory / "restore-agent.err").string()));
}

}  // namespace cb
