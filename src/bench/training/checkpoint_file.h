#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/descriptor.h"
#include "core/messages/said.h"

namespace cb::training {

// Called for each piece of a file: a large one takes longer than the watchdog lets a rank stand.
using Alive = std::function<void()>;

// What saving one file took.
struct Saved {
  double host_seconds = 0;     // digests, and copies into the buffers that are written
  double storage_seconds = 0;  // all else: writing that these did not hide, flushing, renaming
  Said how;                    // the path to the device and the engine
};

// Replaces the file by one with these arrays, and returns when it is on the device. `identity` is
// a digest. Throws Error naming the file and the reason, and leaves the old one.
Saved write_checkpoint(const std::filesystem::path& path, const std::string& identity,
                       int64_t steps, const std::vector<std::span<const float>>& arrays,
                       const Alive& alive);

// A file that may hold a checkpoint of a training.
class CheckpointFile {
 public:
  CheckpointFile(const std::filesystem::path& path, const std::string& identity);

  // True for a regular file that does not begin as a checkpoint of another training does.
  bool is_replaceable() const { return file_.open() && !of_another_; }
  // Steps of the checkpoint that the header announces; nothing if there is none of this training.
  std::optional<int64_t> steps() const { return steps_; }
  size_t array_count() const { return lengths_.size(); }
  bool fits(const std::vector<std::span<float>>& arrays) const;
  // Reads all that is announced; false if it is not there with its digests. The arrays, if given,
  // fit, and have it then.
  bool read(const std::vector<std::span<float>>* arrays, const Alive& alive) const;

 private:
  void take_header(const std::string& text, const std::string& identity);

  Descriptor file_;
  std::optional<int64_t> steps_;
  std::vector<uint64_t> lengths_;  // bytes of each array
  std::vector<std::string> digests_;
  uint64_t data_ = 0;  // where the arrays begin
  bool of_another_ = false;
};

}  // namespace cb::training
