#pragma once

#include <string>

#include "campaign/run.h"

namespace cb {

struct RunOptions {
  std::string profile;  // or the directory, with --resume
  std::string out;
  std::string hosts;
  std::string hostfile;
  std::string launcher = "auto";
  std::string profile_directory;
  std::vector<std::string> dirs;  // where steps that need a directory and name none measure
  std::string key;                // a private key's file, that signs what is measured
  int fan_out = 32;
  bool redact = false;  // no values of command lines and environments are recorded
  bool trust = false;   // with --resume: the campaign of somebody else may be executed
  bool resume = false;
  bool prove = false;  // that each check finds a planted fault
  bool dry_run = false;
  bool no_color = false;
};

// Everything run_campaign() needs, from the options or, with --resume, from the campaign's
// directory. Writes nothing. Throws UsageError.
RunSetup run_setup(const RunOptions& options);

// How jobs are started and where, from --launcher, --hosts and --hostfile. Throws UsageError.
struct Launching {
  LaunchSetup setup;
  std::vector<HostSlots> hosts;
};
Launching choose_launching(const RunOptions& options);

// The option names the campaign's directory with --resume, else --out or a fresh name below out/.
std::string campaign_directory(const RunOptions& options);

}  // namespace cb
