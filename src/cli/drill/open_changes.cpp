#include "cli/drill/open_changes.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/drill/runner.h"
#include "cli/drill/undo.h"
#include "core/error.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// Nothing if all is undone.
std::string changes_of(const fs::path& directory) {
  const std::string next =
      fmt::format("; next: clusterbench drill restore {} --hosts …", directory.string());
  try {
    const std::vector<Undo> open = UndoList(undo_file(directory)).open();
    if (open.empty()) return "";
    return fmt::format("{}: {} {} of a drill is not undone{}", open.front().host,
                       open.front().action, open.front().part, next);
  } catch (const UsageError&) {
    return fmt::format("{} holds a list of changes that is not this user's{}", directory.string(),
                       next);
  }
}

}  // namespace

std::vector<std::string> open_drill_changes(const fs::path& campaign) {
  std::vector<std::string> out;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(campaign / "drills", none)) {
    if (!fs::exists(undo_file(entry.path()), none)) continue;
    if (std::string line = changes_of(entry.path()); !line.empty()) out.push_back(std::move(line));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace cb
