#include "campaign/lost.h"

#include "campaign/attempts.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

std::string without_carriage_returns(const std::string& content) {
  std::string out;
  for (size_t i = 0; i < content.size(); ++i) {
    const bool line_end = content[i] == '\r' && i + 1 < content.size() && content[i + 1] == '\n';
    if (!line_end) out += content[i];
  }
  return out;
}

std::optional<std::string> text_as_written(const JobEvent& event,
                                           const std::filesystem::path& root) {
  try {
    std::string text = read_file(root / event.file);
    if (!change_of(text, event.sha256)) return text;
  } catch (const UsageError&) {
  }
  return std::nullopt;
}

}  // namespace

std::optional<Said> change_of(const std::string& content, const std::string& sha256) {
  if (sha256_hex(content) == sha256) return std::nullopt;
  if (sha256_hex(without_carriage_returns(content)) == sha256) return said("lost.line_ends");
  return said("lost.changed");
}

bool is_replaceable(const JobEvent& event) { return event.unmet == 0 && !event.bad.any(); }

Said lost_reason(const JobEvent& event, const Said& what) {
  return said("lost.reason", terminal_safe(event.file), what,
              said(is_replaceable(event) ? "load.restore" : "lost.for_good"));
}

std::optional<Said> lost_for_good(const std::vector<JobEvent>& documents,
                                  const std::filesystem::path& root) {
  for (size_t i = first_that_counts(documents); i < documents.size(); ++i) {
    const JobEvent& e = documents[i];
    if (is_replaceable(e)) continue;
    try {
      const auto change = change_of(read_file(root / e.file), e.sha256);
      if (change) return lost_reason(e, *change);
    } catch (const UsageError& error) {
      return lost_reason(e, error.problems().list.front().said());
    }
  }
  return std::nullopt;
}

std::optional<Document> standing_figures(const std::vector<JobEvent>& documents,
                                         const std::filesystem::path& root) try {
  std::vector<AttemptDocument> attempts;
  bool last_is_there = false;
  for (size_t i = first_that_counts(documents); i < documents.size(); ++i) {
    const JobEvent& e = documents[i];
    const auto text = text_as_written(e, root);
    last_is_there = text.has_value();
    if (text) attempts.push_back({e.attempt, e.adds, parse_document(*text, e.file)});
  }
  return last_is_there ? std::optional(join_attempts(std::move(attempts))) : std::nullopt;
} catch (const UsageError&) {  // the file is as written, but by a version that this one cannot read
  return std::nullopt;
}

}  // namespace cb
