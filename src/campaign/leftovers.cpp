#include "campaign/leftovers.h"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "campaign/attempts.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// The end of the attempt; without a digest and with the reason if the document cannot be read.
JobEvent document_event(const fs::path& file, const JobEvent& start, const UnmetOf& unmet) {
  JobEvent out{.job = start.job,
               .ended = true,
               .attempt = start.attempt,
               .at = utc_now(),
               .fingerprint = start.fingerprint};
  try {
    const std::string text = read_file(file);
    const Document document = parse_document(text, file.filename().string());
    out.bad = bad_news(document);
    out.unmet = unmet(start.job, document);
    out.sha256 = sha256_hex(text);
    return out;
  } catch (const UsageError& e) {
    out.state = JobState::failed;
    out.reason = said("end.unusable_record", e.problems().list.front().said());
    return out;
  }
}

// The places where the attempt's document may lie: the name that the job wrote it to, or one of its
// final names if the run was killed before it journaled the end.
std::vector<std::string> places(const JobEvent& start, const std::set<std::string>& journaled) {
  std::vector<std::string> out{
      fmt::format("{}.{}.partial", CampaignPaths::record(start.job), start.attempt)};
  for (const std::string& name :
       {CampaignPaths::record(start.job, start.attempt), CampaignPaths::record(start.job)}) {
    if (!journaled.contains(name)) out.push_back(name);
  }
  return out;
}

std::optional<JobEvent> adopt(const CampaignPaths& paths, const JobEvent& start,
                              const std::set<std::string>& journaled, const UnmetOf& unmet) {
  for (const std::string& place : places(start, journaled)) {
    std::error_code ignored;
    if (!fs::is_regular_file(paths.root / place, ignored)) continue;
    JobEvent event = document_event(paths.root / place, start, unmet);
    const bool fresh = place.ends_with(".partial");
    if (event.sha256.empty() && !fresh) continue;
    if (event.sha256.empty()) return event;
    event.file = place;
    if (fresh) {
      event.file = record_name(paths, event);
      fs::rename(paths.root / place, paths.root / event.file);
    }
    return event;
  }
  return std::nullopt;
}

}  // namespace

std::string record_name(const CampaignPaths& paths, const JobEvent& event) {
  const std::string plain = CampaignPaths::record(event.job);
  std::error_code ignored;
  if (event.state == JobState::done && !fs::exists(paths.root / plain, ignored)) return plain;
  return CampaignPaths::record(event.job, event.attempt);
}

std::vector<JobEvent> adopt_leftovers(const CampaignPaths& paths, const Journal& journal,
                                      const UnmetOf& unmet) {
  std::vector<JobEvent> out;
  for (const auto& [job, events] : journal.jobs) {
    std::set<int> settled;
    std::set<std::string> journaled;
    for (const JobEvent& e : journal.documents(job)) {
      settled.insert(e.attempt);
      journaled.insert(e.file);
    }
    // Goes from the newest attempt to the oldest: a file with the plain name belongs to the attempt
    // that ended last.
    for (auto e = events.rbegin(); e != events.rend(); ++e) {
      if (e->ended || !settled.insert(e->attempt).second) continue;
      auto found = adopt(paths, *e, journaled, unmet);
      // Of a job that went on since, the line would say that it failed.
      if (!found || (found->sha256.empty() && &*e != &events.back())) continue;
      journaled.insert(found->file);
      out.push_back(std::move(*found));
    }
  }
  return out;
}

}  // namespace cb
