#include "core/error.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/text.h"

namespace cb {
namespace {

std::string describe(const std::string& subject, const Problems& problems) {
  const size_t n = problems.list.size();
  return fmt::format("{}: {} problem{}\n{}", terminal_safe(subject), n, n == 1 ? "" : "s",
                     problems.text());
}

Problems single(std::string where, const Said& what) {
  Problems problems;
  problems.add(std::move(where), what);
  return problems;
}

}  // namespace

Said said_by(const std::exception& exception) {
  const auto* ours = dynamic_cast<const Error*>(&exception);
  return ours != nullptr ? ours->said() : Said(exception.what());
}

std::string Problems::text() const {
  size_t width = 0;
  for (const Problem& p : list) width = std::max(width, display_width(terminal_safe(p.where)));
  width = std::min<size_t>(width, 40);
  std::string out;
  for (const Problem& p : list) {
    if (!out.empty()) out += '\n';
    // Names come from other people's files and command lines, and the message goes to a terminal.
    const std::string where = terminal_safe(p.where), what = terminal_safe(p.what);
    out += where.empty() ? "  " + what : "  " + pad_right(where, width) + "  " + what;
  }
  return out;
}

UsageError::UsageError(const std::string& subject, Problems problems)
    : Error(describe(subject, problems), ExitCode::usage), problems_(std::move(problems)) {}

UsageError::UsageError(const std::string& subject, std::string where, const Said& what)
    : UsageError(subject, single(std::move(where), what)) {}

}  // namespace cb
