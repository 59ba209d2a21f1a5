#include "core/output_files.h"

#include <fmt/format.h>

#include "core/file.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 4;  // folders of a campaign that its files lie in

// Where the file is or will be; nothing for a pipe or a device, which writing does not replace.
std::optional<fs::path> place_of_file(const std::string& name) {
  if (name.empty() || name == kStandardOutput) return std::nullopt;
  std::error_code failed;
  if (fs::exists(name, failed) && !fs::is_regular_file(name, failed)) return std::nullopt;
  const fs::path out = fs::weakly_canonical(name, failed);
  return failed ? std::nullopt : std::optional(out);
}

// Two names of one file: the same place, or two hard links.
bool is_same_file(const fs::path& a, const fs::path& b) {
  std::error_code ignored;
  return a == b || fs::equivalent(a, b, ignored);
}

}  // namespace

void refuse_equal_files(const std::vector<NamedFile>& outputs, const std::vector<NamedFile>& inputs,
                        Problems& problems) {
  std::vector<std::pair<std::string, fs::path>> taken;
  for (const NamedFile& input : inputs) {
    if (const auto place = place_of_file(input.file)) taken.emplace_back(input.option, *place);
  }
  for (const NamedFile& output : outputs) {
    const auto place = place_of_file(output.file);
    if (!place) continue;
    for (const auto& [option, other] : taken) {
      if (!is_same_file(*place, other)) continue;
      problems.add(output.option, fmt::format("{} is the file of {}, which would be replaced: name "
                                              "another file",
                                              output.file, option));
      break;
    }
    taken.emplace_back(output.option, *place);
  }
}

std::optional<fs::path> campaign_around(const fs::path& file) {
  std::error_code ignored;
  fs::path place = fs::weakly_canonical(file, ignored).parent_path();
  for (int i = 0; i < kDeepest && place.has_relative_path(); ++i, place = place.parent_path()) {
    if (fs::is_regular_file(place / "campaign.json", ignored)) return place;
  }
  return std::nullopt;
}

}  // namespace cb
