#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/exit_code.h"

namespace cb {

// A failure with the exit code that it leads to. The text says what happened, to what, and what to
// do next.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& what, ExitCode code = ExitCode::runtime)
      : std::runtime_error(what), code_(code) {}
  ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_;
};

// One thing wrong with the input: where it stands ("--size", "criteria[3].min") and what is wrong
// with it.
struct Problem {
  std::string where;
  std::string what;
};

// Every problem found while resolving options, profiles or data, so that the user sees all of them
// at once.
struct Problems {
  std::vector<Problem> list;

  void add(std::string where, std::string what) {
    list.push_back({std::move(where), std::move(what)});
  }
  bool empty() const { return list.empty(); }
  std::string text() const;
};

// Bad options, profile or input file: leads to ExitCode::usage.
class UsageError : public Error {
 public:
  UsageError(const std::string& subject, Problems problems);
  UsageError(const std::string& subject, std::string where, std::string what);
  const Problems& problems() const noexcept { return problems_; }

 private:
  Problems problems_;
};

}  // namespace cb
