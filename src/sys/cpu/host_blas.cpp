#include "sys/cpu/host_blas.h"

#include <algorithm>
#include <cstdlib>

#include <cblas.h>
#include <strings.h>

#include "sys/os/dl.h"

namespace cb::host_blas {
namespace {

// Only OpenBLAS's own cblas.h declares these, but any package's cblas.h may be installed.
using OpenblasText = char*();
using OpenblasSetThreads = void(int);
// Only BLIS's header declares these, and Debian ships one for each threading variant.
using BlisText = const char*();
using BlisSetThreads = void(int64_t);
using BlisArch = int();
using BlisArchText = const char*(int);

constexpr const char* kOverride = "CLUSTERBENCH_OPENBLAS";

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

// Wraps cblas_dgemm or cblas_sgemm of any CBLAS: row-major, alpha 1, beta 0.
template <typename Function, typename Real>
auto row_major(Function* gemm) {
  return [gemm](const Shape& s, const Real* a, const Real* b, Real* c) {
    const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = static_cast<int>(s.k);
    gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, Real(1), a, k, b, n, Real(0), c, n);
  };
}

template <typename Real, typename Function>
auto parts_of(Function* gemm) {
  return [gemm](const Product<Real>& p) {
    const auto narrow = [](int64_t n) { return static_cast<int>(n); };
    gemm(CblasRowMajor, p.transpose_a ? CblasTrans : CblasNoTrans,
         p.transpose_b ? CblasTrans : CblasNoTrans, narrow(p.shape.m), narrow(p.shape.n),
         narrow(p.shape.k), p.alpha, p.a, narrow(p.lda), p.b, narrow(p.ldb), p.beta, p.c,
         narrow(p.ldc));
  };
}

SolveUnitLower solver_of(decltype(::cblas_dtrsm)* trsm) {
  if (trsm == nullptr) return {};
  return [trsm](const UnitLower& t) {
    trsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, static_cast<int>(t.order),
         static_cast<int>(t.columns), 1, t.l, static_cast<int>(t.ldl), t.b,
         static_cast<int>(t.ldb));
  };
}

std::variant<Cblas, Absent> cblas_of(const DynamicLibrary& dl, Identity identity) {
  const auto dgemm = dl.symbol<decltype(::cblas_dgemm)>("cblas_dgemm");
  const auto sgemm = dl.symbol<decltype(::cblas_sgemm)>("cblas_sgemm");
  if (dgemm == nullptr || sgemm == nullptr)
    return Absent{dl.path() + " has no cblas_dgemm or cblas_sgemm"};
  identity.path = dl.path();
  return Cblas{std::move(identity),
               row_major<decltype(::cblas_dgemm), double>(dgemm),
               row_major<decltype(::cblas_sgemm), float>(sgemm),
               parts_of<float>(sgemm),
               parts_of<double>(dgemm),
               solver_of(dl.symbol<decltype(::cblas_dtrsm)>("cblas_dtrsm"))};
}

std::string text_of(const DynamicLibrary& dl, const char* function) {
  const auto get = dl.symbol<OpenblasText>(function);
  return get != nullptr ? get() : "";
}

// A process that measures fp64 and fp32 may need two core types, and each instance of the library
// has only one.
DynamicLibrary load_openblas(const std::string& core) {
  DynamicLibrary dl = DynamicLibrary::open(kOverride, {"libopenblas.so.0", "libopenblas.so"});
  if (!dl.present() || core.empty()) return dl;
  if (::strcasecmp(text_of(dl, "openblas_get_corename").c_str(), core.c_str()) == 0) return dl;
  DynamicLibrary second = dl.private_copy();
  return second.present() ? second : dl;
}

}  // namespace

std::variant<Cblas, Absent> open_openblas(const std::string& core, int threads) {
  if (core.empty()) {
    ::unsetenv("OPENBLAS_CORETYPE");
  } else {
    set("OPENBLAS_CORETYPE", core);
  }
  set("OPENBLAS_NUM_THREADS", std::to_string(threads));
  const DynamicLibrary dl = load_openblas(core);
  if (!dl.present()) return Absent{dl.why()};
  if (const auto set_threads = dl.symbol<OpenblasSetThreads>("openblas_set_num_threads"))
    set_threads(threads);
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH …": keeps name and version.
  std::string config = text_of(dl, "openblas_get_config");
  if (const size_t space = config.find(' '); space != std::string::npos)
    config.resize(std::min(config.find(' ', space + 1), config.size()));
  return cblas_of(dl, {config, text_of(dl, "openblas_get_corename"), ""});
}

std::variant<Cblas, Absent> open_blis(int threads) {
  set("BLIS_NUM_THREADS", std::to_string(threads));
  const DynamicLibrary dl =
      DynamicLibrary::open("CLUSTERBENCH_BLIS", {"libblis.so.4", "libblis.so"});
  if (!dl.present()) return Absent{dl.why()};
  Identity identity{"BLIS", "", ""};
  if (const auto text = dl.symbol<BlisText>("bli_info_get_version_str"))
    identity.version += std::string(" ") + text();
  const auto arch = dl.symbol<BlisArch>("bli_arch_query_id");
  const auto arch_text = dl.symbol<BlisArchText>("bli_arch_string");
  if (arch != nullptr && arch_text != nullptr) identity.core = arch_text(arch());
  if (const auto set_threads = dl.symbol<BlisSetThreads>("bli_thread_set_num_threads"))
    set_threads(threads);
  return cblas_of(dl, identity);
}

}  // namespace cb::host_blas
