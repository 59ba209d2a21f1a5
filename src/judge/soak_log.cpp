#include "judge/soak_log.h"

#include <algorithm>
#include <map>
#include <optional>

#include "core/units.h"

namespace cb {
namespace {

// The texts of a note of the case `events`; nothing if it is another note, or has fewer.
std::optional<std::vector<std::string>> texts_of(const Said& note, const char* id, size_t count) {
  const Message& m = note.message();
  if (m.id != id || m.args.size() < count) return std::nullopt;
  std::vector<std::string> out;
  for (const Arg& arg : m.args) out.push_back(arg.in(Lang::en).value_or(""));
  return out;
}

// One reading of a host's log.
struct LogReading {
  std::string host, step, at;
  size_t cycle = 0;
  std::string boot, booted_at;
  std::optional<int64_t> first, last;         // numbers of the log's lines
  std::string first_at;                       // time of the first line
  std::map<std::string, std::string> oldest;  // line of each kind that is told: its time
  std::vector<std::string> left_out;          // kinds of which older lines are not told
};

void read_note(const Said& note, std::map<std::string, LogReading>& hosts) {
  if (const auto boot = texts_of(note, "events.boot", 3)) {
    hosts[boot->at(0)].boot = boot->at(1);
    hosts[boot->at(0)].booted_at = boot->at(2);
  } else if (const auto log = texts_of(note, "events.log", 4)) {
    hosts[log->at(0)].first = parse_integer(log->at(1));
    hosts[log->at(0)].last = parse_integer(log->at(2));
    hosts[log->at(0)].first_at = log->at(3);
  } else if (const auto line = texts_of(note, "events.kernel", 5)) {
    std::string& oldest = hosts[line->at(0)].oldest[line->at(1)];
    if (oldest.empty() || line->at(2) < oldest) oldest = line->at(2);
  } else if (const auto kind = texts_of(note, "events.left_out", 3)) {
    hosts[kind->at(0)].left_out.push_back(kind->at(1));
  } else if (const auto any = texts_of(note, "events.more_lines", 2)) {
    hosts[any->at(0)].left_out.emplace_back();
  }
}

// The readings of each host, in their order.
std::map<std::string, std::vector<LogReading>> readings_of(const Campaign& campaign) {
  std::map<std::string, std::vector<LogReading>> out;
  for (const Job& job : campaign.jobs) {
    if (job.cycle == 0 || !job.document) continue;
    for (const Record& record : job.document->records) {
      std::map<std::string, LogReading> hosts;
      for (const Said& note : record.notes) read_note(note, hosts);
      for (auto& [host, reading] : hosts) {
        reading.host = host;
        reading.step = job.step;
        reading.cycle = job.cycle;
        reading.at = record.started;
        out[host].push_back(std::move(reading));
      }
    }
  }
  for (auto& [host, readings] : out) std::ranges::stable_sort(readings, {}, &LogReading::at);
  return out;
}

std::string begin_of_soak(const Campaign& campaign) {
  std::string out;
  for (const Job& job : campaign.jobs) {
    if (job.cycle > 0 && !job.started.empty() && (out.empty() || job.started < out))
      out = job.started;
  }
  return out;
}

bool has_other_boot(const LogReading& before, const LogReading& now) {
  return !before.boot.empty() && !now.boot.empty() && before.boot != now.boot;
}

// True if lines of the log went before anybody read them. A log's first line has the number 0.
bool lost_lines(const LogReading* before, const LogReading& now, const std::string& begin) {
  if (!now.first) return false;
  if (before == nullptr) return *now.first > 0 && now.first_at > begin;
  if (has_other_boot(*before, now)) return *now.first > 0;
  return before->last && *now.first > *before->last + 1;
}

// What a record leaves out is older than what it tells of that kind. It matters only if the reading
// before has not told it already.
bool matters(const std::string& kind, const LogReading& now, const std::string& known_until) {
  std::string oldest;
  for (const auto& [name, at] : now.oldest) {
    if ((kind.empty() || name == kind) && (oldest.empty() || at < oldest)) oldest = at;
  }
  return oldest.empty() || oldest > known_until;
}

}  // namespace

std::vector<LostLogLines> lost_log_lines(const Campaign& campaign) {
  std::vector<LostLogLines> out;
  const std::string begin = begin_of_soak(campaign);
  for (const auto& [host, readings] : readings_of(campaign)) {
    const LogReading* before = nullptr;
    for (const LogReading& now : readings) {
      if (lost_lines(before, now, begin)) out.push_back({host, "", now.cycle});
      for (const std::string& kind : now.left_out) {
        if (matters(kind, now, before == nullptr ? begin : before->at))
          out.push_back({host, kind, now.cycle});
      }
      before = &now;
    }
  }
  return out;
}

std::vector<Reboot> reboots(const Campaign& campaign) {
  std::vector<Reboot> out;
  for (const auto& [host, readings] : readings_of(campaign)) {
    for (size_t i = 1; i < readings.size(); ++i) {
      const LogReading &before = readings[i - 1], &now = readings[i];
      if (has_other_boot(before, now))
        out.push_back({host, now.step, now.cycle, now.booted_at, before.at});
    }
  }
  return out;
}

}  // namespace cb
