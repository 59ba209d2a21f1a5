#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cb {

// What lies below a campaign's directory, relative to it, with '/', in the order of bytes.
struct CampaignFiles {
  std::vector<std::string> regular;
  std::vector<std::string> other;  // links, devices, pipes: nothing of ours; never followed
  std::vector<std::string> empty;  // directories that hold nothing, but for our own
};

// Throws UsageError if the directory cannot be read.
CampaignFiles campaign_files(const std::filesystem::path& directory);

// Whether a name read from a file stays below the directory that it is joined to.
bool is_inside(const std::string& file);

// Whether the file is one that may go on after a signature: issues and checklist, and whether it is
// one of their histories, which only ever grow.
bool is_paper(const std::string& file);
bool is_history(const std::string& file);

// What `report` writes beside signatures: made from what is signed, and signed by nobody itself.
inline constexpr const char* kSignedReport = "report-signed.html";

}  // namespace cb
