#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/profile.h"
#include "core/result.h"

namespace cb {

enum class JobState {
  done,            // its record file is there and whole
  failed,          // the job ended with an error, or its record file is unusable
  deadline,        // killed at its deadline
  not_applicable,  // the step's needs are not met by these hosts
  missing          // never ran, or was interrupted
};

const char* job_state_name(JobState state);  // "done", "not-applicable", …

// One attempt of a job that left a document.
struct JobAttempt {
  int number = 1;
  std::string file;  // relative to the campaign directory
  std::string started, ended;
};

// One attempt of a job that did not end well. `missing`: the run that started it ended first, or
// it was stopped from outside.
struct Interruption {
  int attempt = 1;
  JobState state = JobState::failed;
  Said reason = {};
  std::string started = {}, ended = {};  // `ended` is empty if nobody saw the end
};

// One job of a step: the step on one host, on several, or on all hosts together.
struct Job {
  std::string step;
  std::string host;  // of a step of scope host; else empty
  std::string group =
      {};  // "pair-001-002", "group-03" or "rail-0"; empty for scopes host and cluster
  // Of a pair or a group: the hosts that have its places now, as they were asked for. Else empty.
  std::vector<std::string> members = {};
  JobState state = JobState::missing;
  Said reason;                       // why it is not done, with what to do next
  bool curable = true;               // `run --resume` can cure it; ignored if it is done
  bool unusable = false;             // its record is gone, was changed, or is of something else
  std::string file;                  // its records' file, relative to the campaign directory
  std::string log;                   // its output's file, relative to the campaign directory
  std::vector<std::string> command;  // the command line that ran
  std::string started, ended;
  // All attempts together: attempts that measure the same pool their figures; every failed check
  // and every errored or skipped record of any attempt stays.
  std::optional<Document> document;
  std::vector<JobAttempt> attempts;  // in the order in which they ran
  // Of the soak, from 1; 0: the step is not part of one. One more than the soak has cycles: the
  // reading after the last one.
  size_t cycle = 0;
  // The host ran this cycle after the others had: it stepped in, or came back, later. Such a job is
  // no time under load with the others, but what it found counts.
  bool made_up = false;
  std::vector<Interruption> interruptions = {};  // of a soak's job, in their order

  // The host, the name of the group, or empty for all hosts.
  const std::string& label() const { return host.empty() ? group : host; }
};

enum class ProofState {
  shown,      // a planted fault was found
  not_shown,  // no check found the planted fault, or no check could look
  impossible  // no fault can be planted in this step
};

const char* proof_state_name(ProofState state);  // "shown", "not-shown", "impossible"

// Whether the check of a step found a fault that was planted on purpose (run --prove).
struct Proof {
  std::string step;
  std::string host;  // empty for a step across several hosts
  ProofState state = ProofState::not_shown;
  Said planted = {};       // what was spoilt on purpose
  std::string check = {};  // the check that found the fault
  bool blind = false;      // the job went well, and no check failed
  Said reason = {};        // why it is not shown, or why no fault can be planted
  std::string file = {};   // its record's file, relative to the campaign directory
};

// A host that was taken out of a campaign while it ran.
struct ExcludedHost {
  std::string host;
  std::string step;  // the step in which it showed
  std::string job;   // the attempt of the job that showed it
  int attempt = 0;
  std::string at;
  Said reason;
  std::string by = {};  // the spare that took its place; empty: nobody
  // What its records found wrong, filled when the campaign is read.
  std::vector<Said> found = {};
};

// A campaign as read from its directory: all that judging and reporting need, and nothing else.
struct Campaign {
  Profile profile;
  std::string id;
  std::string started, ended;  // ended is empty while unfinished
  ToolInfo tool;
  std::string launcher;
  std::string public_key;                   // the key that signed every event; empty: unsigned
  std::vector<std::string> hosts;           // the hosts asked for, in the hostfile's order
  std::vector<ExcludedHost> excluded = {};  // hosts that are out, in the order in which they went
  std::vector<std::string> command;         // the `run` command line
  std::vector<HostInventory> inventories;   // one for each host that could be read
  std::vector<Job> jobs;                    // in the profile's order of steps, then hosts
  // A step of case "drill" for each drill that was made: the profile has none of them.
  std::vector<Step> drills = {};
  // Proofs of every job that is done, if `run --prove` asked for them. Their records are in no job.
  std::vector<Proof> proofs;
  std::vector<std::pair<std::string, std::string>> manifest;  // file, sha256
  // What makes the evidence doubtful: changed or absent files, foreign records, a broken journal. A
  // campaign with a warning is never accepted.
  std::vector<Said> warnings;
  std::vector<Said> notes;  // what a reader should know; does not weaken the evidence
};

}  // namespace cb
