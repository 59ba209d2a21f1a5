#include "sys/os/dl.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cb {
namespace {

std::string path_of(void* handle, const std::string& name) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || *map->l_name == '\0')
    return name;
  return map->l_name;
}

std::string last_dl_error() {
  const char* text = dlerror();
  return text != nullptr ? text : "unknown reason";
}

// Whether the C library has found a file under the name, and not one that it needs, and cannot load
// it. One for another class of processors is none for this program: the next name may be.
bool is_damaged(const std::string& name, const std::string& reason) {
  const std::string file = reason.substr(0, reason.find(": "));
  const bool is_it = file == name || file.ends_with("/" + name);
  const bool is_none = reason.find(": cannot open shared object file") != std::string::npos ||
                       reason.find(": wrong ELF class") != std::string::npos;
  return is_it && !is_none;
}

constexpr size_t kNamesListed = 4;  // of those that did not open for one reason

struct RefusedName {
  std::string name, why;  // `why` begins with the name where the loader's own text does
};

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= kNamesListed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} … {}", names.front(), names.back());
}

std::string without_name(const RefusedName& refused) {
  const std::string begin = refused.name + ": ";
  return refused.why.starts_with(begin) ? refused.why.substr(begin.size()) : refused.why;
}

// The reasons in the order of the attempts. Names that follow each other share a reason that is the
// same.
std::string reason_of(const std::vector<RefusedName>& refused) {
  std::string out;
  for (size_t i = 0; i < refused.size();) {
    const std::string why = without_name(refused[i]);
    const bool names_itself = why == refused[i].why;
    std::vector<std::string> alike;
    for (; i < refused.size() && without_name(refused[i]) == why; ++i)
      alike.push_back(refused[i].name);
    out += (out.empty() ? "" : "; ") + (names_itself ? why : names_text(alike) + ": " + why);
  }
  return out;
}

// False for a pipe or a device: the loader would wait until somebody writes to it.
bool may_be_library(const std::string& name) {
  struct stat info {};
  return name.find('/') == std::string::npos || ::stat(name.c_str(), &info) != 0 ||
         S_ISREG(info.st_mode);
}

// Copies the whole file `from` to the descriptor `to`. Returns false with errno set if that fails.
bool copy_file_to(const std::string& from, int to) {
  const int in = ::open(from.c_str(), O_RDONLY | O_CLOEXEC);
  if (in < 0) return false;
  struct stat info {};
  bool good = fstat(in, &info) == 0;
  off_t done = 0;
  while (good && done < info.st_size)
    good = sendfile(to, in, &done, static_cast<size_t>(info.st_size - done)) > 0;
  const int saved = errno;
  ::close(in);
  errno = saved;
  return good;
}

}  // namespace

DynamicLibrary DynamicLibrary::open(const char* override_name,
                                    const std::vector<std::string>& names, Names visible) {
  const int flags = RTLD_NOW | (visible == Names::global ? RTLD_GLOBAL : RTLD_LOCAL);
  const char* given = std::getenv(override_name);
  const bool is_given = given != nullptr && *given != '\0';
  DynamicLibrary out;
  std::vector<RefusedName> refused;
  for (const std::string& name : is_given ? std::vector<std::string>{given} : names) {
    const bool may_wait = !may_be_library(name);
    if (!may_wait) out.handle_ = dlopen(name.c_str(), flags);
    if (out.handle_ != nullptr) {
      out.path_ = path_of(out.handle_, name);
      return out;
    }
    refused.push_back({name, may_wait ? name + ": not a regular file" : last_dl_error()});
    if (is_damaged(name, refused.back().why)) break;
  }
  out.reason_ = reason_of(refused);
  if (is_given) out.reason_ += fmt::format(" ({} is set)", override_name);
  return out;
}

DynamicLibrary DynamicLibrary::private_copy() const {
  DynamicLibrary out;
  const int memory = memfd_create("library", MFD_CLOEXEC);
  if (memory < 0 || !copy_file_to(path_, memory)) {
    out.reason_ = fmt::format("{} cannot be copied into memory: {}", path_, std::strerror(errno));
  } else {
    out.handle_ = dlopen(fmt::format("/proc/self/fd/{}", memory).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (out.handle_ == nullptr) out.reason_ = last_dl_error();
  }
  if (out.present()) out.path_ = path_;
  if (memory >= 0) ::close(memory);
  return out;
}

std::string DynamicLibrary::own_name() const {
  link_map* map = nullptr;
  if (handle_ == nullptr || dlinfo(handle_, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr)
    return "";
  const char* texts = nullptr;
  std::optional<size_t> name;
  for (const ElfW(Dyn)* entry = map->l_ld; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) texts = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
  }
  return texts == nullptr || !name ? "" : texts + *name;
}

void* DynamicLibrary::find(const char* name) const {
  return handle_ == nullptr ? nullptr : dlsym(handle_, name);
}

}  // namespace cb
