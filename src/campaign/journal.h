#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "campaign/journal_chain.h"
#include "campaign/proof_event.h"
#include "judge/campaign_data.h"

// journal.jsonl has one line per event. Each is appended and flushed to disk before anything that
// depends on it.
namespace cb {

// Counts of what a document holds that no later attempt can take back.
struct BadNews {
  int failed_checks = 0, errored = 0, skipped = 0;
  bool any() const { return failed_checks + errored + skipped > 0; }
};

// A line of the journal about one job.
struct JobEvent {
  std::string job;     // JobKey::name
  bool ended = false;  // true: an end; false: a start
  int attempt = 1;
  std::string at;
  std::string fingerprint;
  std::vector<std::string> command;  // only for a start
  JobState state = JobState::missing;
  int code = 0;
  Said reason;
  // sha256 and file of the attempt's document, if there is one.
  std::string sha256;
  std::string file;    // relative to the directory; empty in journals that know one name only
  bool adds = false;   // measured once more: its samples are pooled with those of earlier attempts
  int unmet = 0;       // number of criteria that its own figures miss or leave open
  size_t session = 0;  // index into Journal::sessions: the run that wrote this line
  BadNews bad = {};
};

// A line of the journal about who takes part: a host was taken out, or came back.
struct RosterEvent {
  bool back = false;
  ExcludedHost out;  // of a host that came back: its name and the time
};

// One run or resumption of the campaign.
struct Session {
  std::string at;
  ToolInfo tool;
  std::vector<std::string> command;
  bool prove = false;  // from this run on, each check must find a planted fault
};

struct Journal {
  std::vector<Session> sessions;
  std::map<std::string, std::vector<JobEvent>> jobs;  // by name, in order
  std::string finished;        // time when all steps had ended; empty until then
  std::string files;           // evidence_digest() at that time; empty in older journals
  std::vector<Said> warnings;  // about lines that do not belong there
  std::vector<Said> notes;     // about lines that a kill tore

  // Documents that a resumed run found of jobs whose end no run journaled, by job.
  std::map<std::string, std::vector<JobEvent>> kept;

  std::vector<RosterEvent> roster;  // in their order; read_roster() says what they make

  ProofHistories proofs;  // jobs with a planted fault, by job
  bool proving() const;   // true if any run was asked for proofs

  const JobEvent* last(const std::string& job) const;
  // Every end of the job that left a document. In a journal from before attempts had their own
  // names this is only the last one, since the other files are gone. Those that measured the same
  // as the last one, or as `fingerprint` if it is given, come at the end, and each of them but the
  // first adds to the one before it: attempts that measured the same are pooled even if a kill, or
  // attempts by another version of the program, came between. Otherwise in the order of attempts.
  std::vector<JobEvent> documents(const std::string& job,
                                  const std::string& fingerprint = "") const;
  const JobEvent* last_start(const std::string& job) const;
  const JobEvent* start_of(const std::string& job, int attempt) const;
  // True if an attempt with this fingerprint would add to one that left a document.
  bool goes_on(const std::string& job, const std::string& fingerprint) const;

 private:
  std::string fingerprint_of(const std::string& job, const JobEvent& end) const;
};

// Reads what is readable. A torn line (power cut, kill) costs only that event: its job is repeated,
// and no job is taken for another. An absent file is an empty journal. Broken links and signatures
// give warnings.
Journal read_journal(const std::filesystem::path& path, const ChainRoot& root);

// Appends events. Each line is linked to the line before it, and signed if a private key is named.
// Starts on a fresh line if the last one is torn.
class JournalWriter {
 public:
  JournalWriter(std::filesystem::path path, const std::string& campaign_sha256,
                std::filesystem::path key = {});
  void session(const Session& session);
  void job(const JobEvent& event);
  void kept(const JobEvent& event);
  void proof(const ProofEvent& event);
  void roster(const RosterEvent& event);
  // `files`: evidence_digest() of everything that this run leaves.
  void finished(const std::string& at, const std::string& files);

 private:
  void append(const nlohmann::json& event);

  std::filesystem::path path_, key_;
  std::string previous_;  // digest of the last line
};

}  // namespace cb
