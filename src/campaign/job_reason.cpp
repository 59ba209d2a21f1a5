#include "campaign/job_reason.h"

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstring>
#include <fstream>

#include <fmt/format.h>

#include "campaign/blame.h"
#include "core/exit_code.h"
#include "core/text.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMaxReason = 300;
constexpr int kKilled = 128;  // mpirun and srun end with it and the signal that killed a rank

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

bool names_rank(std::string_view line) {
  constexpr std::string_view word = " rank ";
  for (size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::string_view rest = line.substr(at + word.size());
    if (!rest.empty() && std::isdigit(static_cast<unsigned char>(rest.front())) != 0) return true;
  }
  return false;
}

// "mpirun noticed that process rank 3 with PID 7 on node n2 exited on signal 9 (Killed).", "srun:
// error: n2: task 3: Killed"
bool names_killed_rank(std::string_view line) {
  const size_t rank = line.find("process rank ");
  if (rank != std::string_view::npos) return line.find(" on node ", rank) != std::string_view::npos;
  // A task that exits with a code may have seen that another one is gone.
  return line.starts_with("srun: error: ") && line.find(": task") != std::string_view::npos &&
         line.find("Exited with exit code") == std::string_view::npos;
}

// The host in such a line.
std::string host_of_killed(const std::string& line) {
  constexpr std::string_view node = " on node ", srun = "srun: error: ";
  const size_t at = line.find(node);
  const size_t begin = at != std::string::npos ? at + node.size() : srun.size();
  return line.substr(begin, line.find_first_of(" :", begin) - begin);
}

// True if the host is one of the line's words: n1 is not in "n10 rank 3".
bool names_host(const std::string& line, const std::string& host) {
  constexpr std::string_view ends = " :,;()";
  for (size_t at = line.find(host); at != std::string::npos; at = line.find(host, at + 1)) {
    const size_t end = at + host.size();
    const bool begins = at == 0 || ends.find(line[at - 1]) != std::string_view::npos;
    if (begins && (end == line.size() || ends.find(line[end]) != std::string_view::npos))
      return true;
  }
  return false;
}

// "  not there : n2 rank 3: its connection broke": which rank, behind a line that says what
// happened.
constexpr std::string_view kNotThere = "  not there : ";

// The first line of a launcher's complaint. Warnings count where there is nothing else: one line,
// or all between two rules of dashes, as Open MPI frames them.
class Complaint {
 public:
  void take(const std::string& line) {
    if (line.find_first_not_of(' ') == std::string::npos) return;
    if (killed_.ends_with(" exited on")) killed_ += " " + line;  // Open MPI 5 breaks the line there
    if (line.find_first_not_of(" -*=") == std::string::npos) {
      in_warning_ = false;
      after_rule_ = true;
      return;
    }
    const bool warns = line.starts_with("WARNING");
    in_warning_ |= warns && after_rule_;
    after_rule_ = false;
    if (killed_.empty() && names_killed_rank(line)) killed_ = line;
    std::string& first = warns || in_warning_ ? warning_ : complaint_;
    if (first.empty()) first = line;
  }
  const std::string& text() const { return complaint_.empty() ? warning_ : complaint_; }
  // The line that names a rank that was killed; empty if there is none.
  const std::string& killed() const { return killed_; }

 private:
  bool after_rule_ = false, in_warning_ = false;
  std::string complaint_, warning_, killed_;
};

// What a log says: the first line that clusterbench itself wrote and that is no note, with the
// first of the problems that it announces or with the ranks that are not there; the last note that
// names a next step (what hung behind it wrote nothing more); the launcher's complaint.
class LogWords {
 public:
  explicit LogWords(const LogTail& log) : in_(log.file, std::ios::binary) {
    in_.seekg(static_cast<std::streamoff>(log.begin));
    for (std::string line; next(line);) {
      take(line);
      if (read_ > kBeginning) skip_middle();
    }
  }

  std::string text() const {
    if (!own_.empty()) return own_;
    return advice_.empty() ? complaint_.text() : advice_;
  }
  // Of a rank that was killed: the launcher knows which one. A rank that outlived it may name
  // another, which Open MPI 5 ended in the meantime.
  std::string text_of_killed() const {
    const std::string& killed = complaint_.killed();
    if (killed.empty()) return text();
    return names_rank(own_) && names_host(own_, host_of_killed(killed)) ? own_ : killed;
  }

 private:
  bool next(std::string& line) {
    if (!std::getline(in_, line)) return false;
    read_ += line.size() + 1;
    line = terminal_safe(line.substr(0, kMaxReason));
    return true;
  }

  // What ended a job stands first, and what its launcher says of it last. Others wait meanwhile.
  void skip_middle() {
    const std::streamoff here = in_.tellg();
    in_.seekg(0, std::ios::end);
    const std::streamoff to = std::max<std::streamoff>(here, in_.tellg() - kEnding);
    in_.seekg(to);
    std::string rest;
    if (to > here) std::getline(in_, rest);
    read_ = 0;
  }

  void take(const std::string& line) {
    if (!line.starts_with("clusterbench"))
      take_other(line);
    else if (is_note(line))
      advice_ = line.find("next: ") != std::string::npos ? line : advice_;
    else if (own_.empty())
      take_own(line);
    else
      at_own_ = false;
  }

  void take_own(const std::string& line) {
    own_ = line;
    at_own_ = true;
    std::string problem;
    if (announces_problems(line) && next(problem)) own_ += ": " + without_blanks_at_ends(problem);
  }

  void take_other(const std::string& line) {
    at_own_ = at_own_ && line.starts_with(kNotThere);
    if (!at_own_) return complaint_.take(line);
    own_ += (is_rank_named_ ? "; " : ": ") + line.substr(kNotThere.size());
    own_.resize(std::min(own_.size(), kMaxReason));
    is_rank_named_ = true;
  }

  static constexpr size_t kBeginning = size_t{4} << 20;                // bytes
  static constexpr std::streamoff kEnding = std::streamoff{64} << 10;  // bytes

  std::ifstream in_;
  size_t read_ = 0;
  std::string own_, advice_;
  Complaint complaint_;
  bool at_own_ = false;  // nothing but ranks that are not there has come behind own_
  bool is_rank_named_ = false;
};

Said with_text(const Said& what, const std::string& text) {
  return text.empty() ? what : said("end.of_log", what, text);
}

Said with_log(const Said& what, const LogTail& log) {
  return with_text(what, LogWords(log).text());
}

Said errored_text(const Document& document) {
  for (const Record& record : document.records) {
    if (const auto* e = std::get_if<Errored>(&record.outcome))
      return said("said.of", e->where, e->what);
  }
  return {};
}

// True if the document was ended early because of ranks that it names.
bool names_suspects(const Document* document) {
  return document != nullptr && !suspects_of(document->run).empty();
}

// A rank was killed. The records say what was wrong before that, so they come last.
Said killed_text(int code, const Document* document, const LogTail& log) {
  const int signal = code - kKilled;
  const Said what = said("end.rank_killed", code, signal, ::strsignal(signal));
  if (names_suspects(document)) return said("end.of_log", what, *document->run.partial);
  const std::string text = LogWords(log).text_of_killed();
  if (text.empty() && document != nullptr && !errored_text(*document).empty())
    return said("end.of_log", what, errored_text(*document));
  return with_text(what, text);
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
  if (code > kKilled && code < kKilled + NSIG)
    return {JobState::failed, killed_text(code, document, log)};
  if (document != nullptr && !errored_text(*document).empty())
    return {JobState::failed, errored_text(*document)};
  if (names_suspects(document))
    return {JobState::failed, said("end.of_log", said("end.code", code), *document->run.partial)};
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
