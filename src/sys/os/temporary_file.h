#pragma once

#include <cstdint>
#include <string>

namespace cb {

// A file of this process alone, below $TMPDIR or /tmp and removed with the object. A library writes
// to it by its name. Throws Error if it cannot be made.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& purpose);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }
  // Returns what was written since the last call.
  std::string read_new();

 private:
  std::string path_;
  uint64_t read_ = 0;
};

}  // namespace cb
