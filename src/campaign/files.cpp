#include "campaign/files.h"

#include <algorithm>

#include "campaign/directory.h"
#include "campaign/history.h"
#include "core/error.h"

namespace cb {

namespace fs = std::filesystem;

namespace {

// True for our own folders, which may be empty: no job has finished, or a signature could not be
// written.
bool is_own_folder(const std::string& name) {
  return name == "records" || name == "proofs" || name == "logs" ||
         name == CampaignPaths::kSignoffs;
}

}  // namespace

CampaignFiles campaign_files(const fs::path& directory) {
  CampaignFiles out;
  try {
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
      const std::string name = entry.path().lexically_relative(directory).generic_string();
      if (entry.is_symlink() || (!entry.is_regular_file() && !entry.is_directory()))
        out.other.push_back(name);
      else if (entry.is_regular_file())
        out.regular.push_back(name);
      else if (fs::is_empty(entry.path()) && !is_own_folder(name))
        out.empty.push_back(name);
    }
  } catch (const fs::filesystem_error& e) {
    throw UsageError(directory.string(), "", "cannot be read: " + e.code().message());
  }
  std::sort(out.regular.begin(), out.regular.end());
  std::sort(out.other.begin(), out.other.end());
  std::sort(out.empty.begin(), out.empty.end());
  return out;
}

bool is_inside(const std::string& file) {
  const fs::path path(file);
  return !file.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

bool is_paper(const std::string& file) {
  return file == CampaignPaths::kIssues || file == CampaignPaths::kChecklist;
}

bool is_history(const std::string& file) {
  return file == history_of(CampaignPaths::kIssues) ||
         file == history_of(CampaignPaths::kChecklist);
}

}  // namespace cb
