#include "campaign/journal.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "campaign/directory.h"
#include "campaign/tool_json.h"
#include "core/error.h"
#include "core/exit_code.h"
#include "core/file.h"
#include "core/json/json_read.h"
#include "core/json/json_text.h"
#include "core/json/said_json.h"
#include "core/parallel.h"
#include "core/sha256.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr std::array kStates{JobState::done, JobState::failed, JobState::deadline,
                             JobState::not_applicable, JobState::missing};

JobState state_from(const std::string& name) {
  for (const JobState state : kStates) {
    if (name == job_state_name(state)) return state;
  }
  throw Error(fmt::format("{} is no state", name));
}

// The codes of a job whose records are whole: all well, a check failed, something was skipped.
bool may_be_done(int code) {
  const auto exit_code = static_cast<ExitCode>(code);
  return exit_code == ExitCode::ok || exit_code == ExitCode::not_accepted ||
         exit_code == ExitCode::incomplete;
}

json document_json(const JobEvent& e) {
  json out = {{"file", e.file}, {"sha256", e.sha256}};
  if (e.adds) out["adds"] = true;
  const std::pair<const char*, int> counts[] = {{"failed_checks", e.bad.failed_checks},
                                                {"errored", e.bad.errored},
                                                {"skipped", e.bad.skipped},
                                                {"unmet", e.unmet}};
  for (const auto& [name, n] : counts) {
    if (n > 0) out[name] = n;
  }
  return out;
}

json to_json(const JobEvent& e) {
  json out = {{"event", e.ended ? "end" : "start"},
              {"job", e.job},
              {"attempt", e.attempt},
              {"at", e.at},
              {"fingerprint", e.fingerprint}};
  if (!e.ended) {
    out["command"] = e.command;
    return out;
  }
  out["state"] = job_state_name(e.state);
  out["code"] = e.code;
  if (!e.reason.empty()) out["reason"] = e.reason.text();
  add_say(out, e.reason);
  if (!e.sha256.empty()) out.update(document_json(e));
  return out;
}

void read_document(const json& j, JobEvent& e) {
  e.sha256 = j.value("sha256", "");
  e.file = j.value("file", "");
  e.adds = j.value("adds", false);
  e.bad = {count_or_zero(j, "failed_checks"), count_or_zero(j, "errored"),
           count_or_zero(j, "skipped")};
  e.unmet = count_or_zero(j, "unmet");
  if (e.file.empty() || e.file == CampaignPaths::record(e.job) ||
      e.file == CampaignPaths::record(e.job, e.attempt))
    return;
  throw Error(fmt::format("{} is no record of the job", e.file));
}

JobEvent job_event(const json& j, bool ended) {
  JobEvent e{.job = text_at(j, "job"), .ended = ended};
  e.attempt = int_at(j, "attempt");
  e.at = text_at(j, "at");
  e.fingerprint = text_at(j, "fingerprint");
  if (!ended) {
    e.command = text_list_at(j, "command");
    return e;
  }
  e.state = state_from(text_at(j, "state"));
  e.code = int_at(j, "code");
  if (e.state == JobState::done && !may_be_done(e.code))
    throw Error(fmt::format("a job that ended with code {} is not done", e.code));
  e.reason = with_say(j.value("reason", ""), j);
  read_document(j, e);
  return e;
}

// The event of a document whose end no run journaled.
JobEvent kept_event(const json& j) {
  JobEvent e{.job = text_at(j, "job"), .ended = true};
  e.attempt = int_at(j, "attempt");
  e.at = text_at(j, "at");
  read_document(j, e);
  return e;
}

RosterEvent roster_event(const json& j, bool back) {
  RosterEvent e{.back = back, .out = {}};
  e.out.host = text_at(j, "host");
  e.out.at = text_at(j, "at");
  if (back) return e;
  e.out.step = text_at(j, "step");
  e.out.job = text_at(j, "job");
  e.out.attempt = int_at(j, "attempt");
  e.out.reason = with_say(text_at(j, "reason"), j);
  e.out.by = j.value("by", "");
  return e;
}

json roster_json(const RosterEvent& e) {
  json out = {{"event", e.back ? "returned" : "excluded"}, {"host", e.out.host}, {"at", e.out.at}};
  if (e.back) return out;
  out.update({{"step", e.out.step},
              {"job", e.out.job},
              {"attempt", e.out.attempt},
              {"reason", e.out.reason.text()}});
  add_say(out, e.out.reason);
  if (!e.out.by.empty()) out["by"] = e.out.by;
  return out;
}

void read_event(const json& j, Journal& journal) {
  const auto event = text_at(j, "event");
  if (event == "session") {
    journal.sessions.push_back({text_at(j, "at"), tool_from_json(j.at("tool")),
                                text_list_at(j, "command"), j.value("prove", false)});
    journal.finished.clear();
  } else if (event == "start" || event == "end") {
    JobEvent e = job_event(j, event == "end");
    e.session = journal.sessions.empty() ? 0 : journal.sessions.size() - 1;
    journal.jobs[e.job].push_back(std::move(e));
  } else if (event == "kept") {
    JobEvent e = kept_event(j);
    journal.kept[e.job].push_back(std::move(e));
  } else if (event == "prove" || event == "proved") {
    ProofEvent e = proof_event_from(j);
    e.session = journal.sessions.empty() ? 0 : journal.sessions.size() - 1;
    journal.proofs[e.job].events.push_back(std::move(e));
  } else if (event == "excluded" || event == "returned") {
    journal.roster.push_back(roster_event(j, event == "returned"));
  } else if (event == "finished") {
    journal.finished = text_at(j, "at");
    journal.files = j.value("files", "");
  } else {
    throw Error("is of an unknown kind");
  }
}

}  // namespace

bool Journal::proving() const { return std::ranges::any_of(sessions, &Session::prove); }

const JobEvent* Journal::last(const std::string& job) const {
  const auto found = jobs.find(job);
  return found == jobs.end() ? nullptr : &found->second.back();
}

const JobEvent* Journal::last_start(const std::string& job) const {
  const auto found = jobs.find(job);
  if (found == jobs.end()) return nullptr;
  for (auto e = found->second.rbegin(); e != found->second.rend(); ++e) {
    if (!e->ended) return &*e;
  }
  return nullptr;
}

const JobEvent* Journal::start_of(const std::string& job, int attempt) const {
  const auto found = jobs.find(job);
  if (found == jobs.end()) return nullptr;
  const auto start = std::ranges::find_if(
      found->second, [&](const JobEvent& e) { return !e.ended && e.attempt == attempt; });
  return start == found->second.end() ? nullptr : &*start;
}

namespace {

// Index of the first text that is `wanted`; the number of texts if there is none.
size_t place_of(const std::vector<std::string>& texts, const std::string& wanted) {
  return static_cast<size_t>(std::ranges::find(texts, wanted) - texts.begin());
}

// Moves the attempts that measured the same as the last one, or as `wanted`, to the end, and lets
// each of them add to the one before it. fingerprints[i] belongs to documents[i]; an empty one is
// equal to none.
std::vector<JobEvent> with_pooled_last(std::vector<JobEvent> documents,
                                       const std::vector<std::string>& fingerprints,
                                       const std::string& wanted) {
  std::vector<size_t> series(documents.size());  // the first attempt that measured the same
  for (size_t i = 0; i < documents.size(); ++i) {
    const size_t same = fingerprints[i].empty() ? i : place_of(fingerprints, fingerprints[i]);
    const bool adds = documents[i].adds && i > 0;
    series[i] = same < i ? series[same] : adds ? series[i - 1] : i;
  }
  size_t last = documents.empty() ? 0 : series.back();
  const size_t asked = place_of(fingerprints, wanted);
  if (!wanted.empty() && asked < series.size()) last = series[asked];
  std::vector<JobEvent> others, pooled;
  for (size_t i = 0; i < documents.size(); ++i) {
    const bool in_last = series[i] == last;
    if (in_last) documents[i].adds = !pooled.empty();
    (in_last ? pooled : others).push_back(std::move(documents[i]));
  }
  std::ranges::move(pooled, std::back_inserter(others));
  return others;
}

}  // namespace

std::vector<JobEvent> Journal::documents(const std::string& job,
                                         const std::string& fingerprint) const {
  std::vector<JobEvent> out;
  if (const auto found = jobs.find(job); found != jobs.end()) {
    for (const JobEvent& e : found->second) {
      if (!e.ended || e.sha256.empty()) continue;
      // In old journals all attempts share one name, and the later file has replaced the earlier
      // one.
      if (e.file.empty()) std::erase_if(out, [](const JobEvent& o) { return o.file.empty(); });
      out.push_back(e);
    }
  }
  if (const auto found = kept.find(job); found != kept.end())
    out.insert(out.end(), found->second.begin(), found->second.end());
  for (JobEvent& e : out) {
    if (e.file.empty()) e.file = CampaignPaths::record(job);
  }
  std::ranges::stable_sort(out, {}, &JobEvent::attempt);
  std::vector<std::string> fingerprints;
  for (const JobEvent& e : out) fingerprints.push_back(fingerprint_of(job, e));
  return with_pooled_last(std::move(out), fingerprints, fingerprint);
}

bool Journal::goes_on(const std::string& job, const std::string& fingerprint) const {
  return !fingerprint.empty() && std::ranges::any_of(documents(job), [&](const JobEvent& e) {
    return fingerprint_of(job, e) == fingerprint;
  });
}

// That of the attempt's start: the line of a kept document has none.
std::string Journal::fingerprint_of(const std::string& job, const JobEvent& end) const {
  const JobEvent* start = start_of(job, end.attempt);
  return start == nullptr ? "" : start->fingerprint;
}

namespace {

struct Line {
  size_t number = 0;
  std::string_view text;
  std::optional<json> event = {};  // nothing where the text is no JSON
  LineFacts facts = {};
};

std::vector<Line> lines_of(std::string_view content) {
  std::vector<Line> out;
  size_t number = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    ++number;
    if (end > begin) out.push_back({.number = number, .text = content.substr(begin, end - begin)});
    begin = end + 1;
  }
  return out;
}

// Everything that does not depend on another line.
void look_at(Line& line, const ChainRoot& root) {
  try {
    line.event = parse_json(line.text, "journal");
  } catch (const std::exception&) {
  }
  line.facts = facts_of_line(root, line.text, line.event ? &*line.event : nullptr);
}

void take_line(const Line& line, Journal& journal, ChainReader& chain) {
  if (!line.event) return chain.unreadable(line.number, line.facts);
  try {
    read_event(*line.event, journal);
    chain.readable(line.number, line.facts, *line.event);
  } catch (const std::exception&) {
    chain.unreadable(line.number, line.facts);
  }
}

}  // namespace

Journal read_journal(const std::filesystem::path& path, const ChainRoot& root) {
  Journal journal;
  ChainReader chain(root);
  if (!std::filesystem::exists(path)) return journal;
  const std::string content = read_file(path);
  std::vector<Line> lines = lines_of(content);
  constexpr size_t kAtOnce = 1024;  // their trees take about ten times the memory of their text
  for (size_t begin = 0; begin < lines.size(); begin += kAtOnce) {
    const size_t end = std::min(begin + kAtOnce, lines.size());
    on_all_processors(end - begin, [&](size_t i) { look_at(lines[begin + i], root); });
    for (size_t i = begin; i < end; ++i) {
      take_line(lines[i], journal, chain);
      lines[i] = {};
    }
  }
  chain.end(journal.warnings, journal.notes);
  return journal;
}

JournalWriter::JournalWriter(std::filesystem::path path, const std::string& campaign_sha256,
                             std::filesystem::path key)
    : path_(std::move(path)), key_(std::move(key)), previous_(campaign_sha256) {
  if (!std::filesystem::exists(path_)) return;
  const std::string content = read_file(path_);
  previous_ = last_link(content, campaign_sha256);
  if (!content.empty() && content.back() != '\n') append_line_durably(path_, "");
}

void JournalWriter::append(const json& event) {
  const std::string line = linked_line(event, previous_, key_);
  append_line_durably(path_, line);
  previous_ = sha256_hex(line);
}

void JournalWriter::session(const Session& session) {
  json line = {{"event", "session"},
               {"at", session.at},
               {"tool", tool_to_json(session.tool)},
               {"command", session.command}};
  if (session.prove) line["prove"] = true;
  append(line);
}

void JournalWriter::job(const JobEvent& event) { append(to_json(event)); }

void JournalWriter::kept(const JobEvent& event) {
  json line = document_json(event);
  line.update(
      {{"event", "kept"}, {"job", event.job}, {"attempt", event.attempt}, {"at", event.at}});
  append(line);
}

void JournalWriter::proof(const ProofEvent& event) { append(proof_event_json(event)); }

void JournalWriter::roster(const RosterEvent& event) { append(roster_json(event)); }

void JournalWriter::finished(const std::string& at, const std::string& files) {
  append({{"event", "finished"}, {"at", at}, {"files", files}});
}

}  // namespace cb
