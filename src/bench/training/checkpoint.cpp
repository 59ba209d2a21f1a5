#include "bench/training/checkpoint.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"

namespace cb::training {
namespace {

constexpr int kSlots = 2;

bool is_there(const std::filesystem::path& path) {
  std::error_code absent;
  return std::filesystem::exists(std::filesystem::symlink_status(path, absent));
}

// What a killed process was writing: each would leave as much behind as a checkpoint takes.
void remove_partials(const std::filesystem::path& file) {
  const std::string begin = file.filename().string() + ".";
  std::error_code failed, ignored;  // other ranks remove theirs from a shared directory
  std::filesystem::directory_iterator entry(file.parent_path(), failed);
  for (; !failed && entry != std::filesystem::directory_iterator(); entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with(begin) && name.ends_with(".partial") && entry->is_regular_file(ignored))
      std::filesystem::remove(entry->path(), ignored);
  }
}

// Another build's checkpoint is no damage: it is somebody's, and can be read by that build.
void require_version(const std::filesystem::path& path, const CheckpointFile& file) {
  if (file.other_version())
    throw Error(said("train.checkpoint_version", path.string(), *file.other_version()));
}

}  // namespace

Checkpoints::Checkpoints(std::filesystem::path directory, int rank, const std::string& identity,
                         Alive alive)
    : directory_(std::move(directory)),
      rank_(rank),
      identity_(sha256_hex(identity)),
      alive_(std::move(alive)) {
  // The older or missing one is written first, so that the newest stays.
  int64_t newest = -1;
  for (int slot = 0; slot < kSlots; ++slot) {
    CheckpointFile stored(file(slot), identity_);
    require_version(file(slot), stored);
    const bool whole = stored.read(nullptr, alive_);
    own_[static_cast<size_t>(slot)] = whole;
    if (!whole || *stored.steps() <= newest) continue;
    newest = *stored.steps();
    slot_ = (slot + 1) % kSlots;
  }
}

std::filesystem::path Checkpoints::file(int slot) const {
  return directory_ / fmt::format("clusterbench-train-rank{}.{}.checkpoint", rank_, slot);
}

void Checkpoints::require_writable() const {
  if (const auto why = why_not_writable(file(slot_)))
    throw Error(said("train.checkpoint_denied", file(slot_).string(), *why));
}

void Checkpoints::require_own(bool resumed) {
  for (int slot = 0; slot < kSlots; ++slot) {
    if (!is_there(file(slot))) continue;
    if (!resumed) throw Error(said("train.checkpoint_there", file(slot).string()));
    const CheckpointFile stored(file(slot), identity_);
    require_version(file(slot), stored);
    if (!stored.is_replaceable())
      throw Error(said("train.checkpoint_foreign", file(slot).string()));
    own_[static_cast<size_t>(slot)] = true;
  }
  if (!resumed) return;
  for (int slot = 0; slot < kSlots; ++slot) remove_partials(file(slot));
}

Saved Checkpoints::save(int64_t steps, const std::vector<std::span<const float>>& arrays) {
  bool& own = own_[static_cast<size_t>(slot_)];
  if (!own && is_there(file(slot_)))
    throw Error(said("train.checkpoint_there", file(slot_).string()));
  Saved out = write_checkpoint(file(slot_), identity_, steps, arrays, alive_);
  own = true;
  slot_ = (slot_ + 1) % kSlots;
  return out;
}

std::vector<int64_t> Checkpoints::whole(const std::function<void(const Said&)>& tell) const {
  std::vector<int64_t> out;
  for (int slot = 0; slot < kSlots; ++slot) {
    CheckpointFile stored(file(slot), identity_);
    if (stored.read(nullptr, alive_)) out.push_back(*stored.steps());
    if (tell && stored.damage())
      tell(said("train.checkpoint_damaged", file(slot).string(), *stored.damage()));
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

void Checkpoints::load(int64_t steps, const std::vector<std::span<float>>& arrays) const {
  for (int slot = 0; slot < kSlots; ++slot) {
    CheckpointFile stored(file(slot), identity_);
    if (stored.steps() != steps || stored.array_count() != arrays.size()) continue;
    if (!stored.fits(arrays)) throw Error(said("train.checkpoint_lengths", file(slot).string()));
    if (stored.read(&arrays, alive_)) return;
  }
  throw Error(said("train.checkpoint_gone", steps, directory_.string(), rank_));
}

}  // namespace cb::training
