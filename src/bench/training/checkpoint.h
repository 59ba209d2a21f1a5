#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/training/checkpoint_file.h"
#include "core/messages/said.h"

namespace cb::training {

// The checkpoints of one rank: two files in a directory that exists, written in turn, so that one
// is whole whatever happens while the other is written. A file says for which training it is, how
// many steps were done, and the digest of each piece of the arrays; one that is torn, changed or of
// another training does not exist for a reader.
class Checkpoints {
 public:
  // `identity`: text of all that must be the same to go on. Throws Error if a file of another
  // version of the format is there: it is neither read nor replaced.
  Checkpoints(
      std::filesystem::path directory, int rank, const std::string& identity, Alive alive = [] {});

  // Throws Error if no file can be written: told before an hour of training, not behind it.
  void require_writable() const;
  // Throws Error if a file of that name is there that this training must not replace. `resumed`:
  // its own files and torn ones are its own to replace; else every file is somebody's, perhaps of
  // days. What a killed process of a resumed training left half written is removed.
  void require_own(bool resumed);
  // Returns when the file is on the device. Never replaces a file that another run has put there
  // meanwhile. Throws Error naming the file and the reason.
  Saved save(int64_t steps, const std::vector<std::span<const float>>& arrays);
  // Steps of the whole checkpoints, newest first. `tell`, if given, gets a sentence for each
  // damaged file.
  std::vector<int64_t> whole(const std::function<void(const Said&)>& tell = {}) const;
  // Fills the arrays. Throws Error, with anything in them, if there is no whole checkpoint of that
  // step with arrays of these lengths.
  void load(int64_t steps, const std::vector<std::span<float>>& arrays) const;

 private:
  std::filesystem::path file(int slot) const;

  std::filesystem::path directory_;
  int rank_ = 0;
  std::string identity_;  // digest
  Alive alive_;
  int slot_ = 0;  // the next to be written
  // Files that may be replaced: those that were this training's at the start, and what it wrote.
  std::array<bool, 2> own_ = {};
};

}  // namespace cb::training
