// Version 2. The header is text: one line each for magic, identity, steps, number of arrays, the
// bytes of every array, and the sha256 of the list, then its own digest, then "end". The arrays
// follow, and then the list: a line with the sha256 of each piece of 4 MiB of each array. In every
// version the first two lines and the last two are these.
#include "bench/training/checkpoint_file.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cerrno>
#include <numeric>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/parallel.h"
#include "core/sha256.h"
#include "sys/storage/file_stream.h"

namespace cb::training {
namespace {

constexpr std::string_view kFormat = "clusterbench-checkpoint/";
constexpr std::string_view kVersion = "2";
constexpr std::string_view kEnd = "end\n";
constexpr size_t kMostHeader = size_t{64} << 10;
constexpr size_t kPiece = size_t{4} << 20;
constexpr size_t kHexDigits = 64;
constexpr size_t kListLine = kHexDigits + 1;

using Piece = CheckpointFile::Piece;

std::vector<Piece> pieces_of(const std::vector<uint64_t>& lengths) {
  std::vector<Piece> out;
  uint64_t at = 0;
  for (size_t array = 0; array < lengths.size(); ++array) {
    for (uint64_t begin = 0; begin < lengths[array]; begin += kPiece)
      out.push_back({array, begin, at + begin, std::min<uint64_t>(kPiece, lengths[array] - begin)});
    at += lengths[array];
  }
  return out;
}

std::string header_for(const std::string& identity, int64_t steps,
                       const std::vector<uint64_t>& lengths, const std::string& list_digest) {
  std::string out =
      fmt::format("{}{}\n{}\n{}\n{}\n", kFormat, kVersion, identity, steps, lengths.size());
  for (const uint64_t bytes : lengths) out += fmt::format("{}\n", bytes);
  out += fmt::format("pieces {}\n", list_digest);
  return fmt::format("{}header {}\n{}", out, sha256_hex(out), kEnd);
}

// Arrays as a file has them.
class ArraysOfFile {
 public:
  explicit ArraysOfFile(const std::vector<std::span<const float>>& arrays) : arrays_(arrays) {
    for (const auto& array : arrays) lengths_.push_back(array.size_bytes());
    pieces_ = pieces_of(lengths_);
  }

  const std::vector<uint64_t>& lengths() const { return lengths_; }
  size_t count() const { return pieces_.size(); }  // of pieces
  std::string_view piece(size_t i) const {
    const Piece& p = pieces_[i];
    return {reinterpret_cast<const char*>(arrays_[p.array].data()) + p.begin, p.length};
  }
  // With the list of digests.
  uint64_t bytes() const {
    return std::accumulate(lengths_.begin(), lengths_.end(), pieces_.size() * kListLine);
  }

 private:
  const std::vector<std::span<const float>>& arrays_;
  std::vector<uint64_t> lengths_;
  std::vector<Piece> pieces_;
};

// Writes the arrays, and the list of their digests, which it returns. Other threads make the
// digests while this one copies into the blocks, of which the device takes one after the other.
std::string write_with_digests(FileStream& stream, const ArraysOfFile& arrays, const Alive& alive) {
  std::vector<std::string> digests(arrays.count());
  const auto copy_all = [&] {
    for (size_t i = 0; i < arrays.count(); ++i) {
      stream.add(arrays.piece(i));
      alive();
    }
  };
  on_other_processors(copy_all, arrays.count(), [&](size_t i) {
    digests[i] = sha256_hex(arrays.piece(i)) + "\n";
    alive();
  });
  const std::string list = std::accumulate(digests.begin(), digests.end(), std::string());
  stream.add(list);
  return list;
}

// The list stands behind the arrays, so that it may be of any length. The header, which has the
// digest of the list, is written last.
Saved write_arrays(int fd, const std::filesystem::path& path, const std::string& identity,
                   int64_t steps, const ArraysOfFile& arrays, const Alive& alive) {
  const auto header = [&](const std::string& list_digest) {
    return header_for(identity, steps, arrays.lengths(), list_digest);
  };
  FileStreamPlan plan{.head_bytes = header(std::string(kHexDigits, '0')).size()};
  plan.bytes = plan.head_bytes + arrays.bytes();
  FileStream stream(fd, path, plan, FsRoot());
  const double start = monotonic_seconds();
  const std::string list = write_with_digests(stream, arrays, alive);
  const double host_seconds = monotonic_seconds() - start - stream.waited_seconds();
  stream.finish(header(sha256_hex(list)));
  return {.host_seconds = host_seconds, .how = stream.how()};
}

// The text before the line with its digest, if that is right. `end`: where the header ends.
std::optional<std::string> whole_header(const std::string& text, uint64_t& end) {
  const size_t last = text.find(kEnd);
  const size_t own = last == std::string::npos ? last : text.rfind("header ", last);
  if (own == std::string::npos) return std::nullopt;
  std::string head = text.substr(0, own);
  if (text.substr(own, last - own) != "header " + sha256_hex(head) + "\n") return std::nullopt;
  end = last + kEnd.size();
  return head;
}

// "7" of "clusterbench-checkpoint/7"; nothing for what is no number.
std::optional<std::string> version_of(const std::string& magic) {
  constexpr size_t kMostDigits = 9;
  if (!magic.starts_with(kFormat)) return std::nullopt;
  std::string out = magic.substr(kFormat.size());
  const bool number =
      std::ranges::all_of(out, [](unsigned char c) { return std::isdigit(c) != 0; });
  return number && !out.empty() && out.size() <= kMostDigits ? std::optional(out) : std::nullopt;
}

// Reads as much as there is, at most `length` bytes.
size_t read_at(int fd, char* to, size_t length, uint64_t offset) {
  size_t done = 0;
  while (done < length) {
    const ssize_t n = ::pread(fd, to + done, length - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  return done;
}

// Nothing for what is no regular file. O_NONBLOCK, because opening a pipe would wait until somebody
// writes to it.
Descriptor open_regular(const std::filesystem::path& path) {
  Descriptor out(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status {};
  if (out.open() && ::fstat(out.get(), &status) == 0 && S_ISREG(status.st_mode)) return out;
  return Descriptor();
}

}  // namespace

Saved write_checkpoint(const std::filesystem::path& path, const std::string& identity,
                       int64_t steps, const std::vector<std::span<const float>>& arrays,
                       const Alive& alive) {
  const double start = monotonic_seconds();
  Saved out;
  fill_file_atomically(path, [&](int fd) {
    out = write_arrays(fd, path, identity, steps, ArraysOfFile(arrays), alive);
  });
  out.storage_seconds = monotonic_seconds() - start - out.host_seconds;
  return out;
}

CheckpointFile::CheckpointFile(const std::filesystem::path& path, const std::string& identity)
    : file_(open_regular(path)) {
  struct stat status {};
  if (!file_.open() || ::fstat(file_.get(), &status) != 0) return;
  size_ = static_cast<uint64_t>(status.st_size);
  std::string text(std::min<uint64_t>(kMostHeader, size_), '\0');
  text.resize(read_at(file_.get(), text.data(), text.size(), 0));
  take_header(text, identity);
}

void CheckpointFile::take_header(const std::string& text, const std::string& identity) {
  const auto head = whole_header(text, data_);
  std::string magic, whose;
  if (head) std::istringstream(*head) >> magic >> whose;
  const auto version = version_of(magic);
  if (!version) {
    damage_ = said("train.damaged_header");
  } else if (*version != kVersion) {
    version_ = version;
  } else if (whose != identity) {
    of_another_ = true;
  } else if (!take_lines(*head)) {
    damage_ = said("train.damaged_header");
  }
}

// False if the lines are not what is written. A length that cannot be is damage, and no steps then.
bool CheckpointFile::take_lines(const std::string& head) {
  std::istringstream in(head);
  std::string magic, whose, word;
  int64_t steps = 0;
  size_t count = 0;
  if (!(in >> magic >> whose >> steps >> count) || steps < 0) return false;
  for (uint64_t bytes = 0; lengths_.size() < count && in >> bytes;) lengths_.push_back(bytes);
  if (!(in >> word >> list_digest_) || word != "pieces") return false;
  if (has_announced_length())
    steps_ = steps;
  else
    damage_ = said("train.damaged_length", size_);
  return true;
}

// Asked before anything is read or allocated: a header may say anything. Nothing is added that
// could go beyond 64 bits.
bool CheckpointFile::has_announced_length() const {
  uint64_t rest = size_ - data_;
  for (const uint64_t bytes : lengths_) {
    const uint64_t list = (bytes / kPiece + (bytes % kPiece != 0 ? 1 : 0)) * kListLine;
    if (bytes > rest || list > rest - bytes) return false;
    rest -= bytes + list;
  }
  return rest == 0;
}

bool CheckpointFile::fits(const std::vector<std::span<float>>& arrays) const {
  return std::equal(arrays.begin(), arrays.end(), lengths_.begin(), lengths_.end(),
                    [](const auto& a, uint64_t bytes) { return a.size_bytes() == bytes; });
}

// Nothing if it is not there as it was written.
std::optional<std::string> CheckpointFile::read_list(size_t pieces) const {
  std::string out(pieces * kListLine, '\0');
  if (read_at(file_.get(), out.data(), out.size(), size_ - out.size()) != out.size() ||
      sha256_hex(out) != list_digest_)
    return std::nullopt;
  return out;
}

// The first damaged piece; their number if all are as they were written. `to(piece)`: where a piece
// is read to, or null.
size_t CheckpointFile::first_damaged(const std::vector<Piece>& pieces, const std::string& list,
                                     const std::function<char*(const Piece&)>& to,
                                     const Alive& alive) const {
  std::atomic<size_t> first{pieces.size()};
  on_all_processors(pieces.size(), [&](size_t i) {
    if (i > first) return;
    std::string own;
    char* place = to(pieces[i]);
    if (place == nullptr) {
      own.resize(pieces[i].length);
      place = own.data();
    }
    const bool whole =
        read_at(file_.get(), place, pieces[i].length, data_ + pieces[i].at) == pieces[i].length &&
        list.compare(i * kListLine, kHexDigits, sha256_hex({place, pieces[i].length})) == 0;
    for (size_t known = first; !whole && i < known && !first.compare_exchange_weak(known, i);) {
    }
    alive();
  });
  return first;
}

bool CheckpointFile::read(const std::vector<std::span<float>>* arrays, const Alive& alive) {
  if (!steps_) return false;
  const std::vector<Piece> pieces = pieces_of(lengths_);
  const auto list = read_list(pieces.size());
  if (!list) {
    damage_ = said("train.damaged_list");
    return false;
  }
  const auto place = [&](const Piece& p) {
    return arrays == nullptr ? nullptr
                             : reinterpret_cast<char*>((*arrays)[p.array].data()) + p.begin;
  };
  const size_t first = first_damaged(pieces, *list, place, alive);
  if (first == pieces.size()) return true;
  const Piece& p = pieces[first];
  damage_ = said("train.damaged_piece", p.array + 1, p.begin, p.begin + p.length);
  return false;
}

}  // namespace cb::training
