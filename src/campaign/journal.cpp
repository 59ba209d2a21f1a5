#include "campaign/journal.h"

#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "campaign/tool_json.h"
#include "core/error.h"
#include "core/file.h"
#include "core/json_text.h"

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

std::string line_text(const json& j) {
  return j.dump(-1, ' ', false, json::error_handler_t::replace);
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
  if (!e.reason.empty()) out["reason"] = e.reason;
  if (!e.sha256.empty()) out["sha256"] = e.sha256;
  return out;
}

JobEvent job_event(const json& j, bool ended) {
  JobEvent e{.job = j.at("job").get<std::string>(), .ended = ended};
  e.attempt = j.at("attempt").get<int>();
  e.at = j.at("at").get<std::string>();
  e.fingerprint = j.at("fingerprint").get<std::string>();
  if (!ended) {
    e.command = j.at("command").get<std::vector<std::string>>();
    return e;
  }
  e.state = state_from(j.at("state").get<std::string>());
  e.code = j.at("code").get<int>();
  e.reason = j.value("reason", "");
  e.sha256 = j.value("sha256", "");
  return e;
}

void read_event(const json& j, Journal& journal) {
  const auto event = j.at("event").get<std::string>();
  if (event == "session") {
    journal.sessions.push_back({j.at("at").get<std::string>(), tool_from_json(j.at("tool")),
                                j.at("command").get<std::vector<std::string>>()});
    journal.finished.clear();
  } else if (event == "start" || event == "end") {
    JobEvent e = job_event(j, event == "end");
    journal.jobs[e.job].push_back(std::move(e));
  } else if (event == "finished") {
    journal.finished = j.at("at").get<std::string>();
  } else {
    throw Error("is of an unknown kind");
  }
}

}  // namespace

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

Journal read_journal(const std::filesystem::path& path) {
  Journal journal;
  if (!std::filesystem::exists(path)) return journal;
  const std::string content = read_file(path);
  size_t number = 0;
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    ++number;
    const std::string line = content.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    try {
      read_event(parse_json(line, "journal"), journal);
    } catch (const std::exception&) {
      journal.warnings.push_back(
          fmt::format("line {} of the journal is torn or foreign and was left out", number));
    }
  }
  return journal;
}

JournalWriter::JournalWriter(std::filesystem::path path) : path_(std::move(path)) {
  if (!std::filesystem::exists(path_)) return;
  const std::string content = read_file(path_);
  if (!content.empty() && content.back() != '\n') append_line_durably(path_, "");
}

void JournalWriter::session(const Session& session) {
  append_line_durably(path_, line_text({{"event", "session"},
                                        {"at", session.at},
                                        {"tool", tool_to_json(session.tool)},
                                        {"command", session.command}}));
}

void JournalWriter::job(const JobEvent& event) {
  append_line_durably(path_, line_text(to_json(event)));
}

void JournalWriter::finished(const std::string& at) {
  append_line_durably(path_, line_text({{"event", "finished"}, {"at", at}}));
}

}  // namespace cb
