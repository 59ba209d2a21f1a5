#include "sys/os/dl.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <optional>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/messages/mentions.h"
#include "sys/os/dl_trial.h"

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

constexpr uint16_t kOwnMachine =
#ifdef __aarch64__
    EM_AARCH64;
#else
    EM_X86_64;
#endif

// The machine in an ELF file's header; nothing if it is no such file, or cannot be read.
std::optional<uint16_t> machine_of(const std::string& file) {
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::nullopt;
  ElfW(Ehdr) header{};
  const bool whole = ::read(fd, &header, sizeof header) == static_cast<ssize_t>(sizeof header);
  ::close(fd);
  if (!whole || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) return std::nullopt;
  return header.e_machine;
}

// Why the loader refused the name, after dlopen(). Of a file that is there, and is not for this
// processor or may not be read, it says that there is none.
Said why_refused(const std::string& name) {
  const std::string told = last_dl_error();
  if (told.find(": cannot open shared object file") == std::string::npos) return Said(told);
  const std::string file = told.substr(0, told.find(": "));
  if (file != name) return said("dl.needs", name, told);
  if (name.find('/') == std::string::npos || ::access(name.c_str(), F_OK) != 0) return Said(told);
  if (::access(name.c_str(), R_OK) != 0) return said("dl.unreadable", name, std::strerror(errno));
  const auto machine = machine_of(name);
  return machine && *machine != kOwnMachine ? said("dl.other_machine", name) : Said(told);
}

constexpr size_t kNamesListed = 4;  // of those that did not open for one reason

struct RefusedName {
  std::string name;
  Said why;  // begins with the name where the loader's own text does
};

std::string names_text(const std::vector<std::string>& names) {
  if (names.size() <= kNamesListed) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{} … {}", names.front(), names.back());
}

std::string without_name(const RefusedName& refused) {
  const std::string begin = refused.name + ": ";
  const std::string& why = refused.why.text();
  return why.starts_with(begin) ? why.substr(begin.size()) : why;
}

// The reasons in the order of the attempts. Names that follow each other share what the loader says
// of each.
Said reason_of(const std::vector<RefusedName>& refused) {
  std::vector<Said> out;
  for (size_t i = 0; i < refused.size();) {
    const std::string why = without_name(refused[i]);
    const Said whole = refused[i].why;
    const bool is_loaders = whole.message().id.empty();
    std::vector<std::string> alike;
    do alike.push_back(refused[i++].name);
    while (is_loaders && i < refused.size() && without_name(refused[i]) == why);
    const bool stands_alone = alike.size() == 1 || why == whole.text();
    out.push_back(stands_alone ? whole : Said(names_text(alike) + ": " + why));
  }
  return said_list(out);
}

// False for a pipe or a device: the loader would wait until somebody writes to it.
bool may_be_library(const std::string& name) {
  struct stat info {};
  return name.find('/') == std::string::npos || ::stat(name.c_str(), &info) != 0 ||
         S_ISREG(info.st_mode);
}

// Why the loader is not asked for the name; empty if it is.
Said why_not_to_open(const std::string& name, const std::optional<library_trial::Unsafe>& unsafe) {
  if (unsafe && unsafe->name == name) return unsafe->why;
  return may_be_library(name) ? Said() : said("dl.not_regular", name);
}

bool ends_search(const RefusedName& refused) {
  if (mentions(refused.why.message(), {"dl.other_machine", "dl.unreadable"})) return false;
  return library_trial::is_unsafe(refused.why) || is_damaged(refused.name, refused.why.text());
}

std::vector<std::string> those_that_may_be_libraries(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  std::ranges::copy_if(names, std::back_inserter(out), may_be_library);
  return out;
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

bool lacks_library(const Said& why) { return mentions(why.message(), {"dl.needs"}); }

DynamicLibrary DynamicLibrary::open(const char* override_name,
                                    const std::vector<std::string>& names, Names visible) {
  const int flags = RTLD_NOW | (visible == Names::global ? RTLD_GLOBAL : RTLD_LOCAL);
  const char* given = std::getenv(override_name);
  const bool is_given = given != nullptr && *given != '\0';
  const std::vector<std::string> tried = is_given ? std::vector<std::string>{given} : names;
  const auto unsafe = library_trial::first_unsafe(those_that_may_be_libraries(tried), flags);
  DynamicLibrary out;
  std::vector<RefusedName> refused;
  for (const std::string& name : tried) {
    const Said why = why_not_to_open(name, unsafe);
    if (why.empty()) out.handle_ = dlopen(name.c_str(), flags);
    if (out.handle_ != nullptr) {
      out.path_ = path_of(out.handle_, name);
      return out;
    }
    refused.push_back({name, why.empty() ? why_refused(name) : why});
    if (ends_search(refused.back())) break;
  }
  out.reason_ = reason_of(refused);
  if (is_given) out.reason_ = said("dl.is_set", out.reason_, override_name);
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
