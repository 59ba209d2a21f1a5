#include "campaign/unbundle.h"

#include <algorithm>
#include <fstream>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include "campaign/tar_format.h"
#include "core/error.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr size_t kIdDigits = 16;

// Reads an archive, compressed or not, from its begin to its end.
class BundleReader {
 public:
  explicit BundleReader(const fs::path& path) : path_(path), file_(::gzopen(path.c_str(), "rb")) {
    if (file_ == nullptr) refuse("cannot be read");
  }
  ~BundleReader() { ::gzclose(file_); }
  BundleReader(const BundleReader&) = delete;
  BundleReader& operator=(const BundleReader&) = delete;

  [[noreturn]] void refuse(const std::string& why) const {
    throw UsageError(path_.string(), "", why);
  }

  // Reads `size` bytes, or fewer at the end of the archive. Returns their number.
  size_t read(char* to, size_t size) {
    const int n = ::gzread(file_, to, static_cast<unsigned>(size));
    int failed = Z_OK;
    ::gzerror(file_, &failed);
    if (n < 0 || (failed != Z_OK && failed != Z_STREAM_END)) refuse("is cut short or damaged");
    return static_cast<size_t>(n);
  }
  bool is_compressed() { return ::gzdirect(file_) == 0; }
  void read_whole(char* to, size_t size) {
    if (read(to, size) != size) refuse("is cut short");
  }

 private:
  const fs::path& path_;
  gzFile file_;
};

struct TarMember {
  std::string name;
  uint64_t size = 0;
};

std::string field_text(const TarHeader& header, TarField field) {
  const std::string_view text(header.data() + field.at, field.size);
  return std::string(text.substr(0, text.find('\0')));
}

// Parses octal digits that end with a NUL, a blank or the field.
std::optional<uint64_t> field_number(const TarHeader& header, TarField field) {
  const std::string text = field_text(header, field);
  uint64_t out = 0;
  size_t digits = 0;
  for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '7'; ++digits)
    out = out << 3 | static_cast<uint64_t>(text[digits] - '0');
  if (digits == 0 || text.find_first_not_of(' ', digits) != std::string::npos) return std::nullopt;
  return out;
}

bool is_end(const TarHeader& header) {
  return std::all_of(header.begin(), header.end(), [](char c) { return c == '\0'; });
}

// True for names like "campaign-0123456789abcdef/records/001-a.json", which do not lead out of
// their folder.
bool is_safe(const std::string& name) {
  constexpr std::string_view begin = "campaign-";
  const size_t slash = name.find('/');
  if (!name.starts_with(begin) || slash != begin.size() + kIdDigits) return false;
  const std::string id = name.substr(begin.size(), kIdDigits);
  if (id.find_first_not_of("0123456789abcdef") != std::string::npos) return false;
  for (size_t at = slash + 1;;) {
    const size_t end = std::min(name.find('/', at), name.size());
    const std::string part = name.substr(at, end - at);
    if (part.empty() || part == "." || part == "..") return false;
    if (end == name.size()) return true;
    at = end + 1;
  }
}

TarMember member_of(const BundleReader& in, const TarHeader& header) {
  const std::string prefix = field_text(header, kTarPrefix);
  TarMember out{(prefix.empty() ? "" : prefix + "/") + field_text(header, kTarName), 0};
  const std::string shown = terminal_safe(out.name);
  const auto size = field_number(header, kTarSize);
  if (field_number(header, kTarSum) != tar_sum(header) ||
      field_text(header, kTarMagic) != "ustar" || !size)
    in.refuse("is no bundle, or damaged: a header's sum is wrong");
  if (header[kTarType] != '0')
    in.refuse(
        fmt::format("holds {}, which is no regular file: a bundle has none. Unpack it by hand "
                    "and verify the directory",
                    shown));
  if (!is_safe(out.name))
    in.refuse(fmt::format("holds {}, which does not lie in a folder campaign-ID", shown));
  out.size = *size;
  return out;
}

// Writes a new file; refuses if the path exists.
void unpack(BundleReader& in, const TarMember& member, const fs::path& root) {
  const fs::path path = root / member.name;
  std::error_code failed;
  fs::create_directories(path.parent_path(), failed);
  if (failed || fs::exists(fs::symlink_status(path)))
    in.refuse(fmt::format("holds {} twice, or as a folder too", terminal_safe(member.name)));
  if (fs::space(root).available < member.size)
    throw Error(fmt::format("{} has no room for {} bytes: set TMPDIR to a larger disk",
                            root.string(), member.size));
  std::ofstream out(path, std::ios::binary);
  std::string buffer(size_t{1} << 20, '\0');
  for (uint64_t left = member.size; left > 0;) {
    const size_t piece = std::min<uint64_t>(left, buffer.size());
    in.read_whole(buffer.data(), piece);
    out.write(buffer.data(), static_cast<std::streamsize>(piece));
    left -= piece;
  }
  const size_t padding = (kTarBlock - member.size % kTarBlock) % kTarBlock;
  in.read_whole(buffer.data(), padding);
  out.close();
  if (!out) throw Error(fmt::format("cannot write {}: is the disk full?", path.string()));
}

// Refuses content after the end: a reader who unpacks the archive would not see it.
void require_end(BundleReader& in) {
  TarHeader block{};
  in.read_whole(block.data(), block.size());
  if (!is_end(block)) in.refuse("is no bundle, or damaged: its end is missing");
  for (;;) {
    block.fill('\0');
    const size_t n = in.read(block.data(), block.size());
    if (n == 0) return;
    if (!is_end(block)) in.refuse("goes on behind its end");
  }
}

// Refuses what stands behind the compressed data. zlib and gzip pass it over, so that nobody who
// unpacks the archive sees it. Zeros are the filling of a tape.
void require_compressed_end(const BundleReader& in, const fs::path& archive) {
  constexpr size_t kPiece = size_t{1} << 16;
  constexpr int kGzip = 15 + 16;  // the largest window, and a gzip header
  std::ifstream file(archive, std::ios::binary);
  std::string piece(kPiece, '\0'), ignored(kPiece, '\0');
  z_stream stream{};
  if (::inflateInit2(&stream, kGzip) != Z_OK) throw Error("zlib cannot be used");
  bool ended = false, refused = false;
  while (!refused && (file.read(piece.data(), kPiece), file.gcount() > 0)) {
    stream.next_in = reinterpret_cast<Bytef*>(piece.data());
    stream.avail_in = static_cast<uInt>(file.gcount());
    while (!refused && stream.avail_in > 0) {
      if (ended && *stream.next_in == 0) {
        ++stream.next_in;
        --stream.avail_in;
        continue;
      }
      if (ended) ::inflateReset(&stream);
      stream.next_out = reinterpret_cast<Bytef*>(ignored.data());
      stream.avail_out = static_cast<uInt>(kPiece);
      const int result = ::inflate(&stream, Z_NO_FLUSH);
      ended = result == Z_STREAM_END;
      refused = !ended && result != Z_OK && result != Z_BUF_ERROR;
    }
  }
  ::inflateEnd(&stream);
  if (refused || !ended) in.refuse("goes on behind its end");
}

// Unpacks all files. Returns the one folder that they lie in.
std::string unpack_all(BundleReader& in, const fs::path& root) {
  std::set<std::string> folders;
  for (;;) {
    TarHeader header{};
    in.read_whole(header.data(), header.size());
    if (is_end(header)) break;
    const TarMember member = member_of(in, header);
    folders.insert(member.name.substr(0, member.name.find('/')));
    if (folders.size() > 1) in.refuse("holds more than one campaign");
    unpack(in, member, root);
  }
  require_end(in);
  if (folders.empty()) in.refuse("is empty");
  return *folders.begin();
}

}  // namespace

bool is_archive_name(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.ends_with(".tar") || name.ends_with(".tar.gz") || name.ends_with(".tgz");
}

UnpackedBundle::UnpackedBundle(const fs::path& archive) {
  std::string name = (fs::temp_directory_path() / "clusterbench-bundle-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw Error(
        fmt::format("cannot make a folder in {}: set TMPDIR", fs::temp_directory_path().string()));
  root_ = name;
  try {
    BundleReader in(archive);
    campaign_ = root_ / unpack_all(in, root_);
    if (in.is_compressed()) require_compressed_end(in, archive);
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
    throw;
  }
}

UnpackedBundle::~UnpackedBundle() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

}  // namespace cb
