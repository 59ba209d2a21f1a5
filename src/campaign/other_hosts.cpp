#include "campaign/other_hosts.h"

#include "campaign/command_line.h"

namespace cb {
namespace {

std::set<std::string> hosts_of_start(const JobEvent& start, Launcher launcher) {
  const std::vector<std::string> hosts = launched_hosts(start.command, launcher);
  return {hosts.begin(), hosts.end()};
}

const ToolInfo* program_of(const JobEvent& start, const Journal& journal) {
  return start.session < journal.sessions.size() ? &journal.sessions[start.session].tool : nullptr;
}

}  // namespace

std::set<int> attempts_on_other_hosts(const std::string& job, const Journal& journal,
                                      Launcher launcher) {
  std::set<int> out;
  const std::vector<JobEvent> documents = journal.documents(job);
  const JobEvent* last =
      documents.empty() ? nullptr : journal.start_of(job, documents.back().attempt);
  const ToolInfo* program = last == nullptr ? nullptr : program_of(*last, journal);
  if (program == nullptr) return out;
  for (const JobEvent& e : documents) {
    const JobEvent* start = journal.start_of(job, e.attempt);
    const ToolInfo* other = start == nullptr ? nullptr : program_of(*start, journal);
    const bool same_program =
        other != nullptr && other->version == program->version && other->commit == program->commit;
    if (same_program && hosts_of_start(*start, launcher) != hosts_of_start(*last, launcher))
      out.insert(e.attempt);
  }
  return out;
}

}  // namespace cb
