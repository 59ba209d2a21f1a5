#pragma once

#include <filesystem>
#include <string>

namespace cb {

// A directory that no one else has, and its end: only what lies in it is removed.
class FreshDirectory {
 public:
  // Makes it in `parent`, under a name that begins with `name`. Throws Error.
  FreshDirectory(const std::filesystem::path& parent, const std::string& name);
  ~FreshDirectory();
  FreshDirectory(const FreshDirectory&) = delete;
  FreshDirectory& operator=(const FreshDirectory&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace cb
