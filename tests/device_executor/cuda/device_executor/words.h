// The words of CUDA C++ for code that is compiled for the CPU: where a thread is, barriers,
// shuffles, votes, atomics and intrinsics. Sources: CUDA C++ Programming Guide, "C++ Language
// Extensions"; PTX ISA for shfl.sync. What is not here does not compile: add it with its rule, and
// a test of that rule.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

// NOLINTBEGIN(*)
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __align__(bytes) alignas(bytes)
#define __grid_constant__

namespace device_executor {

// Where the running thread is.
struct Place {
  uint3 thread{}, block{};
  dim3 threads, blocks;
};
extern Place place;

// A line of a kernel.
struct Site {
  const char* file;
  int line;
};

enum class Meeting : int {
  barrier,
  barrier_count,
  barrier_and,
  barrier_or,
  warp_barrier,
  shuffle,
  ballot,
  any,
  all,
  match,
  sum,
  least,
  most,
  bits_and,
  bits_or,
  bits_xor,
  multiply,
  load_matrices,
  arrival
};

// Waits for the other threads of the block; returns what their predicates give together.
int meet_block(Meeting kind, int predicate, Site site);
// Waits for the lanes of `mask`, each of which brings a value. A shuffle returns that of `source`,
// the others what all values give together.
std::uint64_t meet_warp(Meeting kind, unsigned mask, std::uint64_t value, int source, Site site);
// Which lane a shuffle reads, after the PTX ISA's rule for shfl.sync.
enum class Shuffle : int { index, up, down, exclusive_or };
int shuffle_source(Shuffle way, unsigned operand, int width, Site site);

// What an atomic does to memory is between these two: no other thread comes in between, and the
// accesses are atomic.
void begin_atomic(const void* address, bool announces = true);
void end_atomic();
void fence();
void pause();  // of a thread that waits for another one, or for the clock
std::uint32_t multiprocessor();
unsigned long long nanoseconds();

template <typename T>
std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= sizeof(std::uint64_t) && std::is_trivially_copyable_v<T>);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <typename T>
T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

template <typename T, typename Change>
T atomically(T* address, Change change) {
  begin_atomic(address);
  const T before = *address;
  *address = change(before);
  end_atomic();
  return before;
}

}  // namespace device_executor

inline const uint3& threadIdx = device_executor::place.thread;
inline const uint3& blockIdx = device_executor::place.block;
inline const dim3& blockDim = device_executor::place.threads;
inline const dim3& gridDim = device_executor::place.blocks;
inline constexpr int warpSize = 32;

// Each word that waits knows the line it stands in: threads that wait for each other must come from
// the same one.
#define CB_SITE device_executor::Site site = {__builtin_FILE(), __builtin_LINE()}

inline void __syncthreads(CB_SITE) {
  device_executor::meet_block(device_executor::Meeting::barrier, 0, site);
}
inline int __syncthreads_count(int predicate, CB_SITE) {
  return device_executor::meet_block(device_executor::Meeting::barrier_count, predicate != 0, site);
}
inline int __syncthreads_and(int predicate, CB_SITE) {
  return device_executor::meet_block(device_executor::Meeting::barrier_and, predicate != 0, site);
}
inline int __syncthreads_or(int predicate, CB_SITE) {
  return device_executor::meet_block(device_executor::Meeting::barrier_or, predicate != 0, site);
}
inline void __syncwarp(unsigned mask = ~0U, CB_SITE) {
  device_executor::meet_warp(device_executor::Meeting::warp_barrier, mask, 0, 0, site);
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int lane, int width = 32, CB_SITE) {
  using namespace device_executor;
  const int source = shuffle_source(Shuffle::index, static_cast<unsigned>(lane), width, site);
  return from_bits<T>(meet_warp(Meeting::shuffle, mask, to_bits(value), source, site));
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned lanes, int width = 32, CB_SITE) {
  using namespace device_executor;
  const int source = shuffle_source(Shuffle::up, lanes, width, site);
  return from_bits<T>(meet_warp(Meeting::shuffle, mask, to_bits(value), source, site));
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned lanes, int width = 32, CB_SITE) {
  using namespace device_executor;
  const int source = shuffle_source(Shuffle::down, lanes, width, site);
  return from_bits<T>(meet_warp(Meeting::shuffle, mask, to_bits(value), source, site));
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, CB_SITE) {
  using namespace device_executor;
  const int source =
      shuffle_source(Shuffle::exclusive_or, static_cast<unsigned>(lanes), width, site);
  return from_bits<T>(meet_warp(Meeting::shuffle, mask, to_bits(value), source, site));
}

inline unsigned __ballot_sync(unsigned mask, int predicate, CB_SITE) {
  return static_cast<unsigned>(
      device_executor::meet_warp(device_executor::Meeting::ballot, mask, predicate != 0, 0, site));
}
inline int __any_sync(unsigned mask, int predicate, CB_SITE) {
  return device_executor::meet_warp(device_executor::Meeting::any, mask, predicate != 0, 0, site) !=
         0;
}
inline int __all_sync(unsigned mask, int predicate, CB_SITE) {
  return device_executor::meet_warp(device_executor::Meeting::all, mask, predicate != 0, 0, site) !=
         0;
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T value, CB_SITE) {
  using namespace device_executor;
  return static_cast<unsigned>(meet_warp(Meeting::match, mask, to_bits(value), 0, site));
}
inline unsigned __reduce_add_sync(unsigned mask, unsigned value, CB_SITE) {
  return static_cast<unsigned>(
      device_executor::meet_warp(device_executor::Meeting::sum, mask, value, 0, site));
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value, CB_SITE) {
  return static_cast<unsigned>(
      device_executor::meet_warp(device_executor::Meeting::least, mask, value, 0, site));
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value, CB_SITE) {
  return static_cast<unsigned>(
      device_executor::meet_warp(device_executor::Meeting::most, mask, value, 0, site));
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value, CB_SITE) {
  return static_cast<unsigned>(
      device_executor::meet_warp(device_executor::Meeting::bits_and, mask, value, 0, site));
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value, CB_SITE) {
  return static_cast<unsigned>(
      device_executor::meet_warp(device_executor::Meeting::bits_or, mask, value, 0, site));
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value, CB_SITE) {
  return static_cast<unsigned>(
      device_executor::meet_warp(device_executor::Meeting::bits_xor, mask, value, 0, site));
}
#undef CB_SITE

template <typename T>
T atomicAdd(T* address, std::type_identity_t<T> value) {
  return device_executor::atomically(address,
                                     [&](T before) { return static_cast<T>(before + value); });
}
template <typename T>
T atomicSub(T* address, std::type_identity_t<T> value) {
  return device_executor::atomically(address,
                                     [&](T before) { return static_cast<T>(before - value); });
}
template <typename T>
T atomicMin(T* address, std::type_identity_t<T> value) {
  return device_executor::atomically(address,
                                     [&](T before) { return value < before ? value : before; });
}
template <typename T>
T atomicMax(T* address, std::type_identity_t<T> value) {
  return device_executor::atomically(address,
                                     [&](T before) { return before < value ? value : before; });
}
template <typename T>
T atomicAnd(T* address, std::type_identity_t<T> value) {
  return device_executor::atomically(address, [&](T before) { return before & value; });
}
template <typename T>
T atomicOr(T* address, std::type_identity_t<T> value) {
  return device_executor::atomically(address, [&](T before) { return before | value; });
}
template <typename T>
T atomicXor(T* address, std::type_identity_t<T> value) {
  return device_executor::atomically(address, [&](T before) { return before ^ value; });
}
template <typename T>
T atomicExch(T* address, std::type_identity_t<T> value) {
  return device_executor::atomically(address, [&](T) { return value; });
}
template <typename T>
T atomicCAS(T* address, std::type_identity_t<T> wanted, std::type_identity_t<T> value) {
  return device_executor::atomically(address,
                                     [&](T before) { return before == wanted ? value : before; });
}
inline unsigned atomicInc(unsigned* address, unsigned last) {
  return device_executor::atomically(
      address, [&](unsigned before) { return before >= last ? 0 : before + 1; });
}

inline void __threadfence() { device_executor::fence(); }
inline void __threadfence_system() { device_executor::fence(); }
inline void __threadfence_block() {}
inline void __nanosleep(unsigned) { device_executor::pause(); }
inline long long clock64() { return static_cast<long long>(device_executor::nanoseconds()); }

template <typename T>
T __ldg(const T* from) {
  return *from;
}
template <typename T>
T __ldcs(const T* from) {
  return *from;
}
template <typename T>
T __ldcg(const T* from) {
  return *from;
}
template <typename T>
void __stcs(T* to, T value) {
  *to = value;
}
template <typename T>
void __stcg(T* to, T value) {
  *to = value;
}

inline unsigned __float_as_uint(float value) { return std::bit_cast<unsigned>(value); }
inline int __float_as_int(float value) { return std::bit_cast<int>(value); }
inline float __uint_as_float(unsigned bits) { return std::bit_cast<float>(bits); }
inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }
inline long long __double_as_longlong(double value) { return std::bit_cast<long long>(value); }
inline double __longlong_as_double(long long bits) { return std::bit_cast<double>(bits); }
inline int __popc(unsigned bits) { return std::popcount(bits); }
inline int __popcll(unsigned long long bits) { return std::popcount(bits); }
inline int __clz(int bits) { return std::countl_zero(static_cast<unsigned>(bits)); }
inline int __clzll(long long bits) {
  return std::countl_zero(static_cast<unsigned long long>(bits));
}
inline int __ffs(int bits) {
  return bits == 0 ? 0 : std::countr_zero(static_cast<unsigned>(bits)) + 1;
}
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(std::uint64_t{a} * b >> 32);
}
// The device's own are a few units in the last place off; here they are exact.
inline float rsqrtf(float value) { return 1.0F / sqrtf(value); }
inline double rsqrt(double value) { return 1.0 / sqrt(value); }
inline float __expf(float value) { return expf(value); }
inline float __logf(float value) { return logf(value); }
inline float __fdividef(float a, float b) { return a / b; }
inline void __sincosf(float value, float* sine, float* cosine) {
  *sine = sinf(value);
  *cosine = cosf(value);
}
using std::max;
using std::min;

constexpr int2 make_int2(int x, int y) { return {x, y}; }
constexpr float2 make_float2(float x, float y) { return {x, y}; }
constexpr double2 make_double2(double x, double y) { return {x, y}; }
constexpr float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
constexpr uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
// NOLINTEND(*)
