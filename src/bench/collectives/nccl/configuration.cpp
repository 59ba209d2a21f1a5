#include "bench/collectives/nccl/configuration.h"

#include <cstdlib>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/text.h"

namespace cb::nccl {
namespace {

// Lines NAME=VALUE; others mean nothing to NCCL (src/misc/param.cc, setEnvFile).
std::string settings_of(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('#') || line.find('=') == std::string::npos) continue;
    out += (out.empty() ? "" : " ") + terminal_safe(line);
  }
  return out;
}

// The user's own file: NCCL_CONF_FILE, or else ~/.nccl.conf.
std::string own_file() {
  const char* named = std::getenv("NCCL_CONF_FILE");
  if (named != nullptr && *named != '\0') return named;
  const char* home = std::getenv("HOME");
  return home == nullptr ? "" : std::string(home) + "/.nccl.conf";
}

}  // namespace

std::string configuration_text(const FsRoot& fs) {
  std::string out;
  for (const std::string& file : {own_file(), std::string("/etc/nccl.conf")}) {
    const auto text = file.empty() ? std::nullopt : fs.text(file);
    if (!text) continue;
    const std::string settings = settings_of(*text);
    out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", file,
                       settings.empty() ? "sets nothing" : settings);
  }
  return out;
}

void describe_configuration(Record& record, Context& context) {
  const std::string mine = configuration_text(context.fs);
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
