// The kernels of LU's panels on a real device against loops of the host, to the last bit, and what
// they take. Exit 77 (skipped for CTest) where there is no device.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/lu.h"
#include "kernels/sm_chain.h"

using namespace cb::kernels;

namespace {

constexpr std::int64_t columns = 64, begin = 16, end = 32;
constexpr unsigned kBusyBlocks = 1'000'000;  // of work beside, about 15 us each

void expect(bool condition, const char* what, long long detail = 0) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s (%lld), last CUDA error: %s\n", what, detail,
               cudaGetErrorString(cudaPeekAtLastError()));
  std::exit(1);
}

template <typename T>
T* on_device(std::int64_t count) {
  T* out = nullptr;
  expect(cudaMalloc(&out, count * sizeof(T)) == cudaSuccess, "cudaMalloc");
  expect(cudaMemset(out, 0, count * sizeof(T)) == cudaSuccess, "cudaMemset");
  return out;
}
template <typename T>
std::vector<T> on_host(const T* from, std::int64_t count) {
  std::vector<T> out(count);
  expect(cudaMemcpy(out.data(), from, count * sizeof(T), cudaMemcpyDeviceToHost) == cudaSuccess,
         "cudaMemcpy");
  return out;
}

// As the device does: a multiplication and a subtraction are rounded once.
void factor_plainly(std::vector<double>& a, std::vector<std::int64_t>& pivots, std::int64_t rows) {
  for (std::int64_t j = begin; j < end; ++j) {
    std::int64_t best = j;
    for (std::int64_t i = j; i < rows; ++i)
      if (std::abs(a[j * rows + i]) > std::abs(a[j * rows + best])) best = i;
    pivots[j] = best;
    for (std::int64_t c = 0; c < columns; ++c) std::swap(a[c * rows + j], a[c * rows + best]);
    const double scale = 1 / a[j * rows + j];
    for (std::int64_t i = j + 1; i < rows; ++i) {
      const double factor = a[j * rows + i] *= scale;
      for (std::int64_t c = j + 1; c < end; ++c)
        a[c * rows + i] = std::fma(-factor, a[c * rows + j], a[c * rows + i]);
    }
  }
}

LuPanel panel_of(std::int64_t rows) {
  return {on_device<double>(rows * columns),
          rows,
          rows,
          columns,
          on_device<std::int64_t>(columns),
          on_device<LuSpace>(1),
          on_device<std::int32_t>(1)};
}
void release(const LuPanel& p) {
  for (void* memory : {static_cast<void*>(p.a), static_cast<void*>(p.pivots),
                       static_cast<void*>(p.space), static_cast<void*>(p.irregular)})
    cudaFree(memory);
}
std::vector<double> fill(const LuPanel& p) {
  std::vector<double> a(p.rows * columns);
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < p.rows; ++i)
      a[j * p.rows + i] = lu_element(i, lu_column_seed(j, 3));
  cudaMemcpy(p.a, a.data(), a.size() * sizeof(double), cudaMemcpyHostToDevice);
  return a;
}

void check_narrow(std::int64_t rows) {
  const LuPanel p = panel_of(rows);
  std::vector<std::int64_t> pivots(columns);
  std::vector<double> wanted = fill(p);
  factor_plainly(wanted, pivots, rows);
  for (int round = 0; round < 20; ++round) {
    fill(p);
    expect(launch_lu_narrow(p, begin, end, nullptr) == cudaSuccess, "lu_narrow", rows);
    expect(cudaDeviceSynchronize() == cudaSuccess, "lu_narrow", rows);
    const auto got = on_host(p.a, rows * columns);
    const auto chosen = on_host(p.pivots, columns);
    expect(std::equal(pivots.begin() + begin, pivots.begin() + end, chosen.begin() + begin),
           "pivots", rows);
    expect(std::memcmp(got.data(), wanted.data(), got.size() * sizeof(double)) == 0, "elements",
           rows);
  }
  release(p);
}

// Of each of `count` calls in a row, beside what another stream does.
template <typename Call>
double microseconds(cudaStream_t stream, int count, Call call) {
  cudaEvent_t from, to;
  cudaEventCreate(&from);
  cudaEventCreate(&to);
  for (int i = 0; i < 3; ++i) call();
  cudaEventRecord(from, stream);
  for (int i = 0; i < count; ++i) call();
  cudaEventRecord(to, stream);
  expect(cudaEventSynchronize(to) == cudaSuccess, "timing");
  float milliseconds = 0;
  cudaEventElapsedTime(&milliseconds, from, to);
  return 1e3 * milliseconds / count;
}

void time_narrow(cudaStream_t urgent, cudaStream_t busy, ChainResult* chains) {
  for (const std::int64_t rows : {2048, 8192, 16384, 24576, 65536}) {
    const LuPanel p = panel_of(rows);
    fill(p);
    const auto call = [&] { launch_lu_narrow(p, begin, end, urgent); };
    const double alone = microseconds(urgent, 20, call);
    expect(launch_chain(chains, kBusyBlocks, 100, 0, -1, busy) == cudaSuccess, "chain");
    const double beside = microseconds(urgent, 20, call);
    const bool overlapped = cudaStreamQuery(busy) == cudaErrorNotReady;
    std::printf("lu_narrow, %6lld rows: %6.1f us for 16 columns, %6.1f beside other work%s\n",
                static_cast<long long>(rows), alone, beside,
                overlapped ? "" : ", which ended first");
    expect(cudaDeviceSynchronize() == cudaSuccess, "lu_narrow beside");
    release(p);
  }
}

void time_solve(cudaStream_t stream) {
  constexpr std::int64_t most = 512;
  double *l = on_device<double>(most * most), *b = on_device<double>(most * most);
  for (const std::int64_t order : {16, 32, 64, 128, 256, 512})
    std::printf("lu_solve, %3lld rows: %6.1f us, inverse %6.1f us\n", static_cast<long long>(order),
                microseconds(stream, 20,
                             [&] {
                               launch_lu_solve({l, most, order, b, most, order}, false, stream);
                             }),
                microseconds(stream, 20, [&] {
                  launch_lu_solve({l, most, order, b, most, order}, true, stream);
                }));
  for (const std::int64_t width : {128, 512})
    std::printf(
        "lu_back, %3lld of 16384 rows: %6.1f us\n", static_cast<long long>(width),
        microseconds(stream, 20, [&, u = on_device<double>(16384 * width)] {
          launch_lu_back({u - (16384 - width) * 16384, 16384, 16384 - width, 16384, b}, stream);
        }));
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return 77;
  for (const std::int64_t rows : {33, 600, 9000, 17000, 70000}) check_narrow(rows);
  int least = 0, greatest = 0;
  cudaDeviceGetStreamPriorityRange(&least, &greatest);
  cudaStream_t urgent, busy;
  cudaStreamCreateWithPriority(&urgent, cudaStreamNonBlocking, greatest);
  cudaStreamCreateWithPriority(&busy, cudaStreamNonBlocking, least);
  time_narrow(urgent, busy, on_device<ChainResult>(kBusyBlocks));
  time_solve(urgent);
  expect(cudaDeviceSynchronize() == cudaSuccess, "the end");
  std::puts("LU's panels on the device: as on the host");
  return 0;
}
