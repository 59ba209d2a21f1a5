#include "sys/host_blas.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include <cblas.h>
#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#include <strings.h>

#include "core/error.h"
#include "sys/dl.h"

namespace cb::host_blas {
namespace {

// Only in OpenBLAS's own cblas.h, while any package's cblas.h may be installed.
using OpenblasText = char*();
using OpenblasSetThreads = void(int);
// Only in BLIS's header, which Debian ships per threading variant.
using BlisText = const char*();
using BlisSetThreads = void(int64_t);
using BlisArch = int();
using BlisArchText = const char*(int);

constexpr const char* kOverride = "CLUSTERBENCH_OPENBLAS";

void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

// cblas_dgemm and cblas_sgemm of any CBLAS, row-major, alpha 1, beta 0.
template <typename Function, typename Real>
auto row_major(Function* gemm) {
  return [gemm](const Shape& s, const Real* a, const Real* b, Real* c) {
    const int m = static_cast<int>(s.m), n = static_cast<int>(s.n), k = static_cast<int>(s.k);
    gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, Real(1), a, k, b, n, Real(0), c, n);
  };
}

std::variant<Cblas, Absent> cblas_of(const DynamicLibrary& dl, Identity identity) {
  const auto dgemm = dl.symbol<decltype(::cblas_dgemm)>("cblas_dgemm");
  const auto sgemm = dl.symbol<decltype(::cblas_sgemm)>("cblas_sgemm");
  if (dgemm == nullptr || sgemm == nullptr)
    return Absent{dl.path() + " has no cblas_dgemm or cblas_sgemm"};
  identity.path = dl.path();
  return Cblas{std::move(identity), row_major<decltype(::cblas_dgemm), double>(dgemm),
               row_major<decltype(::cblas_sgemm), float>(sgemm)};
}

std::string text_of(const DynamicLibrary& dl, const char* function) {
  const auto get = dl.symbol<OpenblasText>(function);
  return get != nullptr ? get() : "";
}

// A process that measures fp64 and fp32 may need two core types; each instance fixes one.
DynamicLibrary load_openblas(const std::string& core) {
  DynamicLibrary dl = DynamicLibrary::open(kOverride, {"libopenblas.so.0", "libopenblas.so"});
  if (!dl.present() || core.empty()) return dl;
  if (::strcasecmp(text_of(dl, "openblas_get_corename").c_str(), core.c_str()) == 0) return dl;
  DynamicLibrary second = dl.private_copy();
  return second.present() ? second : dl;
}

void check(dnnl_status_t status, const char* call) {
  if (status != dnnl_success)
    throw Error(fmt::format("oneDNN: {} failed with status {}; next: try --library builtin", call,
                            static_cast<int>(status)));
}

// oneDNN's functions that we call, typed by its header.
struct Table {
  decltype(&::dnnl_version) version;
  decltype(&::dnnl_sgemm) sgemm;
  decltype(&::dnnl_gemm_s8s8s32) gemm_s8s8s32;
  decltype(&::dnnl_get_effective_cpu_isa) isa;
  decltype(&::dnnl_engine_create) engine_create;
  decltype(&::dnnl_engine_destroy) engine_destroy;
  decltype(&::dnnl_stream_create) stream_create;
  decltype(&::dnnl_stream_destroy) stream_destroy;
  decltype(&::dnnl_stream_wait) stream_wait;
  decltype(&::dnnl_memory_desc_init_by_tag) memory_desc_init;
  decltype(&::dnnl_memory_create) memory_create;
  decltype(&::dnnl_memory_destroy) memory_destroy;
  decltype(&::dnnl_memory_set_data_handle) memory_set;
  decltype(&::dnnl_matmul_desc_init) matmul_desc_init;
  decltype(&::dnnl_primitive_desc_create) primitive_desc_create;
  decltype(&::dnnl_primitive_desc_destroy) primitive_desc_destroy;
  decltype(&::dnnl_primitive_create) primitive_create;
  decltype(&::dnnl_primitive_destroy) primitive_destroy;
  decltype(&::dnnl_primitive_execute) primitive_execute;
};

// Null for the first symbol that is missing, whose name then stands in `missing`.
std::optional<Table> load_table(const DynamicLibrary& dl, std::string& missing) {
  Table t{};
  const auto get = [&]<typename F>(F*& to, const char* name) {
    to = dl.symbol<F>(name);
    if (to == nullptr && missing.empty()) missing = name;
  };
  get(t.version, "dnnl_version");
  get(t.sgemm, "dnnl_sgemm");
  get(t.gemm_s8s8s32, "dnnl_gemm_s8s8s32");
  get(t.isa, "dnnl_get_effective_cpu_isa");
  get(t.engine_create, "dnnl_engine_create");
  get(t.engine_destroy, "dnnl_engine_destroy");
  get(t.stream_create, "dnnl_stream_create");
  get(t.stream_destroy, "dnnl_stream_destroy");
  get(t.stream_wait, "dnnl_stream_wait");
  get(t.memory_desc_init, "dnnl_memory_desc_init_by_tag");
  get(t.memory_create, "dnnl_memory_create");
  get(t.memory_destroy, "dnnl_memory_destroy");
  get(t.memory_set, "dnnl_memory_set_data_handle");
  get(t.matmul_desc_init, "dnnl_matmul_desc_init");
  get(t.primitive_desc_create, "dnnl_primitive_desc_create");
  get(t.primitive_desc_destroy, "dnnl_primitive_desc_destroy");
  get(t.primitive_create, "dnnl_primitive_create");
  get(t.primitive_destroy, "dnnl_primitive_destroy");
  get(t.primitive_execute, "dnnl_primitive_execute");
  return missing.empty() ? std::optional(t) : std::nullopt;
}

// A matmul primitive with plain row-major operands for one shape and one type. Immovable: the
// destructor hands back what the constructor made.
class Matmul {
 public:
  Matmul(const Table& t, const Shape& s, dnnl_data_type_t in, dnnl_data_type_t out)
      : t_(t), shape_(s) {
    check(t_.engine_create(&engine_, dnnl_cpu, 0), "dnnl_engine_create");
    check(t_.stream_create(&stream_, engine_, dnnl_stream_default_flags), "dnnl_stream_create");
    dnnl_memory_desc_t md[3];
    describe(md[0], s.m, s.k, in);
    describe(md[1], s.k, s.n, in);
    describe(md[2], s.m, s.n, out);
    dnnl_matmul_desc_t desc{};
    check(t_.matmul_desc_init(&desc, &md[0], &md[1], nullptr, &md[2]), "dnnl_matmul_desc_init");
    check(t_.primitive_desc_create(&pd_, &desc, nullptr, engine_, nullptr),
          "dnnl_primitive_desc_create (matmul)");
    check(t_.primitive_create(&primitive_, pd_), "dnnl_primitive_create (matmul)");
    for (int i = 0; i < 3; ++i)
      check(t_.memory_create(&memory_[i], &md[i], engine_, DNNL_MEMORY_NONE), "dnnl_memory_create");
  }
  ~Matmul() {
    for (dnnl_memory_t m : memory_) {
      if (m != nullptr) t_.memory_destroy(m);
    }
    if (primitive_ != nullptr) t_.primitive_destroy(primitive_);
    if (pd_ != nullptr) t_.primitive_desc_destroy(pd_);
    if (stream_ != nullptr) t_.stream_destroy(stream_);
    if (engine_ != nullptr) t_.engine_destroy(engine_);
  }
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  bool is_for(const Shape& s) const {
    return s.m == shape_.m && s.n == shape_.n && s.k == shape_.k;
  }

  void run(const void* a, const void* b, void* c) {
    const void* data[3] = {a, b, c};
    const int place[3] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
    dnnl_exec_arg_t args[3];
    for (int i = 0; i < 3; ++i) {
      check(t_.memory_set(memory_[i], const_cast<void*>(data[i])), "dnnl_memory_set_data_handle");
      args[i] = {place[i], memory_[i]};
    }
    check(t_.primitive_execute(primitive_, stream_, 3, args), "dnnl_primitive_execute");
    check(t_.stream_wait(stream_), "dnnl_stream_wait");
  }

 private:
  void describe(dnnl_memory_desc_t& md, int64_t rows, int64_t columns, dnnl_data_type_t type) {
    const dnnl_dims_t dims{rows, columns};
    check(t_.memory_desc_init(&md, 2, dims, type, dnnl_ab), "dnnl_memory_desc_init_by_tag");
  }

  const Table t_;
  const Shape shape_;
  dnnl_engine_t engine_ = nullptr;
  dnnl_stream_t stream_ = nullptr;
  dnnl_primitive_desc_t pd_ = nullptr;
  dnnl_primitive_t primitive_ = nullptr;
  dnnl_memory_t memory_[3] = {};
};

// Makes the primitive at the first call of a shape and keeps it.
template <typename In, typename Out>
std::function<void(const Shape&, const In*, const In*, Out*)> matmul(const Table& t,
                                                                     dnnl_data_type_t in,
                                                                     dnnl_data_type_t out) {
  auto kept = std::make_shared<std::unique_ptr<Matmul>>();
  return [t, in, out, kept](const Shape& s, const In* a, const In* b, Out* c) {
    if (!*kept || !(*kept)->is_for(s)) *kept = std::make_unique<Matmul>(t, s, in, out);
    (*kept)->run(a, b, c);
  };
}

std::string isa_name(dnnl_cpu_isa_t isa) {
  switch (static_cast<int>(isa)) {
    case dnnl_cpu_isa_sse41:
      return "sse41";
    case dnnl_cpu_isa_avx:
      return "avx";
    case dnnl_cpu_isa_avx2:
      return "avx2";
    case dnnl_cpu_isa_avx2_vnni:
      return "avx2_vnni";
    case dnnl_cpu_isa_avx512_core:
      return "avx512_core";
    case dnnl_cpu_isa_avx512_core_vnni:
      return "avx512_core_vnni";
    case dnnl_cpu_isa_avx512_core_bf16:
      return "avx512_core_bf16";
    case dnnl_cpu_isa_avx512_core_amx:
      return "avx512_core_amx";
    default:
      return "";
  }
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
  if (!dl.present()) return Absent{dl.reason()};
  if (const auto set_threads = dl.symbol<OpenblasSetThreads>("openblas_set_num_threads"))
    set_threads(threads);
  // "OpenBLAS 0.3.21 DYNAMIC_ARCH …": name and version.
  std::string config = text_of(dl, "openblas_get_config");
  if (const size_t space = config.find(' '); space != std::string::npos)
    config.resize(std::min(config.find(' ', space + 1), config.size()));
  return cblas_of(dl, {config, text_of(dl, "openblas_get_corename"), ""});
}

std::variant<Cblas, Absent> open_blis(int threads) {
  set("BLIS_NUM_THREADS", std::to_string(threads));
  const DynamicLibrary dl =
      DynamicLibrary::open("CLUSTERBENCH_BLIS", {"libblis.so.4", "libblis.so"});
  if (!dl.present()) return Absent{dl.reason()};
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

std::variant<Onednn, Absent> open_onednn(int threads) {
  set("OMP_NUM_THREADS", std::to_string(threads));
  // Only the interface version of the header: version 3 describes primitives in another way.
  const DynamicLibrary dl = DynamicLibrary::open(
      "CLUSTERBENCH_ONEDNN", {fmt::format("libdnnl.so.{}", DNNL_VERSION_MAJOR)});
  if (!dl.present()) return Absent{dl.reason()};
  std::string missing;
  const auto t = load_table(dl, missing);
  if (!t) return Absent{fmt::format("{} has no {}", dl.path(), missing)};
  const dnnl_version_t* v = t->version();
  if (v->major != DNNL_VERSION_MAJOR)
    return Absent{fmt::format("{} has interface version {}, built for {}", dl.path(), v->major,
                              DNNL_VERSION_MAJOR)};
  Onednn out;
  out.identity = {fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch), isa_name(t->isa()),
                  dl.path()};
  out.fp32 = [t = *t](const Shape& s, const float* a, const float* b, float* c) {
    check(t.sgemm('N', 'N', s.m, s.n, s.k, 1, a, s.k, b, s.n, 0, c, s.n), "dnnl_sgemm");
  };
  out.bf16 = matmul<uint16_t, float>(*t, dnnl_bf16, dnnl_f32);
  out.int8 = [t = *t](const Shape& s, const int8_t* a, const int8_t* b, int32_t* c) {
    const int32_t zero = 0;
    check(t.gemm_s8s8s32('N', 'N', 'F', s.m, s.n, s.k, 1, a, s.k, 0, b, s.n, 0, 0, c, s.n, &zero),
          "dnnl_gemm_s8s8s32");
  };
  return out;
}

}  // namespace cb::host_blas
