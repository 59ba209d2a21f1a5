#include "campaign/job_reason.h"

#include <csignal>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "core/exit_code.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMaxReason = 300;

// A heading like "clusterbench mpi: 2 problems" says nothing without the first problem.
bool announces_problems(std::string_view line) {
  return line.ends_with(" problem") || line.ends_with(" problems");
}

// "clusterbench nccl: note: …": something to know, which rarely ended the job.
bool is_note(std::string_view line) {
  const size_t colon = line.find(": ");
  return colon != std::string_view::npos && line.substr(colon).starts_with(": note: ");
}

std::string without_blanks_at_ends(const std::string& line) {
  const size_t begin = line.find_first_not_of(' '), end = line.find_last_not_of(' ');
  return begin == std::string::npos ? "" : line.substr(begin, end + 1 - begin);
}

// The first line of a launcher's complaint. Warnings count where there is nothing else: one line,
// or all between two rules of dashes, as Open MPI frames them.
class Complaint {
 public:
  void take(const std::string& line) {
    if (line.find_first_not_of(' ') == std::string::npos) return;
    if (line.find_first_not_of(" -*=") == std::string::npos) {
      in_warning_ = false;
      after_rule_ = true;
      return;
    }
    const bool warns = line.starts_with("WARNING");
    in_warning_ |= warns && after_rule_;
    after_rule_ = false;
    std::string& first = warns || in_warning_ ? warning_ : complaint_;
    if (first.empty()) first = line;
  }
  const std::string& text() const { return complaint_.empty() ? warning_ : complaint_; }

 private:
  bool after_rule_ = false, in_warning_ = false;
  std::string complaint_, warning_;
};

// The first line that clusterbench itself wrote and that is no note; if it announces problems, with
// the first of them. Without such a line, the last note that names a next step (what hung behind it
// wrote nothing more), else the launcher's complaint.
std::string first_line(const LogTail& log) {
  std::ifstream in(log.file, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(log.begin));
  Complaint complaint;
  std::string advice;
  for (std::string whole; std::getline(in, whole);) {
    const std::string line = terminal_safe(whole.substr(0, kMaxReason));
    if (!line.starts_with("clusterbench")) {
      complaint.take(line);
    } else if (is_note(line)) {
      if (whole.find("next: ") != std::string::npos) advice = line;
    } else {
      std::string next;
      if (!announces_problems(line) || !std::getline(in, next)) return line;
      return line + ": " + without_blanks_at_ends(terminal_safe(next.substr(0, kMaxReason)));
    }
  }
  return advice.empty() ? complaint.text() : advice;
}

Said with_log(const Said& what, const LogTail& log) {
  const std::string line = first_line(log);
  return line.empty() ? what : said("end.of_log", what, line);
}

Said errored_text(const Document& document) {
  for (const Record& record : document.records) {
    if (const auto* e = std::get_if<Errored>(&record.outcome))
      return said("said.of", e->where, e->what);
  }
  return {};
}

JobEnd exited(int code, const Document* document, const Said& problem, const LogTail& log) {
  switch (static_cast<ExitCode>(code)) {
    case ExitCode::ok:
    case ExitCode::not_accepted:
    case ExitCode::incomplete:
      if (document != nullptr && !document->run.partial) return {JobState::done, {}};
      if (document != nullptr) return {JobState::failed, with_log(*document->run.partial, log)};
      return {JobState::failed, with_log(problem, log)};
    case ExitCode::deadline:
      // The partial document names the ranks that did not arrive.
      if (document != nullptr && document->run.partial)
        return {JobState::deadline, *document->run.partial};
      return {JobState::deadline, with_log(said("end.hung"), log)};
    case ExitCode::usage:
      return {JobState::failed, with_log(said("end.refused"), log)};
    case ExitCode::interrupted:
      return {JobState::failed, said("end.interrupted_outside")};
    case ExitCode::runtime:
      break;
  }
  if (document != nullptr && !errored_text(*document).empty())
    return {JobState::failed, errored_text(*document)};
  return {JobState::failed, with_log(said("end.code", code), log)};
}

}  // namespace

JobEnd conclude_job(const TaskEnd& end, const Document* document, const Said& problem,
                    const LogTail& log, double deadline_seconds) {
  switch (end.kind) {
    case TaskEnd::Kind::exited:
      return exited(end.code, document, problem, log);
    case TaskEnd::Kind::signalled:
      return {JobState::failed, with_log(said("end.signal", end.code, ::strsignal(end.code)), log)};
    case TaskEnd::Kind::deadline:
      return {JobState::deadline,
              with_log(said("end.deadline", format_seconds(deadline_seconds)), log)};
    case TaskEnd::Kind::silent:
      return {JobState::deadline,
              with_log(said("end.not_started", format_seconds(end.seconds)), log)};
    case TaskEnd::Kind::stopped:
      return {JobState::missing, said("end.interrupted")};
    case TaskEnd::Kind::not_started:
      return {JobState::failed, end.error};
  }
  return {};
}

}  // namespace cb
