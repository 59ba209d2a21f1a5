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

// One job of a step: the step on one host, or on all hosts together.
struct Job {
  std::string step;
  std::string host;  // empty for a step of scope cluster
  JobState state = JobState::missing;
  Said reason;                       // why it is not done, with what to do next
  bool curable = true;               // by `run --resume`, where it is not done
  std::string file;                  // of its records, relative to the campaign directory
  std::string log;                   // of its output, likewise
  std::vector<std::string> command;  // as run
  std::string started, ended;
  // Of all attempts: the figures of those that measure the same are pooled, and every failed check,
  // errored and skipped record of any attempt is in it.
  std::optional<Document> document;
  std::vector<JobAttempt> attempts;  // in their order
};

enum class ProofState {
  shown,      // a planted fault was found
  not_shown,  // it was not, or nobody could look
  impossible  // no fault can be planted in this step
};

const char* proof_state_name(ProofState state);  // "shown", "not-shown", "impossible"

// Whether the check of a step found a fault that was planted on purpose (run --prove).
struct Proof {
  std::string step;
  std::string host;  // empty for a step of scope cluster
  ProofState state = ProofState::not_shown;
  Said planted = {};       // what was spoilt
  std::string check = {};  // that found it
  bool blind = false;      // the job went well, and no check failed
  Said reason = {};        // why it is not shown, or why nothing can be planted
  std::string file = {};   // of its record, relative to the campaign directory
};

// A campaign as read from its directory: all that judging and reporting need, and nothing else.
struct Campaign {
  Profile profile;
  std::string id;
  std::string started, ended;  // ended is empty while unfinished
  ToolInfo tool;
  std::string launcher;
  std::string public_key;                  // that signed every event; empty: none did
  std::vector<std::string> hosts;          // asked for, in the hostfile's order
  std::vector<std::string> command;        // the `run` command line
  std::vector<HostInventory> inventories;  // of the hosts that could be read
  std::vector<Job> jobs;                   // in the profile's order of steps, then hosts
  // Of every job that is done, where somebody asked for proofs; their records are in no job.
  std::vector<Proof> proofs;
  std::vector<std::pair<std::string, std::string>> manifest;  // file, sha256
  // What makes the evidence doubtful: changed or absent files, foreign records, a broken journal.
  // With one of them no campaign is accepted.
  std::vector<Said> warnings;
  std::vector<Said> notes;  // what a reader should know and what takes nothing from it
};

}  // namespace cb
