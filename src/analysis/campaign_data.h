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

// One job of a step: the step on one host, or on all hosts together.
struct Job {
  std::string step;
  std::string host;  // empty for a step of scope cluster
  JobState state = JobState::missing;
  std::string reason;                // why it is not done, with what to do next
  std::string file;                  // of its records, relative to the campaign directory
  std::string log;                   // of its output, likewise
  std::vector<std::string> command;  // as run
  std::string started, ended;
  std::optional<Document> document;
};

// A campaign as read from its directory: all that judging and reporting need, and nothing else.
struct Campaign {
  Profile profile;
  std::string id;
  std::string started, ended;  // ended is empty while unfinished
  ToolInfo tool;
  std::string launcher;
  std::vector<std::string> hosts;          // asked for, in the hostfile's order
  std::vector<std::string> command;        // the `run` command line
  std::vector<HostInventory> inventories;  // of the hosts that could be read
  std::vector<Job> jobs;                   // in the profile's order of steps, then hosts
  std::vector<std::pair<std::string, std::string>> manifest;  // file, sha256
  std::vector<std::string>
      warnings;  // about the directory itself: foreign files, torn journal lines
};

}  // namespace cb
