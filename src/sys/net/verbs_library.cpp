// Defines the functions of libibverbs that are called under their own names, so that callers need
// no change and nothing is linked. Each function calls the library that was opened. They are
// hidden, because site libraries that are opened later must call their own.
#include "sys/net/verbs_library.h"

#include <fmt/format.h>

#include "core/error.h"
#include "sys/os/dl.h"

// Below are the functions themselves, which the header's inline code calls; its macros would hide
// them.
#undef ibv_query_port
#undef ibv_reg_mr

namespace cb::verbs {
namespace {

constexpr const char* kVariable = "CLUSTERBENCH_VERBS_LIBRARY";

struct Opened {
  Library library;
  Said reason;  // empty if the library is usable
};

Opened opened() {
  Opened out;
  const DynamicLibrary file = DynamicLibrary::open(kVariable, {"libibverbs.so.1"});
  if (!file.present()) {
    out.reason = said("verbs.no_library", file.why(), kVariable);
    return out;
  }
  out.library.path = file.path();
  const char* missing = nullptr;
#define CB_VERBS_BIND(result, name, parameters, arguments)  \
  out.library.name = file.symbol<result parameters>(#name); \
  if (out.library.name == nullptr && missing == nullptr) missing = #name;
  CB_VERBS_FUNCTIONS(CB_VERBS_BIND)
#undef CB_VERBS_BIND
#define CB_VERBS_BIND(result, name, parameters, arguments) \
  out.library.name = file.symbol<result parameters>(#name);
  CB_VERBS_NEWER_FUNCTIONS(CB_VERBS_BIND)
#undef CB_VERBS_BIND
  if (missing != nullptr) out.reason = said("verbs.not_one", file.path(), missing);
  return out;
}

[[noreturn]] void too_old(const char* function) {
  throw Error(fmt::format("{} has no {}: it is too old; next: install rdma-core 34 or newer",
                          library().path, function));
}

}  // namespace

const Library& library() {
  static const Opened here = opened();
  if (!here.reason.empty()) throw Error(here.reason);
  return here.library;
}

}  // namespace cb::verbs

#define CB_VERBS_DEFINE(result, name, parameters, arguments)                \
  extern "C" __attribute__((visibility("hidden"))) result name parameters { \
    return cb::verbs::library().name arguments;                             \
  }
CB_VERBS_FUNCTIONS(CB_VERBS_DEFINE)
#undef CB_VERBS_DEFINE
#define CB_VERBS_DEFINE(result, name, parameters, arguments)                \
  extern "C" __attribute__((visibility("hidden"))) result name parameters { \
    const cb::verbs::Library& in = cb::verbs::library();                    \
    if (in.name == nullptr) cb::verbs::too_old(#name);                      \
    return in.name arguments;                                               \
  }
CB_VERBS_NEWER_FUNCTIONS(CB_VERBS_DEFINE)
#undef CB_VERBS_DEFINE
