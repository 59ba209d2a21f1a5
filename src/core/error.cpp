#include "core/error.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb {
namespace {

std::string describe(const std::string& subject, const Problems& problems) {
  const size_t n = problems.list.size();
  return fmt::format("{}: {} problem{}\n{}", subject, n, n == 1 ? "" : "s", problems.text());
}

Problems single(std::string where, std::string what) {
  Problems problems;
  problems.add(std::move(where), std::move(what));
  return problems;
}

}  // namespace

std::string Problems::text() const {
  size_t width = 0;
  for (const Problem& p : list) width = std::max(width, p.where.size());
  width = std::min<size_t>(width, 40);
  std::string out;
  for (const Problem& p : list) {
    if (!out.empty()) out += '\n';
    out += p.where.empty() ? fmt::format("  {}", p.what)
                           : fmt::format("  {:<{}}  {}", p.where, width, p.what);
  }
  return out;
}

UsageError::UsageError(const std::string& subject, Problems problems)
    : Error(describe(subject, problems), ExitCode::usage), problems_(std::move(problems)) {}

UsageError::UsageError(const std::string& subject, std::string where, std::string what)
    : UsageError(subject, single(std::move(where), std::move(what))) {}

}  // namespace cb
