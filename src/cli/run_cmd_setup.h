#pragma once

#include <optional>
#include <string>

#include "campaign/run.h"

namespace cb {

struct RunOptions {
  std::string profile;  // name or file of a profile; with --resume the campaign's directory
  std::string out;
  std::string hosts;
  std::string hostfile;
  std::string launcher = "auto";
  std::string profile_directory;
  std::vector<std::string> dirs;  // for steps that need a directory and name none
  std::string key;                // file of a private key that signs what is measured
  int fan_out = 32;
  std::string spares;            // hosts that step in for those that are taken out
  std::string exclude = "lost";  // which hosts are taken out
  std::string only;              // measure only these hosts
  std::string into;              // of this campaign
  bool redact = false;           // record no values of command lines and environments
  bool trust = false;            // with --resume: a campaign begun by somebody else may be executed
  bool resume = false;
  bool prove = false;   // show that each check finds a planted fault
  bool copy = false;    // bring the program to the hosts
  std::string copy_to;  // below this directory
  bool dry_run = false;
  bool no_color = false;
  std::string prometheus;  // file for Prometheus text while it runs; empty: none
};

// A variable of this process.
std::optional<std::string> own_environment(const std::string& name);
// This program, as documents name it.
ToolInfo own_tool();
// Turns --only HOSTS --into DIR into the resumption that it is. Throws UsageError if one of them is
// missing.
void settle_options(RunOptions& options);

// Everything that run_campaign() needs, from the options or, with --resume, from the campaign's
// directory. Writes nothing. Throws UsageError.
RunSetup run_setup(const RunOptions& options);

// How and where jobs are started, from --launcher, --hosts and --hostfile. Throws UsageError.
struct Launching {
  LaunchSetup setup;
  std::vector<HostSlots> hosts;
};
Launching choose_launching(const RunOptions& options);

// The campaign's directory: --out; else with --resume the argument; else a fresh name below out/.
std::string campaign_directory(const RunOptions& options);

}  // namespace cb
