#include <cstdlib>
#include <string_view>

#include "sys/mpi/api.h"
#include "sys/mpi/constants.h"
#include "sys/mpi/find.h"
#include "sys/mpi/mpich_call.h"
#include "sys/os/dl.h"

namespace cb::mpi {
namespace {

constexpr int kFailed = 1;  // any code but MPI_SUCCESS

template <typename... Args>
int fails(Args...) {
  return kFailed;
}

int says_no(int* flag) {
  *flag = 0;
  return MPI_SUCCESS;
}

Api without_library(Said reason) {
  Api out{};
#define CB_MPI_FAILS(name, parameters, arguments) out.name = fails;
  CB_MPI_FUNCTIONS(CB_MPI_FAILS)
#undef CB_MPI_FAILS
  out.MPI_Initialized = out.MPI_Finalized = says_no;
  out.abi = Abi::none;
  out.reason = std::move(reason);
  return out;
}

// Looks functions up by name, and keeps the name of the first that is missing.
struct Binder {
  const DynamicLibrary& library;
  std::string missing = {};

  template <typename F>
  void bind(F*& slot, const char* name) {
    slot = library.symbol<F>(name);
    if (slot == nullptr && missing.empty()) missing = name;
  }
};

std::string bind(const DynamicLibrary& library, Api& out) {
  Binder binder{library};
#define CB_MPI_DIRECT(name, parameters, arguments) binder.bind(out.name, #name);
  CB_MPI_FUNCTIONS(CB_MPI_DIRECT)
#undef CB_MPI_DIRECT
  return binder.missing;
}

std::string bind_mpich(const DynamicLibrary& library, Api& out) {
  Binder binder{library};
#define CB_MPI_NARROWED(name, parameters, arguments)       \
  {                                                        \
    using Call = MpichCall<&Api::name, int(*) parameters>; \
    binder.bind(Call::native, #name);                      \
    out.name = &Call::call;                                \
  }
  CB_MPI_FUNCTIONS(CB_MPI_NARROWED)
#undef CB_MPI_NARROWED
  return binder.missing;
}

// For Open MPI, also sets `missing` to the first object that it lacks.
Constants constants_of(Abi abi, const DynamicLibrary& library, std::string& missing) {
  if (abi == Abi::mpich) return mpich_constants();
  if (abi == Abi::standard) return standard_constants();
  return open_mpi_constants([&](const char* name) -> void* {
    void* object = library.symbol<char>(name);
    if (object == nullptr && missing.empty()) missing = name;
    return object;
  });
}

Api table_of(const DynamicLibrary& library) {
  Api out = without_library("");
  const bool objects = library.symbol<char>("ompi_mpi_comm_world") != nullptr;
  const std::string own = library.own_name();
  out.abi = abi_of(own.empty() ? library.path() : own, objects);
  out.path = library.path();
  std::string missing = out.abi == Abi::mpich ? bind_mpich(library, out) : bind(library, out);
  out.constants = constants_of(out.abi, library, missing);
  if (missing.empty()) return out;
  const char* given = std::getenv(kLibraryVariable);
  const Said lacks = said("mpi.lacks", library.path(), missing);
  const bool is_given = given != nullptr && *given != '\0';
  return without_library(is_given ? said("dl.is_set", lacks, kLibraryVariable) : lacks);
}

Api open_one_of(const std::vector<std::string>& candidates) {
  const DynamicLibrary library =
      DynamicLibrary::open(kLibraryVariable, candidates, DynamicLibrary::Names::global);
  return library.present() ? table_of(library) : without_library(library.why());
}

}  // namespace

Abi abi_of(std::string_view path, bool open_mpi_objects) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (name.starts_with("libmpi_abi.")) return Abi::standard;
  return open_mpi_objects ? Abi::open_mpi : Abi::mpich;
}

constinit std::atomic<const Api*> published_api = nullptr;

const Api& open_own() {
  static const Api own = open_one_of(library_candidates(own_surroundings()));
  published_api.store(&own, std::memory_order_release);
  return own;
}

Api open_api(const std::string& path) {
  const DynamicLibrary library = DynamicLibrary::open("", {path}, DynamicLibrary::Names::global);
  return library.present() ? table_of(library) : without_library(library.why());
}

}  // namespace cb::mpi
