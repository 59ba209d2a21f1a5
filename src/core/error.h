#pragma once

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "core/exit_code.h"
#include "core/messages/said.h"

namespace cb {

// A failure and its exit code. The text says what happened, to what, and what to do next.
class Error : public std::runtime_error {
 public:
  explicit Error(Said what, ExitCode code = ExitCode::runtime)
      : std::runtime_error(what.text()), said_(std::move(what)), code_(code) {}
  ExitCode code() const noexcept { return code_; }
  // Returns what() with its id, if it has one.
  const Said& said() const noexcept { return said_; }

 private:
  Said said_;
  ExitCode code_;
};

// Returns the message of any exception.
Said said_by(const std::exception& exception);

// One thing that is wrong with the input: its place ("--size", "criteria[3].min") and what is
// wrong.
struct Problem {
  std::string where;
  std::string what;
  Message message = {};  // `what` as a message, if it is a sentence of the table

  Said said() const { return {what, message}; }
};

// Every problem found while resolving options, profiles or data: the user sees all of them at once.
struct Problems {
  std::vector<Problem> list;

  void add(std::string where, const Said& what) {
    list.push_back({std::move(where), what.text(), what.message()});
  }
  bool empty() const { return list.empty(); }
  std::string text() const;
};

// Bad options, profile or input file: leads to ExitCode::usage.
class UsageError : public Error {
 public:
  UsageError(const std::string& subject, Problems problems);
  UsageError(const std::string& subject, std::string where, const Said& what);
  const Problems& problems() const noexcept { return problems_; }

 private:
  Problems problems_;
};

}  // namespace cb
