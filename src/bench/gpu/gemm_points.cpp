#include "bench/gpu/gemm_points.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb {

const std::vector<GpuDtype>& gpu_dtypes() {
  static const std::vector<GpuDtype> types{
      {"fp64", 8, 80},       {"fp64_vector", 8, 80}, {"fp32", 4, 80},     {"tf32", 4, 80},
      {"fp16", 2, 80},       {"bf16", 2, 80},        {"fp8_e4m3", 1, 89}, {"fp8_e5m2", 1, 89},
      {"int8", 1, 80, true}, {"fp4", 0.5, 100},
  };
  return types;
}

std::vector<std::string> gpu_dtype_names() {
  std::vector<std::string> out;
  for (const GpuDtype& t : gpu_dtypes()) out.push_back(t.name);
  return out;
}

const GpuDtype& gpu_dtype(const std::string& name) {
  const auto& types = gpu_dtypes();
  const auto found = std::ranges::find(types, name, &GpuDtype::name);
  if (found == types.end()) throw Error(fmt::format("no GPU type is called {}", name));
  return *found;
}

std::vector<GemmPoint> gemm_points(const Params& params) {
  std::vector<GemmPoint> out;
  const bool by_edges = params.has("m") || params.has("n") || params.has("k");
  for (const std::string& dtype : params.texts("dtype")) {
    Params mine = params.with("dtype", dtype);
    if (params.flag("search") || by_edges) {
      mine.erase("size");
      GemmPoint point{.dtype = dtype, .params = mine};
      if (by_edges) {
        point.m = params.integer("m");
        point.n = params.integer("n");
        point.k = params.integer("k");
      }
      out.push_back(std::move(point));
      continue;
    }
    for (const int64_t size : params.integers("size"))
      out.push_back({dtype, size, size, size, mine.with("size", size)});
  }
  return out;
}

int64_t edge_multiple(const GpuDtype& type) { return type.bytes < 1 ? 32 : 16; }

void check_gemm_points(const Params& params, Problems& problems) {
  int edges = 0;
  for (const char* key : {"m", "n", "k"}) edges += params.has(key) ? 1 : 0;
  if (edges != 0 && edges != 3) problems.add("--m", "--m, --n and --k go together");
  if (edges != 0 && params.flag("search"))
    problems.add("--search", "looks for the shape itself: leave out --m, --n and --k");
  if (!problems.empty()) return;
  for (const GemmPoint& p : gemm_points(params)) {
    const GpuDtype& type = gpu_dtype(p.dtype);
    const int64_t multiple = edge_multiple(type);
    if (type.bytes > 1 || (p.m % multiple == 0 && p.n % multiple == 0 && p.k % multiple == 0))
      continue;
    problems.add(edges == 0 ? "--size" : "--m", fmt::format("{}×{}×{}: {} needs multiples of {}",
                                                            p.m, p.n, p.k, p.dtype, multiple));
  }
}

std::vector<GemmShapeMnk> search_shapes() {
  std::vector<GemmShapeMnk> out;
  for (const int64_t edge : {4096, 6144, 8192, 10240, 12288, 16384})
    out.push_back({edge, edge, edge});
  for (const int64_t m : {1024, 2048, 4096, 8192}) {
    for (const int64_t n : {2048, 4096, 8192, 10240, 16384}) {
      for (const int64_t k : {2048, 4096, 8192, 13312}) out.push_back({m, n, k});
    }
  }
  return out;
}

}  // namespace cb
