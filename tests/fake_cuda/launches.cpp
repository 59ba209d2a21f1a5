// Launches of the real kernels (kernels/*.cu, compiled for the CPU) in a stream's turn: what each
// costs of the invented device's time, and the mistakes of a device that is said to be wrong.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <string_view>
#include <utility>

#include "kernels/cg.h"
#include "kernels/gemm_data.h"
#include "kernels/infer.h"
#include "kernels/lu.h"
#include "kernels/moe.h"
#include "kernels/sm_chain.h"
#include "tests/device_executor/executor.h"
#include "tests/fake_cuda/fake.h"

using device_executor::Launch;

namespace {

template <typename T>
T& argument(const Launch& launch, std::size_t i) {
  return *static_cast<T*>(launch.arguments[i]);
}

// The bytes whose time a kernel takes: so many for each of a count that is one of its arguments, or
// for all.
constexpr std::size_t kNoCount = ~std::size_t{0};
struct Price {
  std::string_view kernel;
  std::size_t count;  // place of the argument, of 64 bits
  double bytes;
};
constexpr Price kPrices[] = {{"chain", kNoCount, 40 << 20},
                             {"chase", 1, 100},
                             {"compare_march", 1, 8},
                             {"compare_words", 2, 8},
                             {"copy", 2, 32},
                             {"damage", kNoCount, 8},
                             {"fill", 1, 1},
                             {"fill_operand", 2, 1},
                             {"fill_terms", 3, 1},
                             {"fill_words", 1, 1},
                             {"hash_words", 1, 8},
                             {"lu_columns", kNoCount, 16 << 20},
                             {"read", 1, 16},
                             {"triad", 3, 48},
                             {"triad_check", 1, 8},
                             {"triad_fill", 2, 16},
                             {"triad_swept", 3, 48},
                             {"turn_march", 1, 16},
                             {"verify", 1, 1},
                             {"verify_byte", 1, 1},
                             {"verify_terms", 3, 1},
                             {"verify_words", 1, 1},
                             {"write_march", 1, 8}};

double threads_of(const Launch& launch) {
  const auto volume = [](const dim3& d) { return 1.0 * d.x * d.y * d.z; };
  return volume(launch.blocks) * volume(launch.threads);
}

// A kernel without a price costs a word for each thread.
double bytes_of(const Launch& launch) {
  if (launch.kernel == "check_product") {
    const auto& c = argument<cb::kernels::ProductCheck>(launch, 1);
    return static_cast<double>(c.m * c.n);
  }
  for (const Price& price : kPrices) {
    if (price.kernel != launch.kernel) continue;
    if (price.count == kNoCount) return price.bytes;
    return price.bytes * static_cast<double>(argument<std::uint64_t>(launch, price.count));
  }
  return 8 * threads_of(launch);
}

// What a wrong device does: to memory before the kernel, or to its result.
struct Mistake {
  std::string_view kernel;
  const char* operation;  // in CLUSTERBENCH_FAKE_CUDA
  void (*before)(const Launch&);
  void (*after)(const Launch&);
};

void damage_copy(const Launch& launch) {
  argument<unsigned char*>(launch, 0)[argument<std::uint64_t>(launch, 2) * 8] ^= 4;
}
void damage_triad(const Launch& launch) {
  argument<double*>(launch, 0)[argument<std::uint64_t>(launch, 3)] += 1;
}
void damage_read(const Launch& launch) { *argument<std::uint64_t*>(launch, 2) += 4; }
void damage_march(const Launch& launch) {
  argument<std::uint64_t*>(launch, 0)[argument<std::uint64_t>(launch, 1) / 3] ^= 0x400;
}
// The third block is wrong, as it is where the caller asks for damage.
void damage_chain(const Launch& launch) {
  auto& damaged = argument<std::int64_t>(launch, 3);
  if (damaged < 0) damaged = 3;
}

// Every second time an element is another one, by less than a residual shows.
void wobble(const Launch& launch) {
  static bool odd = false;
  odd = !odd;
  if (odd) *argument<double*>(launch, 0) *= 1 + 1e-12;
}
// The first row is not exchanged.
void damage_exchange(const Launch& launch) {
  argument<cb::kernels::LuExchange>(launch, 0).moves.from[0] = 0;
}

// The middle row is wrong; of a sweep, the first point of its colour is not relaxed but shifted.
void damage_operator(const Launch& launch) {
  const std::int64_t all = argument<cb::kernels::CgMatrix>(launch, 0).cube.all();
  argument<double*>(launch, 2)[all / 2] += 1e-3;
}
// What was found on the coarser cube is lost.
void damage_coarse(const Launch& launch) {
  const auto& c = argument<cb::kernels::CgCoarsening>(launch, 0);
  std::fill_n(const_cast<double*>(c.coarse_x), c.coarse.all(), 0.0);
}
void damage_sweep(const Launch& launch) {
  const cb::kernels::CgCube& cube = argument<cb::kernels::CgMatrix>(launch, 0).cube;
  argument<double*>(launch, 2)[cube.first(argument<int>(launch, 3))] += 1e-3;
}

// A number of the feed-forward is none.
void make_nan(const Launch& launch) { argument<float*>(launch, 1)[0] = NAN; }

// The first number of a token's attention, beside the cache, is another one.
void damage_attention(const Launch& launch) {
  const auto& a = argument<cb::kernels::InferAttention>(launch, 0);
  if (a.narrow_out)
    *static_cast<std::uint16_t*>(a.out) = 0x42c8;  // 100 in bf16
  else
    *static_cast<float*>(a.out) = 100;
}
// Every seventh time.
void unsteady_attention(const Launch& launch) {
  static int launches = 0;
  if (++launches % 7 == 0) damage_attention(launch);
}
void damage_sum(const Launch& launch) { argument<cb::kernels::MoeAdd>(launch, 0).sum[0] += 1; }

// Every launch but the first is lost.
void lose_count(const Launch& launch) {
  auto* counter = argument<unsigned long long*>(launch, 0);
  if (counter != nullptr && *counter > 1) --*counter;
}

constexpr Mistake kMistakes[] = {{"count_launch", "count", nullptr, lose_count},
                                 {"copy", "copy", nullptr, damage_copy},
                                 {"triad", "triad", nullptr, damage_triad},
                                 {"triad_swept", "triad", nullptr, damage_triad},
                                 {"read", "read", nullptr, damage_read},
                                 {"chain", "chain", damage_chain, nullptr},
                                 {"cg_multiply", "operator", nullptr, damage_operator},
                                 {"cg_prolong", "coarse", damage_coarse, nullptr},
                                 {"cg_relax", "sweep", nullptr, damage_sweep},
                                 {"infer_join_chunks", "attention", nullptr, damage_attention},
                                 {"infer_join_chunks", "unsteady", nullptr, unsteady_attention},
                                 {"lu_fill", "wobble", nullptr, wobble},
                                 {"lu_move", "exchange", damage_exchange, nullptr},
                                 {"moe_add", "sum", nullptr, damage_sum},
                                 {"train_swiglu", "nan", nullptr, make_nan},
                                 {"turn_march", "march", damage_march, nullptr}};

const Mistake* mistake_of(const Launch& launch, void* stream) {
  for (const Mistake& mistake : kMistakes)
    if (mistake.kernel == launch.kernel && fake::flips(stream, mistake.operation)) return &mistake;
  return nullptr;
}

// A kernel that does what no device allows takes its device along.
void run_kernel(const Launch& launch, const Mistake* mistake, int device) {
  if (mistake != nullptr && mistake->before != nullptr) mistake->before(launch);
  try {
    device_executor::run(launch, {.checked = false});
  } catch (const device_executor::Fault& fault) {
    std::fprintf(stderr, "stand-in GPU %d: %s\n", device, fault.what());
    fake::kill(device);
  }
  if (mistake != nullptr && mistake->after != nullptr) mistake->after(launch);
}

}  // namespace

int device_executor::submit(Launch launch, void* stream) {
  if (!possible(launch)) return values::invalid_configuration;
  if (launch.kernel == "spin")
    return fake::enqueue_spin(stream,
                              1e-9 * static_cast<double>(argument<unsigned long long>(launch, 0)));
  const double bytes = bytes_of(launch);
  const Mistake* mistake = mistake_of(launch, stream);
  const int device = fake::device_of(stream);
  return fake::kernel(
      stream, static_cast<std::size_t>(bytes),
      [launch = std::move(launch), mistake, device] { run_kernel(launch, mistake, device); });
}
