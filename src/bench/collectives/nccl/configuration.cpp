#include "bench/collectives/nccl/configuration.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/secrets.h"
#include "core/text.h"

namespace cb::nccl {
namespace {

constexpr size_t kMostBytes = size_t{64} << 10;  // of a file: what is larger sets nothing here

// Lines NAME=VALUE; others mean nothing to NCCL (src/misc/param.cc, setEnvFile). Only its own
// variables are told, as those of the environment are.
std::string settings_of(const std::string& text, bool redact) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    const size_t equals = line.find('=');
    if (!line.starts_with("NCCL_") || equals == std::string::npos) continue;
    const std::string name = line.substr(0, equals);
    const std::string value =
        redact ? std::string(kRedacted) : setting_or_redacted(name, line.substr(equals + 1));
    out +=
        fmt::format("{}{}={}", out.empty() ? "" : " ", terminal_safe(name), terminal_safe(value));
  }
  return out;
}

// Nothing if it is no regular file of a size that settings have.
std::optional<std::string> settings_file(const FsRoot& fs, const std::string& file) {
  std::error_code absent;
  const std::filesystem::path path = fs.resolve(file);
  if (!std::filesystem::is_regular_file(path, absent)) return std::nullopt;
  if (std::filesystem::file_size(path, absent) > kMostBytes || absent) return std::nullopt;
  return fs.text(file);
}

// The user's own file: NCCL_CONF_FILE, or else ~/.nccl.conf.
std::string own_file() {
  const char* named = std::getenv("NCCL_CONF_FILE");
  if (named != nullptr && *named != '\0') return named;
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.nccl.conf";
}

}  // namespace

std::string configuration_text(const FsRoot& fs, bool redact) {
  std::string out;
  for (const std::string& file : {own_file(), std::string("/etc/nccl.conf")}) {
    const auto text = file.empty() ? std::nullopt : settings_file(fs, file);
    if (!text) continue;
    const std::string settings = settings_of(*text, redact);
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", file,
                       settings.empty() ? "sets nothing" : settings);
  }
  return out;
}

void describe_configuration(Record& record, Context& context) {
  const std::string mine = configuration_text(context.fs, context.redact);
  const std::vector<std::string> all = context.comm.gather(mine);
  if (!context.comm.is_root()) return;
  if (!mine.empty()) record.facts["nccl_conf"] = mine;
  std::set<std::string> told;
  for (size_t r = 0; r < all.size(); ++r) {
    const std::string& host =
        context.place.hosts[static_cast<size_t>(context.place.host_of_rank[r])];
    if (all[r] == mine || !told.insert(host).second) continue;
    record.notes.push_back(
        said("coll.conf_differs", host, all[r].empty() ? std::string("-") : all[r]));
  }
}

}  // namespace cb::nccl
