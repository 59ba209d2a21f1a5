// The header is text: one line each for magic, identity, steps, number of arrays and every array
// (bytes, sha256), then its own digest, then "end". The arrays follow.
#include "bench/training/checkpoint_file.h"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/file.h"
#include "core/sha256.h"
#include "sys/storage/file_stream.h"

namespace cb::training {
namespace {

constexpr std::string_view kMagic = "clusterbench-checkpoint/1\n";
constexpr std::string_view kEnd = "end\n";
constexpr size_t kMostHeader = size_t{64} << 10;
// Stays in the processor's cache between digest and copy.
constexpr size_t kPiece = size_t{256} << 10;

std::string_view bytes_of_array(std::span<const float> array) {
  return {reinterpret_cast<const char*>(array.data()), array.size_bytes()};
}

std::string header_for(const std::string& identity, int64_t steps,
                       const std::vector<std::span<const float>>& arrays,
                       const std::vector<std::string>& digests) {
  std::string out = fmt::format("{}{}\n{}\n{}\n", kMagic, identity, steps, arrays.size());
  for (size_t i = 0; i < arrays.size(); ++i)
    out += fmt::format("{} {}\n", arrays[i].size_bytes(), digests[i]);
  return fmt::format("{}header {}\n{}", out, sha256_hex(out), kEnd);
}

// Digests go along with the copies, and the header, which has them, is written last.
Saved write_arrays(int fd, const std::filesystem::path& path, const std::string& identity,
                   int64_t steps, const std::vector<std::span<const float>>& arrays,
                   const Alive& alive) {
  std::vector<std::string> digests(arrays.size(), std::string(64, '0'));
  FileStreamPlan plan{.head_bytes = header_for(identity, steps, arrays, digests).size()};
  plan.bytes = plan.head_bytes;
  for (const auto& array : arrays) plan.bytes += array.size_bytes();
  FileStream stream(fd, path, plan, FsRoot());
  const double start = monotonic_seconds();
  for (size_t i = 0; i < arrays.size(); ++i) {
    Sha256 digest;
    for (std::string_view rest = bytes_of_array(arrays[i]); !rest.empty();) {
      const std::string_view piece = rest.substr(0, kPiece);
      digest.update(piece);
      stream.add(piece);
      rest.remove_prefix(piece.size());
      alive();
    }
    digests[i] = digest.hex();
  }
  const double host_seconds = monotonic_seconds() - start - stream.waited_seconds();
  stream.finish(header_for(identity, steps, arrays, digests));
  return {.host_seconds = host_seconds, .how = stream.how()};
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
  fill_file_atomically(
      path, [&](int fd) { out = write_arrays(fd, path, identity, steps, arrays, alive); });
  out.storage_seconds = monotonic_seconds() - start - out.host_seconds;
  return out;
}

CheckpointFile::CheckpointFile(const std::filesystem::path& path, const std::string& identity)
    : file_(open_regular(path)) {
  if (!file_.open()) return;
  std::string text(kMostHeader, '\0');
  text.resize(read_at(file_.get(), text.data(), text.size(), 0));
  take_header(text, identity);
}

// Nothing is known of a header that is not whole.
void CheckpointFile::take_header(const std::string& text, const std::string& identity) {
  if (text.starts_with(kMagic)) {
    const std::string whose = text.substr(kMagic.size(), identity.size());
    of_another_ = whose.size() == identity.size() && whose != identity;
  }
  const size_t end = text.find(kEnd);
  const size_t own = end == std::string::npos ? end : text.rfind("header ", end);
  if (own == std::string::npos) return;
  const std::string head = text.substr(0, own);
  if (text.substr(own, end - own) != "header " + sha256_hex(head) + "\n") return;
  std::istringstream in(head);
  std::string magic, whose;
  int64_t steps = 0;
  size_t count = 0;
  if (!(in >> magic >> whose >> steps >> count) || magic + "\n" != kMagic || whose != identity)
    return;
  std::string digest;
  for (uint64_t bytes = 0; lengths_.size() < count && in >> bytes >> digest;) {
    lengths_.push_back(bytes);
    digests_.push_back(digest);
  }
  data_ = end + kEnd.size();
  if (lengths_.size() == count) steps_ = steps;
}

bool CheckpointFile::fits(const std::vector<std::span<float>>& arrays) const {
  return std::equal(arrays.begin(), arrays.end(), lengths_.begin(), lengths_.end(),
                    [](const auto& a, uint64_t bytes) { return a.size_bytes() == bytes; });
}

bool CheckpointFile::read(const std::vector<std::span<float>>* arrays, const Alive& alive) const {
  if (!steps_) return false;
  std::string buffer(kPiece, '\0');
  uint64_t at = data_;
  for (size_t i = 0; i < lengths_.size(); ++i) {
    Sha256 digest;
    for (uint64_t done = 0; done < lengths_[i];) {
      const size_t length = std::min<uint64_t>(kPiece, lengths_[i] - done);
      char* to =
          arrays == nullptr ? buffer.data() : reinterpret_cast<char*>((*arrays)[i].data()) + done;
      if (read_at(file_.get(), to, length, at + done) != length) return false;
      digest.update({to, length});
      done += length;
      alive();
    }
    if (digest.hex() != digests_[i]) return false;
    at += lengths_[i];
  }
  struct stat status {};
  return ::fstat(file_.get(), &status) == 0 && static_cast<uint64_t>(status.st_size) == at;
}

}  // namespace cb::training
