// fill, verify and those of collectives' words, against the pattern's definition on the host.
#include <cstring>

#include "kernels/collective_data.h"
#include "kernels/fill_verify.h"
#include "kernels/pattern.h"
#include "tests/unit/kernels/on_executor.h"

using namespace cb::kernels;
using on_executor::DeviceArray;
using on_executor::in_every_order;

namespace {

constexpr std::uint64_t kFillSeed = 20261121;
constexpr std::size_t kSizes[] = {0, 1, 7, 8, 9, 63, 2047, 2048, 2049, 5003};

void check_result(const VerifyResult& found, std::uint64_t mismatches, std::uint64_t first) {
  CHECK(found.mismatches == mismatches);
  CHECK(found.first_mismatch == first);
}

}  // namespace

TEST_CASE("fill writes the pattern and not a byte more; verify counts what differs") {
  for (const std::size_t bytes : kSizes) {
    CAPTURE(bytes);
    in_every_order([&] {
      DeviceArray<unsigned char> data(bytes, "data");
      DeviceArray<VerifyResult> result(1, "result");
      REQUIRE(launch_fill(data.data(), bytes, kFillSeed, nullptr) == 0);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < bytes; ++i) wrong += data[i] != pattern_byte(i, kFillSeed);
      CHECK(wrong == 0);
      const auto verify = [&](std::uint64_t seed) {
        result[0] = {123, 456};
        REQUIRE(launch_verify(data.data(), bytes, seed, result.data(), nullptr) == 0);
        return result[0];
      };
      check_result(verify(kFillSeed), 0, no_mismatch);
      if (bytes < 3) return;
      data[bytes - 1] ^= 1;
      data[bytes / 2] ^= 0x80;
      check_result(verify(kFillSeed), 2, bytes / 2);
      if (bytes >= 2048) CHECK(verify(kFillSeed + 1).mismatches > bytes * 97 / 100);
    });
  }
}

TEST_CASE("memory that is not aligned to a word is refused, and nothing is written") {
  DeviceArray<unsigned char> data(16, "data", 1);
  DeviceArray<VerifyResult> result(1);
  data[0] = 77;
  CHECK(launch_fill(data.data(), 8, 1, nullptr) == 716);  // cudaErrorMisalignedAddress
  CHECK(launch_verify(data.data(), 8, 1, result.data(), nullptr) == 716);
  CHECK(launch_fill_words(data.data(), 8, 1, 0, nullptr) == 716);
  CHECK(launch_verify_words(data.data(), 8, 1, 0, 1, result.data(), nullptr) == 716);
  CHECK(data[0] == 77);
}

TEST_CASE("words of collectives from any word on, in elements of every width") {
  constexpr std::uint64_t first_word = 1234;
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{4004}}) {
    CAPTURE(bytes);
    in_every_order([&] {
      DeviceArray<unsigned char> data(bytes, "data");
      DeviceArray<VerifyResult> result(1, "result");
      REQUIRE(launch_fill_words(data.data(), bytes, 9, first_word, nullptr) == 0);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < bytes; ++i)
        wrong += data[i] != pattern_byte(first_word * 8 + i, 9);
      CHECK(wrong == 0);
      for (const int width : {1, 2, 4}) {
        const auto verify = [&] {
          REQUIRE(launch_verify_words(data.data(), bytes, 9, first_word, width, result.data(),
                                      nullptr) == 0);
          return result[0];
        };
        check_result(verify(), 0, no_mismatch);
        if (bytes < 100) continue;
        for (const std::size_t at : {std::size_t{2003}, bytes - 1}) {
          data[at] ^= 1;
          check_result(verify(), 1, at / static_cast<std::size_t>(width));
          data[at] ^= 1;
        }
      }
      if (bytes % 8 != 0) return;
      REQUIRE(launch_verify_words(data.data(), bytes, 9, first_word, 8, result.data(), nullptr) ==
              0);
      check_result(result[0], 0, no_mismatch);
    });
  }
}

TEST_CASE("bytes of one value") {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{3001}}) {
    in_every_order([&] {
      DeviceArray<unsigned char> data(bytes, "data");
      DeviceArray<VerifyResult> result(1, "result");
      std::memset(data.data(), 0x5a, bytes);
      REQUIRE(launch_verify_byte(data.data(), bytes, 0x5a, result.data(), nullptr) == 0);
      check_result(result[0], 0, no_mismatch);
      if (bytes < 3) return;
      data[1] = data[2999] = 0;
      REQUIRE(launch_verify_byte(data.data(), bytes, 0x5a, result.data(), nullptr) == 0);
      check_result(result[0], 2, 1);
    });
  }
}
