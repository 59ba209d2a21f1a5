// The launchers of kernels/collective_data.cu on the host.
#include <cstring>

#include "kernels/collective_data.h"
#include "tests/fake_cuda/fake.h"

namespace cb::kernels {
namespace {

using Word = std::uint64_t;

// Counts the items for which right(item) is false.
template <typename Right>
void count_wrong(VerifyResult* result, Word items, Right right) {
  *result = {0, no_mismatch};
  for (Word i = 0; i < items; ++i) {
    if (right(i)) continue;
    if (result->mismatches++ == 0) result->first_mismatch = i;
  }
}

}  // namespace

int launch_fill_terms(const Terms& terms, Word rank, void* out, Word count, void* stream) {
  return fake::kernel(stream, count, [=] {
    dispatch(terms.type, [&](auto zero) {
      const TermModel<decltype(zero)> model(terms);
      for (Word i = 0; i < count; ++i) static_cast<decltype(zero)*>(out)[i] = model.term(rank, i);
    });
  });
}

int launch_verify_terms(const Terms& terms, Word first_index, const void* in, Word count,
                        VerifyResult* result, void* stream) {
  return fake::kernel(stream, count, [=] {
    dispatch(terms.type, [&](auto zero) {
      using T = decltype(zero);
      const TermModel<T> model(terms);
      count_wrong(result, count, [&](Word i) {
        const T wanted = model.reduced(first_index + i);
        return std::memcmp(static_cast<const T*>(in) + i, &wanted, sizeof(T)) == 0;
      });
    });
  });
}

int launch_fill_words(void* out, std::size_t bytes, Word seed, Word first_word, void* stream) {
  return fake::kernel(stream, bytes, [=] {
    for (Word i = 0; i < bytes; ++i)
      static_cast<unsigned char*>(out)[i] = pattern_byte(first_word * 8 + i, seed);
  });
}

int launch_verify_words(const void* in, std::size_t bytes, Word seed, Word first_word,
                        int element_bytes, VerifyResult* result, void* stream) {
  return fake::kernel(stream, bytes, [=] {
    const auto width = static_cast<Word>(element_bytes);
    count_wrong(result, bytes / width, [&](Word element) {
      for (Word i = element * width; i < (element + 1) * width; ++i) {
        if (static_cast<const unsigned char*>(in)[i] != pattern_byte(first_word * 8 + i, seed))
          return false;
      }
      return true;
    });
  });
}

int launch_verify_byte(const void* in, std::size_t bytes, std::uint8_t value, VerifyResult* result,
                       void* stream) {
  return fake::kernel(stream, bytes, [=] {
    count_wrong(result, bytes,
                [&](Word i) { return static_cast<const unsigned char*>(in)[i] == value; });
  });
}

}  // namespace cb::kernels
