#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/messages/said.h"

namespace cb {

// A shared library opened at run time. An absent library is no error: reason() says what was tried
// and why it did not open. Never closed, because BLAS libraries keep threads that would run in
// unmapped code.
class DynamicLibrary {
 public:
  // `global`: libraries that are loaded later find its names. Open MPI's plugins, up to version 3,
  // need that.
  enum class Names { local, global };

  // If the environment variable `override_name` is set, tries only its path; otherwise tries each
  // of `names`, where the loader searches them. A file without an ELF header ends the search:
  // another library under a later name is not the one that the site means. So does a library that
  // sys/os/dl_trial.h finds to crash or to hang, and it is not opened.
  static DynamicLibrary open(const char* override_name, const std::vector<std::string>& names,
                             Names visible = Names::local);

  // Opens a second instance with its own state (the file is copied into memory), for libraries that
  // fix a choice when they are loaded. Linux only; if it is not allowed, the result is absent, with
  // the reason.
  DynamicLibrary private_copy() const;

  bool present() const { return handle_ != nullptr; }
  const std::string& reason() const { return reason_.text(); }  // in English; empty if present
  const Said& why() const { return reason_; }                   // the reason in every language
  const std::string& path() const { return path_; }             // the file's path; empty if absent
  // Returns the name that the library was built under, which the file's name may not be; "" if it
  // has none.
  std::string own_name() const;

  // Returns the function with that name, typed by the vendor's declaration:
  // symbol<decltype(::f)>("f"). Null if the library is absent or lacks the function.
  template <typename Function>
  Function* symbol(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

 private:
  void* find(const char* name) const;
  void* handle_ = nullptr;
  std::string path_;
  Said reason_;
};

// True if the reason, or a part of it, is that a library was found, and one that it needs was not.
bool lacks_library(const Said& why);

}  // namespace cb
