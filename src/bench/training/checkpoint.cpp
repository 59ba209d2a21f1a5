#include "bench/training/checkpoint.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"

namespace cb::training {
namespace {

constexpr int kSlots = 2;
constexpr const char* kMagic = "clusterbench-checkpoint/1";
constexpr const char* kEnd = "end\n";

std::string_view bytes_of_array(std::span<const float> array) {
  return {reinterpret_cast<const char*>(array.data()), array.size_bytes()};
}

struct StoredArray {
  size_t bytes = 0;
  std::string sha256;
};

// What a file says of itself.
struct Stored {
  int64_t steps = 0;
  std::vector<StoredArray> arrays;
  size_t data = 0;  // where the arrays begin
};

// The header is text: one line each for magic, identity, steps, number of arrays and every array,
// then its own digest, then "end". Nothing if it is not whole or of another training.
std::optional<Stored> header_of(std::string_view text, const std::string& identity) {
  const size_t end = text.find(kEnd);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string head(text.substr(0, end));
  const size_t last = head.rfind("header ");
  if (last == std::string::npos) return std::nullopt;
  if (head.substr(last) != "header " + sha256_hex(head.substr(0, last)) + "\n") return std::nullopt;
  std::istringstream in(head.substr(0, last));
  std::string magic, whose;
  Stored out;
  size_t count = 0;
  if (!(in >> magic >> whose >> out.steps >> count) || magic != kMagic || whose != identity)
    return std::nullopt;
  for (StoredArray a; out.arrays.size() < count && in >> a.bytes >> a.sha256;)
    out.arrays.push_back(a);
  if (out.arrays.size() != count) return std::nullopt;
  out.data = end + std::strlen(kEnd);
  return out;
}

// The header, if everything that it announces is there.
std::optional<Stored> whole_header(std::string_view text, const std::string& identity) {
  auto out = header_of(text, identity);
  if (!out) return std::nullopt;
  size_t at = out->data;
  for (const StoredArray& a : out->arrays) {
    if (a.bytes > text.size() - at) return std::nullopt;
    if (sha256_hex(text.substr(at, a.bytes)) != a.sha256) return std::nullopt;
    at += a.bytes;
  }
  return at == text.size() ? out : std::nullopt;
}

// True for a file that begins as a checkpoint does, of another training.
bool is_of_another(std::string_view text, const std::string& identity) {
  const std::string magic = std::string(kMagic) + "\n";
  if (!text.starts_with(magic)) return false;
  const std::string_view whose = text.substr(magic.size(), identity.size());
  return whose.size() == identity.size() && whose != identity;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code absent;
  return std::filesystem::exists(std::filesystem::symlink_status(path, absent));
}

std::optional<std::string> text_of_file(const std::filesystem::path& path) {
  std::error_code absent;
  if (!std::filesystem::is_regular_file(path, absent)) return std::nullopt;
  try {
    return read_file(path, size_t{1} << 40);
  } catch (const Error&) {
    return std::nullopt;  // not readable: no checkpoint
  }
}

}  // namespace

Checkpoints::Checkpoints(std::filesystem::path directory, int rank, const std::string& identity)
    : directory_(std::move(directory)), rank_(rank), identity_(sha256_hex(identity)) {
  // The older or missing one is written first, so that the newest stays.
  int64_t newest = -1;
  for (int slot = 0; slot < kSlots; ++slot) {
    const auto text = text_of_file(file(slot));
    const auto stored = text ? whole_header(*text, identity_) : std::nullopt;
    own_[static_cast<size_t>(slot)] = stored.has_value();
    if (!stored || stored->steps <= newest) continue;
    newest = stored->steps;
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
    const auto text = text_of_file(file(slot));
    if (!text || is_of_another(*text, identity_))
      throw Error(said("train.checkpoint_foreign", file(slot).string()));
    own_[static_cast<size_t>(slot)] = true;
  }
}

void Checkpoints::save(int64_t steps, const std::vector<std::span<const float>>& arrays) {
  bool& own = own_[static_cast<size_t>(slot_)];
  if (!own && is_there(file(slot_)))
    throw Error(said("train.checkpoint_there", file(slot_).string()));
  std::string head = fmt::format("{}\n{}\n{}\n{}\n", kMagic, identity_, steps, arrays.size());
  size_t size = 0;
  for (const auto& array : arrays) {
    head += fmt::format("{} {}\n", array.size_bytes(), sha256_hex(bytes_of_array(array)));
    size += array.size_bytes();
  }
  head += "header " + sha256_hex(head) + "\n" + kEnd;
  std::string text;
  text.reserve(head.size() + size);
  text = head;
  for (const auto& array : arrays) text += bytes_of_array(array);
  write_file_atomically(file(slot_), text);
  own = true;
  slot_ = (slot_ + 1) % kSlots;
}

std::vector<int64_t> Checkpoints::whole() const {
  std::vector<int64_t> out;
  for (int slot = 0; slot < kSlots; ++slot) {
    const auto text = text_of_file(file(slot));
    const auto stored = text ? whole_header(*text, identity_) : std::nullopt;
    if (stored) out.push_back(stored->steps);
  }
  std::sort(out.rbegin(), out.rend());
  return out;
}

void Checkpoints::load(int64_t steps, const std::vector<std::span<float>>& arrays) const {
  for (int slot = 0; slot < kSlots; ++slot) {
    const auto text = text_of_file(file(slot));
    const auto stored = text ? whole_header(*text, identity_) : std::nullopt;
    if (!stored || stored->steps != steps || stored->arrays.size() != arrays.size()) continue;
    size_t at = stored->data;
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (stored->arrays[i].bytes != arrays[i].size_bytes())
        throw Error(said("train.checkpoint_lengths", file(slot).string()));
      if (!arrays[i].empty())
        std::memcpy(arrays[i].data(), text->data() + at, arrays[i].size_bytes());
      at += arrays[i].size_bytes();
    }
    return;
  }
  throw Error(said("train.checkpoint_gone", steps, directory_.string(), rank_));
}

}  // namespace cb::training
