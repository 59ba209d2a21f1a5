#include "cli/run_trust.h"

#include <cstdint>
#include <cstdlib>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include "campaign/roster.h"
#include "core/clock.h"
#include "core/text.h"

namespace cb {
namespace {

// The file server's clock may differ from ours by this much.
constexpr int64_t kTolerableSeconds = 60;

// No program can set the time of a file's last change (ctime), so a copy shows when it was made.
bool begun_here(const CampaignFile& file, const CampaignPaths& paths) {
  struct stat status {};
  if (::stat(paths.campaign().c_str(), &status) != 0 || status.st_uid != ::geteuid()) return false;
  const auto started = seconds_since_epoch(file.started);
  return started && std::abs(status.st_ctim.tv_sec - *started) <= kTolerableSeconds;
}

std::string hosts_text(const CampaignFile& file) {
  std::string out;
  for (size_t i = 0; i < file.hosts.size() && i < 8; ++i)
    out += (i > 0 ? "," : "") + file.hosts[i].name;
  if (file.hosts.size() > 8) out += fmt::format(" and {} more", file.hosts.size() - 8);
  if (!file.spares.empty())
    out += fmt::format("; spares: {}", fmt::join(names_of(file.spares), ","));
  return out;
}

std::string would_execute(const CampaignFile& file) {
  std::string out =
      fmt::format("hosts: {}; launcher: {} {}", hosts_text(file),
                  launcher_name(file.launch.launcher), fmt::join(file.launch.arguments, " "));
  for (const Step& step : file.profile.steps) {
    for (const auto& [name, value] : step.env)
      out += fmt::format("; step {} sets {}={}", step.id, name, value);
  }
  return terminal_safe(out);
}

}  // namespace

void require_trust(const CampaignFile& file, const CampaignPaths& paths,
                   const std::vector<std::string>& own_arguments, bool trusted) {
  const std::vector<std::string>& arguments = file.launch.arguments;
  if (trusted) return;
  if (begun_here(file, paths) && (arguments.empty() || arguments == own_arguments)) return;
  Problems problems;
  problems.add("",
               "was not begun here by this user with these launcher arguments, and it says what "
               "is executed");
  problems.add("", would_execute(file));
  problems.add("", "look at the commands with --dry-run, then continue with --trust");
  throw UsageError(paths.root.string() + " --resume", problems);
}

}  // namespace cb
