// Writes the archive of a campaign.
#include "campaign/bundle.h"

#include <algorithm>
#include <cstdio>
#include <fstream>

#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

#include "campaign/directory.h"
#include "campaign/files.h"
#include "campaign/tar_format.h"
#include "campaign/unbundle.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxFile = 077777777777;  // eleven octal digits

void put(TarHeader& header, size_t at, std::string_view text) {
  std::copy(text.begin(), text.end(), header.begin() + static_cast<std::ptrdiff_t>(at));
}

// Splits a long path at a '/' into prefix and name.
void put_name(TarHeader& header, const std::string& name) {
  if (name.size() <= kTarName.size) return put(header, 0, name);
  for (size_t slash = name.find('/'); slash != std::string::npos;
       slash = name.find('/', slash + 1)) {
    if (slash > kTarPrefix.size || name.size() - slash - 1 > kTarName.size) continue;
    put(header, 0, std::string_view(name).substr(slash + 1));
    return put(header, kTarPrefix.at, std::string_view(name).substr(0, slash));
  }
  throw Error(fmt::format("{} has a name too long for an archive: shorten it", name));
}

TarHeader header_of(const std::string& name, uint64_t size, int64_t time) {
  if (size > kMaxFile)
    throw Error(fmt::format("{} is too large for an archive (8 GiB): archive it by itself", name));
  TarHeader out{};
  put_name(out, name);
  put(out, 100, "0000644");
  put(out, 108, "0000000");
  put(out, 116, "0000000");
  put(out, kTarSize.at, fmt::format("{:011o}", size));
  put(out, 136, fmt::format("{:011o}", time));
  out[kTarType] = '0';
  put(out, kTarMagic.at,
      std::string_view("ustar\0"
                       "00",
                       8));
  put(out, kTarSum.at, fmt::format("{:06o}", tar_sum(out)));
  out[kTarSum.at + 6] = '\0';
  out[kTarSum.at + 7] = ' ';
  return out;
}

// The archive while it is written: under a temporary name beside the final one, renamed when
// complete, removed otherwise.
class Archive {
 public:
  explicit Archive(const fs::path& path)
      : path_(path), partial_(path.string() + fmt::format(".{}.partial", ::getpid())) {
    // 'T' writes the bytes unchanged: no compression, no gzip header.
    const bool compressed = path.extension() != ".tar";
    file_ = ::gzopen(partial_.c_str(), compressed ? "wbx9" : "wbxT");
    if (file_ == nullptr) fail();
  }
  ~Archive() {
    if (file_ != nullptr) ::gzclose(file_);
    std::error_code ignored;
    fs::remove(partial_, ignored);
  }
  Archive(const Archive&) = delete;
  Archive& operator=(const Archive&) = delete;

  void write(std::string_view bytes) {
    if (!bytes.empty() && ::gzwrite(file_, bytes.data(), static_cast<unsigned>(bytes.size())) <= 0)
      fail();
  }
  void finish() {
    const int failed = ::gzclose(file_);
    file_ = nullptr;
    if (failed != Z_OK || std::rename(partial_.c_str(), path_.c_str()) != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(fmt::format("cannot write {}: is the disk full, or the directory missing?",
                            path_.string()));
  }
  fs::path path_, partial_;
  gzFile file_ = nullptr;
};

// Throws if the file grows or shrinks meanwhile: that would shift all that follows.
void add_file(Archive& archive, const fs::path& path, const std::string& name, int64_t time) {
  const uint64_t size = fs::file_size(path);
  const TarHeader header = header_of(name, size, time);
  archive.write({header.data(), header.size()});
  std::ifstream in(path, std::ios::binary);
  std::string buffer(size_t{1} << 20, '\0');
  uint64_t copied = 0;
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
    const auto n = static_cast<size_t>(in.gcount());
    archive.write(std::string_view(buffer).substr(0, n));
    copied += n;
  }
  if (copied != size)
    throw Error(
        fmt::format("{} changed while it was read: wait for the run to end", path.string()));
  archive.write(std::string((kTarBlock - size % kTarBlock) % kTarBlock, '\0'));
}

// Other programs choose the format by the name's ending.
void require_archive_name(const fs::path& archive) {
  if (!is_archive_name(archive))
    throw UsageError(archive.string(), "--out", "does not end in .tar, .tar.gz or .tgz");
}

void refuse_others(const fs::path& directory, const CampaignFiles& files) {
  Problems problems;
  for (const std::string& file : files.other)
    problems.add(file, "is no regular file: take it out, an archive holds no links");
  if (!problems.empty()) throw UsageError(directory.string(), problems);
}

}  // namespace

void bundle_campaign(const fs::path& directory, const fs::path& archive) {
  require_archive_name(archive);
  const CampaignPaths paths{directory};
  // The id, 16 hex digits, becomes a folder's name in the archive.
  const CampaignFile campaign =
      parse_campaign_file(read_file(paths.campaign()), paths.campaign().string());
  const CampaignFiles files = campaign_files(directory);
  refuse_others(directory, files);
  if (is_inside(fs::weakly_canonical(archive)
                    .lexically_relative(fs::canonical(directory))
                    .generic_string()))
    throw UsageError(archive.string(), "--out", "lies in the campaign itself: name a file outside");
  const int64_t time = std::max<int64_t>(0, seconds_since_epoch(campaign.started).value_or(0));
  Archive out(archive);
  for (const std::string& file : files.regular)
    add_file(out, directory / file, "campaign-" + campaign.id + "/" + file, time);
  out.write(std::string(2 * kTarBlock, '\0'));
  out.finish();
}

}  // namespace cb
