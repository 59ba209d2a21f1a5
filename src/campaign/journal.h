#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/campaign_data.h"

// journal.jsonl: one line per event, appended and flushed to disk before anything that depends on
// it.
namespace cb {

// A line of the journal about one job.
struct JobEvent {
  std::string job;     // JobKey::name
  bool ended = false;  // else it starts here
  int attempt = 1;
  std::string at;
  std::string fingerprint;
  std::vector<std::string> command;  // of a start
  JobState state = JobState::missing;
  int code = 0;
  std::string reason;
  std::string sha256;  // of the record file, where there is one
};

// One run or resumption of the campaign.
struct Session {
  std::string at;
  ToolInfo tool;
  std::vector<std::string> command;
};

struct Journal {
  std::vector<Session> sessions;
  std::map<std::string, std::vector<JobEvent>> jobs;  // by name, in order
  std::string finished;                               // when all steps had ended; empty while not
  std::vector<std::string> warnings;                  // lines that could not be read

  const JobEvent* last(const std::string& job) const;
  const JobEvent* last_start(const std::string& job) const;
};

// Reads what is readable: a torn line (power cut, kill) costs that event only, which leads to a
// repeated job, never to a wrong one. An absent file is an empty journal.
Journal read_journal(const std::filesystem::path& path);

// Appends events; starts on a fresh line if the last one is torn.
class JournalWriter {
 public:
  explicit JournalWriter(std::filesystem::path path);
  void session(const Session& session);
  void job(const JobEvent& event);
  void finished(const std::string& at);

 private:
  std::filesystem::path path_;
};

}  // namespace cb
