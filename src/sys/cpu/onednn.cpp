#include "sys/cpu/onednn.h"

#include <cstdlib>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/error.h"

namespace cb::onednn {
namespace {

// Binds functions by name and keeps the name of the first that is missing.
class Binder {
 public:
  explicit Binder(const DynamicLibrary& library) : library_(library) {}
  template <typename F>
  void operator()(F*& to, const char* name) {
    to = library_.symbol<F>(name);
    if (to == nullptr && missing.empty()) missing = name;
  }
  std::string missing;

 private:
  const DynamicLibrary& library_;
};

void bind_common(Binder& get, Table& t) {
  get(t.sgemm, "dnnl_sgemm");
  get(t.gemm_s8s8s32, "dnnl_gemm_s8s8s32");
  get(t.isa, "dnnl_get_effective_cpu_isa");
  get(t.engine_create, "dnnl_engine_create");
  get(t.engine_destroy, "dnnl_engine_destroy");
  get(t.stream_create, "dnnl_stream_create");
  get(t.stream_destroy, "dnnl_stream_destroy");
  get(t.stream_wait, "dnnl_stream_wait");
  get(t.memory_create, "dnnl_memory_create");
  get(t.memory_destroy, "dnnl_memory_destroy");
  get(t.memory_set, "dnnl_memory_set_data_handle");
  get(t.primitive_desc_destroy, "dnnl_primitive_desc_destroy");
  get(t.primitive_create, "dnnl_primitive_create");
  get(t.primitive_destroy, "dnnl_primitive_destroy");
  get(t.primitive_execute, "dnnl_primitive_execute");
}

void bind_version_2(Binder& get, Table& t) {
  get(t.memory_desc_init, "dnnl_memory_desc_init_by_tag");
  get(t.matmul_desc_init, "dnnl_matmul_desc_init");
  get(t.primitive_desc_create, "dnnl_primitive_desc_create");
}

void bind_version_3(Binder& get, Table& t) {
  get(t.memory_desc_create, "dnnl_memory_desc_create_with_tag");
  get(t.memory_desc_destroy, "dnnl_memory_desc_destroy");
  get(t.matmul_create, "dnnl_matmul_primitive_desc_create");
}

// Makes the primitive at the first call with a shape and keeps it for the next ones.
template <typename In, typename Out>
std::function<void(const host_blas::Shape&, const In*, const In*, Out*)> matmul(const Table& t,
                                                                                int in, int out) {
  auto kept = std::make_shared<std::unique_ptr<Matmul>>();
  return [t, in, out, kept](const host_blas::Shape& s, const In* a, const In* b, Out* c) {
    if (!*kept || !(*kept)->is_for(s)) *kept = std::make_unique<Matmul>(t, s, in, out);
    (*kept)->run(a, b, c);
  };
}

// The newest name comes first. In some distributions version 3's soname has the minor number:
// libdnnl.so.3.6.
std::vector<std::string> library_names() {
  std::vector<std::string> names{"libdnnl.so.3"};
  for (int minor = 15; minor >= 0; --minor) names.push_back(fmt::format("libdnnl.so.3.{}", minor));
  names.emplace_back("libdnnl.so.2");
  return names;
}

}  // namespace

void check(int status, const char* call) {
  if (status != abi::kSuccess)
    throw Error(
        fmt::format("oneDNN: {} failed with status {}; next: try --library builtin", call, status));
}

std::optional<Table> bind(const DynamicLibrary& library, std::string& why) {
  Table t{};
  Binder get(library);
  get(t.version, "dnnl_version");
  if (t.version != nullptr) {
    t.major = t.version()->major;
    if (t.major != 2 && t.major != 3) {
      why = fmt::format("{} is oneDNN {}; known are 2 and 3", library.path(), t.major);
      return std::nullopt;
    }
    bind_common(get, t);
    t.major == 2 ? bind_version_2(get, t) : bind_version_3(get, t);
  }
  if (get.missing.empty()) return t;
  why = fmt::format("{} has no {}", library.path(), get.missing);
  return std::nullopt;
}

std::string isa_name(int major, int isa) {
  struct Name {
    int major;  // 0: both versions use this number
    int isa;
    const char* name;
  };
  constexpr Name kNamesOfIsa[] = {
      {0, 0x1, "sse41"},
      {0, 0x3, "avx"},
      {0, 0x7, "avx2"},
      {0, 0x27, "avx512_core"},
      {0, 0x67, "avx512_core_vnni"},
      {0, 0xe7, "avx512_core_bf16"},
      {2, 0x407, "avx2_vnni"},
      {2, 0x3e7, "avx512_core_amx"},
      {3, 0xf, "avx2_vnni"},
      {3, 0x1f, "avx2_vnni_2"},
      {3, 0x1ef, "avx512_core_fp16"},
      {3, 0xfef, "avx512_core_amx"},
      {3, 0x1fef, "avx512_core_amx_fp16"},
  };
  for (const Name& n : kNamesOfIsa)
    if (n.isa == isa && (n.major == 0 || n.major == major)) return n.name;
  return "";
}

}  // namespace cb::onednn

namespace cb::host_blas {

std::variant<Onednn, Absent> open_onednn(int threads) {
  ::setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
  const DynamicLibrary dl = DynamicLibrary::open("CLUSTERBENCH_ONEDNN", onednn::library_names());
  if (!dl.present()) return Absent{dl.why()};
  std::string why;
  const auto t = onednn::bind(dl, why);
  if (!t) return Absent{why};
  const auto* v = t->version();
  Onednn out;
  out.identity = {fmt::format("oneDNN {}.{}.{}", v->major, v->minor, v->patch),
                  onednn::isa_name(t->major, t->isa()), dl.path()};
  out.fp32 = [t = *t](const Shape& s, const float* a, const float* b, float* c) {
    onednn::check(t.sgemm('N', 'N', s.m, s.n, s.k, 1, a, s.k, b, s.n, 0, c, s.n), "dnnl_sgemm");
  };
  out.parts32 = [t = *t](const Product<float>& p) {
    const auto op = [](bool transpose) { return transpose ? 'T' : 'N'; };
    onednn::check(t.sgemm(op(p.transpose_a), op(p.transpose_b), p.shape.m, p.shape.n, p.shape.k,
                          p.alpha, p.a, p.lda, p.b, p.ldb, p.beta, p.c, p.ldc),
                  "dnnl_sgemm");
  };
  out.bf16 = onednn::matmul<uint16_t, float>(*t, onednn::abi::kBf16, onednn::abi::kF32);
  out.int8 = [t = *t](const Shape& s, const int8_t* a, const int8_t* b, int32_t* c) {
    const int32_t zero = 0;
    onednn::check(
        t.gemm_s8s8s32('N', 'N', 'F', s.m, s.n, s.k, 1, a, s.k, 0, b, s.n, 0, 0, c, s.n, &zero),
        "dnnl_gemm_s8s8s32");
  };
  return out;
}

}  // namespace cb::host_blas
