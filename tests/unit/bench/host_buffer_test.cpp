#include <cstdint>

#include <doctest/doctest.h>

#include "bench/collectives/buffer.h"

using namespace cb;

namespace {

constexpr uint64_t kHugePage = 2 << 20;

uint64_t beyond_multiple_of(uint64_t page, CollectiveBuffer& buffer) {
  return reinterpret_cast<uintptr_t>(buffer.data()) % page;
}

}  // namespace

TEST_CASE("data in host memory begins at a page, from 2 MiB on at a huge one") {
  for (const uint64_t bytes : {uint64_t{0}, uint64_t{1}, kHugePage - 1}) {
    const auto buffer = host_buffer(bytes);
    CHECK(buffer->bytes() == bytes);
    CHECK(beyond_multiple_of(4096, *buffer) == 0);
  }
  for (const uint64_t bytes : {kHugePage, kHugePage + 1, 3 * kHugePage}) {
    const auto buffer = host_buffer(bytes);
    CHECK(beyond_multiple_of(kHugePage, *buffer) == 0);
  }
}

TEST_CASE("a byte that is written beside the data is seen") {
  for (const uint64_t bytes : {uint64_t{5}, kHugePage - 1, kHugePage, kHugePage + 7}) {
    const auto buffer = host_buffer(bytes);
    buffer->set({0, bytes}, 7);
    CHECK(buffer->guards_intact());
    const int64_t end = static_cast<int64_t>(bytes);
    for (const int64_t at : {int64_t{-4096}, int64_t{-1}, end, end + 4095}) {
      buffer->flip(at);
      CHECK_FALSE(buffer->guards_intact());
      buffer->flip(at);
    }
    CHECK(buffer->guards_intact());
  }
}
