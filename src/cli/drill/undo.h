// The list of what drills have changed, written and flushed before each change, so that everything
// can be put back also after a kill.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace cb {

struct Undo {
  std::string id;      // unique
  std::string host;    // on which it is undone
  std::string action;  // continue, remove-limit, set-up, remove-file
  std::string part;    // process, interface or file
  uint64_t start = 0;  // of a process: when it started, in clock ticks since boot
};

class UndoList {
 public:
  explicit UndoList(std::filesystem::path file) : file_(std::move(file)) {}

  // Appends and flushes. Throws Error; then nothing may be changed.
  void note(const Undo& undo) const;
  void done(const Undo& undo) const;
  // What was noted and is not done, in the order in which it is to be undone: the last first. A
  // torn last line is nothing that was done. Throws UsageError for any other foreign line, and for
  // a list that is no file of this user: what stands in it is done as this user.
  std::vector<Undo> open() const;
  const std::filesystem::path& file() const { return file_; }

 private:
  std::filesystem::path file_;
};

}  // namespace cb
