#pragma once

#include <filesystem>

namespace cb {

// True if the file's name is that of an archive: .tar, .tar.gz or .tgz.
bool is_archive_name(const std::filesystem::path& file);

// The files of a bundle, unpacked into a directory of our own. Only this user can read it, and it
// is removed with this object. Throws UsageError for anything but regular files below one folder
// "campaign-ID": links, devices, names that lead out of it or come twice, headers whose sum is
// wrong, an archive that is cut short or goes on after its end.
class UnpackedBundle {
 public:
  explicit UnpackedBundle(const std::filesystem::path& archive);
  ~UnpackedBundle();
  UnpackedBundle(const UnpackedBundle&) = delete;
  UnpackedBundle& operator=(const UnpackedBundle&) = delete;

  const std::filesystem::path& campaign() const { return campaign_; }

 private:
  std::filesystem::path root_, campaign_;
};

}  // namespace cb
