#pragma once

#include <filesystem>
#include <string>

#include "campaign/directory.h"
#include "campaign/launcher.h"

namespace cb {

// How the document of one attempt comes back. Rank 0 writes it as a file if its host sees this
// directory. If not, it writes it as lines of its standard output, which the launcher brings here
// (docs/design/decisions/0113-documents-through-the-launcher.md).
struct WayBack {
  std::filesystem::path document;  // the file that the job is told to write
  std::filesystem::path log;       // of its standard output
  std::string token = {};          // passed as --return; empty: the job runs on this host

  // Where the launcher's standard output goes while the job runs. Hosts that see this file see the
  // directory.
  std::filesystem::path out() const;
};

WayBack way_back(const LaunchSetup& launch, std::filesystem::path document,
                 std::filesystem::path log);

// After the job's end: puts the document in its place, unless the job wrote it itself, and what
// else was written into the log. A document that is not whole is left out, and the log of standard
// error says so. Throws Error if the directory cannot be written.
void bring_back(const WayBack& way);

// The same for every attempt of which a killed run left the output.
void bring_back_leftovers(const CampaignPaths& paths);

}  // namespace cb
