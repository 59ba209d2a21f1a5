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

// Called for each piece of a file, by several threads at a time: a large file takes longer than the
// watchdog lets a rank stand.
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

// A file that may hold a checkpoint of a training. What a header says counts only with the digest
// that it has of itself: anything else is damage, and no other training or version.
class CheckpointFile {
 public:
  // A piece of an array, which has a digest: the last one may be shorter.
  struct Piece {
    size_t array = 0;
    uint64_t begin = 0;  // in the array
    uint64_t at = 0;     // among the bytes of all arrays
    size_t length = 0;
  };

  CheckpointFile(const std::filesystem::path& path, const std::string& identity);

  // True for a regular file that is a checkpoint neither of another training nor of another version
  // of the format.
  bool is_replaceable() const { return file_.open() && !of_another_ && !version_; }
  // The version of the format, if it is another one than this build writes.
  const std::optional<std::string>& other_version() const { return version_; }
  // What is damaged, once it was found: the header and the file's length at once, the rest by
  // read().
  const std::optional<Said>& damage() const { return damage_; }
  // Steps of the checkpoint that the header announces; nothing if there is none of this training.
  std::optional<int64_t> steps() const { return steps_; }
  size_t array_count() const { return lengths_.size(); }
  bool fits(const std::vector<std::span<float>>& arrays) const;
  // Reads all that is announced; false if it is not there with its digests. The arrays, if given,
  // fit, and have it then.
  bool read(const std::vector<std::span<float>>* arrays, const Alive& alive);

 private:
  void take_header(const std::string& text, const std::string& identity);
  bool take_lines(const std::string& head);
  bool has_announced_length() const;
  std::optional<std::string> read_list(size_t pieces) const;
  size_t first_damaged(const std::vector<Piece>& pieces, const std::string& list,
                       const std::function<char*(const Piece&)>& to, const Alive& alive) const;

  Descriptor file_;
  uint64_t size_ = 0;
  std::optional<int64_t> steps_;
  std::optional<std::string> version_;
  std::optional<Said> damage_;
  std::vector<uint64_t> lengths_;  // bytes of each array
  std::string list_digest_;
  uint64_t data_ = 0;  // where the arrays begin
  bool of_another_ = false;
};

}  // namespace cb::training
