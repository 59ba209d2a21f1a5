// The kernels' launchers, each doing on the host and in order what its kernel does in parallel.
#include <cstring>

#include "kernels/fill_verify.h"
#include "kernels/gemm_data.h"
#include "kernels/hash.h"
#include "kernels/march.h"
#include "kernels/sm_chain.h"
#include "kernels/stream.h"
#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/numbers.h"

namespace cb::kernels {
namespace {

using Word = std::uint64_t;

void compare_word(MarchResult& result, Word found, Word wanted, Word index) {
  if (found == wanted) return;
  ++result.wrong;
  result.bits |= found ^ wanted;
  if (index < result.first) result.first = index;
}

}  // namespace

int launch_fill(void* memory, std::size_t bytes, Word seed, void* stream) {
  return fake::kernel(stream, bytes, [=] {
    for (std::size_t i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(memory)[i] = pattern_byte(i, seed);
  });
}

int launch_verify(const void* memory, std::size_t bytes, Word seed, VerifyResult* result,
                  void* stream) {
  return fake::kernel(stream, bytes, [=] {
    *result = {0, no_mismatch};
    for (std::size_t i = 0; i < bytes; ++i) {
      if (static_cast<const unsigned char*>(memory)[i] == pattern_byte(i, seed)) continue;
      if (result->mismatches++ == 0) result->first_mismatch = i;
    }
  });
}

int launch_gemm_fill(void* data, Number type, Word elements, Word seed, void* stream) {
  return fake::kernel(stream, elements, [=] {
    for (Word i = 0; i < elements; ++i) fake::store(data, type, i, gemm_element(type, i, seed));
  });
}

int launch_gemm_check(const void* d, const ProductCheck& c, ProductResult* result, void* stream) {
  return fake::kernel(stream, c.m * c.n, [=] {
    *result = {0, 0, 0, no_element};
    for (Word row = c.row_offset; row < c.m; row += c.row_step) {
      for (Word column = 0; column < c.n; ++column) {
        ExactElement exact;
        for (Word k = 0; k < c.k; ++k)
          exact.add(gemm_element(c.a, row * c.k + k, c.seed_a),
                    gemm_element(c.b, column * c.k + k, c.seed_b));
        const Word at = column * c.m + row;
        const double value = fake::load(d, c.stored, at);
        ++result->checked;
        const double limit = product_tolerance(exact, static_cast<double>(c.k), c.a, c.stored);
        if (std::fabs(value - exact.sum) <= limit) continue;
        ++result->wrong;
        result->not_finite += std::isfinite(value) ? 0 : 1;
        if (at < result->first) result->first = at;
      }
    }
  });
}

int launch_hash(const void* data, std::size_t bytes, int element_bits, int exponent_bits,
                HashResult* result, void* stream) {
  // Two launches, as the real one.
  if (const int code = fake::enqueue(stream, 0, false, [=] { *result = {0, 0}; })) return code;
  return fake::kernel(stream, bytes, [=] {
    const auto* words = static_cast<const Word*>(data);
    const Word ones = (Word{1} << exponent_bits) - 1;
    for (std::size_t i = 0; i < bytes / 8; ++i) {
      result->hash += hash_word(words[i], i);
      for (int at = 0; exponent_bits != 0 && at < 64; at += element_bits)
        result->not_finite += (words[i] >> (at + element_bits - 1 - exponent_bits) & ones) == ones;
    }
  });
}

int launch_compare(const void* a, const void* b, std::size_t bytes, CompareResult* result,
                   void* stream) {
  return fake::kernel(stream, bytes, [=] {
    *result = {0, ~Word{0}};
    for (std::size_t i = 0; i < bytes / 8; ++i) {
      if (static_cast<const Word*>(a)[i] == static_cast<const Word*>(b)[i]) continue;
      if (result->words++ == 0) result->first = i;
    }
  });
}

// cudaErrorNoKernelImageForDevice
int find_kernels() { return static_cast<int>(fake::number("no_kernels", -1, 0)); }

int launch_damage(void* data, Word index, int bit, bool all_ones, void* stream) {
  return fake::kernel(stream, 8, [=] {
    Word& word = static_cast<Word*>(data)[index];
    word = all_ones ? ~Word{0} : word ^ Word { 1 } << bit;
  });
}

int launch_chain(ChainResult* results, unsigned blocks, std::uint32_t iterations, Word wanted,
                 std::int64_t damaged_block, void* stream) {
  const bool flip = fake::flips(stream, "chain");
  // Computing it takes a while on the host: once is enough.
  static const Word value = chain_block_result(iterations);
  return fake::kernel(stream, std::size_t{4} << 20, [=] {
    for (unsigned b = 0; b < blocks; ++b) {
      const bool wrong = b == damaged_block || (flip && b == 3);
      const Word sum = wrong ? value ^ 1U << 17 : value;
      if (results[b].wrong == 0) {
        results[b].value = sum;
        results[b].sm = b % 4;
      }
      if (sum != wanted) ++results[b].wrong;
    }
  });
}

int launch_spin(double seconds, void* stream) { return fake::enqueue_spin(stream, seconds); }

int launch_copy(void* to, const void* from, std::size_t bytes, void* stream) {
  const bool flip = fake::flips(stream, "copy");
  return fake::kernel(stream, 2 * bytes, [=] {
    std::memmove(to, from, bytes);
    if (flip) static_cast<unsigned char*>(to)[bytes / 2] ^= 4;
  });
}

int launch_triad(double* a, const double* b, const double* c, std::size_t elements, Sweep,
                 void* stream) {
  const bool flip = fake::flips(stream, "triad");
  return fake::kernel(stream, 24 * elements, [=] {
    for (std::size_t i = 0; i < elements; ++i) a[i] = std::fma(triad_scalar, c[i], b[i]);
    if (flip) a[elements / 2] += 1;
  });
}

int launch_triad_fill(double* b, double* c, std::size_t elements, Word seed, void* stream) {
  return fake::kernel(stream, 16 * elements, [=] {
    for (std::size_t i = 0; i < elements; ++i) {
      b[i] = triad_element(i, seed);
      c[i] = triad_element(i, seed + 1);
    }
  });
}

int launch_triad_check(const double* a, std::size_t elements, Word seed, TriadResult* result,
                       void* stream) {
  return fake::kernel(stream, 8 * elements, [=] {
    *result = {0, ~Word{0}};
    for (std::size_t i = 0; i < elements; ++i) {
      if (a[i] == triad_result(i, seed)) continue;
      if (result->wrong++ == 0) result->first = i;
    }
  });
}

int launch_read(const void* from, std::size_t bytes, Word* sum, void* stream) {
  const bool flip = fake::flips(stream, "read");
  return fake::kernel(stream, bytes, [=] {
    for (std::size_t i = 0; i < bytes / 8; ++i) *sum += static_cast<const Word*>(from)[i];
    if (flip) *sum += 4;
  });
}

int launch_chase(const void* lines, Word steps, Word* at, void* stream) {
  return fake::kernel(stream, steps * 100, [=] {
    for (Word i = 0; i < steps; ++i)
      *at = static_cast<const Word*>(lines)[*at * (chase_line_bytes / sizeof(Word))];
  });
}

int launch_march_write(void* data, std::size_t words, March test, Word step, void* stream) {
  return fake::kernel(stream, 8 * words, [=] {
    for (Word i = 0; i < words; ++i) static_cast<Word*>(data)[i] = march_word(test, step, i, false);
  });
}

int launch_march_turn(void* data, std::size_t words, March test, Word step, bool inverted,
                      MarchResult* result, void* stream) {
  const bool flip = fake::flips(stream, "march");
  return fake::kernel(stream, 16 * words, [=] {
    auto* memory = static_cast<Word*>(data);
    if (flip) memory[words / 3] ^= 0x400;
    for (Word i = 0; i < words; ++i) {
      const Word wanted = march_word(test, step, i, inverted);
      compare_word(*result, memory[i], wanted, i);
      memory[i] = ~wanted;
    }
  });
}

int launch_march_compare(const void* data, std::size_t words, March test, Word step, Word shift,
                         MarchResult* result, void* stream) {
  return fake::kernel(stream, 8 * words, [=] {
    for (Word i = 0; i < words; ++i) {
      const Word origin = i < shift ? i + words - shift : i - shift;
      compare_word(*result, static_cast<const Word*>(data)[i],
                   march_word(test, step, origin, false), i);
    }
  });
}

}  // namespace cb::kernels
