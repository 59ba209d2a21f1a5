#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cb {

// What lies below a campaign's directory: paths relative to it, with '/', sorted by bytes.
struct CampaignFiles {
  std::vector<std::string> regular;
  std::vector<std::string> other;  // links, devices, pipes: not ours, never followed
  std::vector<std::string> empty;  // directories that hold nothing, except our own
};

// Throws UsageError if the directory cannot be read.
CampaignFiles campaign_files(const std::filesystem::path& directory);

// True if a name read from a file stays below the directory that it is joined to.
bool is_inside(const std::string& file);

// is_paper: the file may change after a signature (issues and checklist). is_history: the file is
// the history of such a file, which only grows.
bool is_paper(const std::string& file);
bool is_history(const std::string& file);

// The page that `report` writes beside signatures. It is made from signed files; nobody signs it.
inline constexpr const char* kSignedReport = "report-signed.html";

}  // namespace cb
