#include "campaign/session_folder.h"

#include <array>
#include <cstdlib>
#include <string>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cb {
namespace {

// The host's name up to the first dot, as Open MPI takes it.
std::string short_host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "";
  const std::string whole = name.data();
  return whole.substr(0, whole.find('.'));
}

// A folder that is there counts if it is this user's: in a folder for all somebody else may have
// put another thing under the name.
bool is_own_folder(const std::filesystem::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

bool make_folder(const std::filesystem::path& path) { return ::mkdir(path.c_str(), S_IRWXU) == 0; }

}  // namespace

// An mpirun that ends may remove the folder before something is in it.
KeptSessionFolder::KeptSessionFolder(const std::filesystem::path& temporary)
    : folder_(temporary / fmt::format("ompi.{}.{}", short_host_name(), ::geteuid())),
      own_(folder_ / fmt::format("clusterbench-{}", ::getpid())) {
  constexpr int kAttempts = 3;
  for (int i = 0; i < kAttempts && !has_own_; ++i) {
    made_ = make_folder(folder_) || made_;
    has_own_ = is_own_folder(folder_) && (make_folder(own_) || is_own_folder(own_));
  }
}

// What others have put there stays, and so does a folder that was there before.
KeptSessionFolder::~KeptSessionFolder() {
  if (has_own_) ::rmdir(own_.c_str());
  if (made_) ::rmdir(folder_.c_str());
}

std::filesystem::path open_mpi_temporary() {
  for (const char* name : {"OMPI_MCA_orte_tmpdir_base", "TMPDIR", "TEMP", "TMP"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return value;
  }
  return "/tmp";
}

}  // namespace cb
