#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "campaign/executor.h"
#include "campaign/hosts.h"

// `run --copy`: brings this program to every host through the launcher, and removes it afterwards
// (docs/design/decisions/0116-the-program-through-the-launcher.md).
namespace cb {

struct CopySetup {
  LaunchSetup launch;
  std::vector<HostSlots> hosts;
  ExecutorOptions executor;
  std::string id;                             // of the campaign: part of the folder's name
  std::filesystem::path logs;                 // the campaign's: gets copy.out and copy.err
  std::filesystem::path program;              // of this host
  std::vector<std::filesystem::path> beside;  // files that it opens beside itself
  // Tried in this order: the first place that every answering host can use is taken.
  std::vector<std::string> places;
  // The files go in pieces of that many bytes, each when the host has the last one. 0: all at once.
  size_t piece = 0;
};

// Where a host stands with the copy.
struct CopyRefusal {
  std::string host, place, why;
};

struct CopyEnd {
  std::string program;  // the same path on every host; empty: no place could be used anywhere
  std::vector<std::string> hosts = {};     // that have it
  std::vector<CopyRefusal> refusals = {};  // in all places that were tried
};

// The places that are tried if none is given.
std::vector<std::string> copy_places();

// Makes the folder clusterbench-ID in a place of every host and writes the files into it. Every
// file is compared with its SHA-256 there, and the program is started once. A folder of that name
// that this campaign's user has not made is left alone. `trying`: called before each place.
CopyEnd copy_program(const CopySetup& setup, const std::function<void(const std::string&)>& trying);

// Removes the files and the folder on these hosts, and nothing else: a folder that holds something
// more stays. Returns the hosts on which it is not gone.
std::vector<std::string> remove_copies(const CopySetup& setup, const CopyEnd& copies);

}  // namespace cb
