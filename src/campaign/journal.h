#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/journal_chain.h"
#include "campaign/proof_event.h"
#include "judge/campaign_data.h"

// journal.jsonl: one line per event, appended and flushed to disk before anything that depends on
// it.
namespace cb {

// What a document holds that no later attempt can take back.
struct BadNews {
  int failed_checks = 0, errored = 0, skipped = 0;
  bool any() const { return failed_checks + errored + skipped > 0; }
};

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
  Said reason;
  // Of the attempt's document, where there is one.
  std::string sha256;
  std::string file;    // relative to the directory; empty in journals that know one name only
  bool adds = false;   // measured once more: its samples are pooled with the earlier attempts'
  int unmet = 0;       // criteria that its own figures miss, or leave open
  size_t session = 0;  // index into Journal::sessions of the run that wrote this line
  BadNews bad = {};
};

// One run or resumption of the campaign.
struct Session {
  std::string at;
  ToolInfo tool;
  std::vector<std::string> command;
  bool prove = false;  // each check is to find a planted fault, from this run on
};

struct Journal {
  std::vector<Session> sessions;
  std::map<std::string, std::vector<JobEvent>> jobs;  // by name, in order
  std::string finished;                               // when all steps had ended; empty while not
  std::string files;                                  // evidence_digest() then; empty in older ones
  std::vector<Said> warnings;                         // lines that do not belong there
  std::vector<Said> notes;                            // lines that a kill tore

  // Documents that a resumed run found of jobs whose end nobody had journaled, by job.
  std::map<std::string, std::vector<JobEvent>> kept;

  ProofHistories proofs;  // of jobs with a planted fault, by job
  bool proving() const;   // whether a run was asked for them

  const JobEvent* last(const std::string& job) const;
  // Every end of the job that left a document, in the order of attempts. Of a journal from before
  // attempts had names of their own only the last one: the others' files are gone. Each adds to the
  // one before it where both ran the same, whatever came between: a kill, or another `run`.
  std::vector<JobEvent> documents(const std::string& job) const;
  const JobEvent* last_start(const std::string& job) const;
  const JobEvent* start_of(const std::string& job, int attempt) const;
  // Whether an attempt with this fingerprint would add to the one that left the last document.
  bool goes_on(const std::string& job, const std::string& fingerprint) const;

 private:
  bool same_fingerprint(const std::string& job, int one, int other) const;
};

// Reads what is readable: a torn line (power cut, kill) costs that event only, which leads to a
// repeated job, never to a wrong one. An absent file is an empty journal. Broken links and
// signatures are warnings.
Journal read_journal(const std::filesystem::path& path, const ChainRoot& root);

// Appends events, each linked to the line before it and signed if a private key is named; starts on
// a fresh line if the last one is torn.
class JournalWriter {
 public:
  JournalWriter(std::filesystem::path path, const std::string& campaign_sha256,
                std::filesystem::path key = {});
  void session(const Session& session);
  void job(const JobEvent& event);
  void kept(const JobEvent& event);
  void proof(const ProofEvent& event);
  // `files`: evidence_digest() of all that this run leaves.
  void finished(const std::string& at, const std::string& files);

 private:
  void append(const nlohmann::json& event);

  std::filesystem::path path_, key_;
  std::string previous_;  // digest of the last line
};

}  // namespace cb
