#pragma once

#include <memory>
#include <string>
#include <vector>

namespace cb {

// A shared library opened at run time. Absence is data: `reason()` says what was tried and why it
// did not open. Never closed, because BLAS libraries keep threads that would run in unmapped code.
class DynamicLibrary {
 public:
  // Whether what is loaded later finds the library's names. Open MPI's plugins, up to 3, do so.
  enum class Names { local, global };

  // Tries the path in the environment variable `override_name` alone if that is set, else each of
  // `names` as the loader searches them.
  static DynamicLibrary open(const char* override_name, const std::vector<std::string>& names,
                             Names visible = Names::local);

  // A second instance of an open library with state of its own (its file copied into memory), for
  // libraries that fix a choice when loaded. Linux only; absent with the reason where not allowed.
  DynamicLibrary private_copy() const;

  bool present() const { return handle_ != nullptr; }
  const std::string& reason() const { return reason_; }  // empty if present
  const std::string& path() const { return path_; }      // of the file; empty if absent
  // The name that the library was built under, whatever its file is called; empty if it has none.
  std::string own_name() const;

  // The function of that name, typed by the vendor's declaration: symbol<decltype(::f)>("f"). Null
  // if the library is absent or has none.
  template <typename Function>
  Function* symbol(const char* name) const {
    return reinterpret_cast<Function*>(find(name));
  }

 private:
  void* find(const char* name) const;
  void* handle_ = nullptr;
  std::string path_;
  std::string reason_;
};

}  // namespace cb
