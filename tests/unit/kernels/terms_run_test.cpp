// The terms of reductions, of every type and operation, against the same model on the host.
#include <cstring>

#include "kernels/collective_data.h"
#include "tests/unit/kernels/on_executor.h"

using namespace cb::kernels;
using on_executor::DeviceArray;
using on_executor::in_every_order;

namespace {

template <typename T>
void check_terms_of(const Terms& terms, std::uint64_t count) {
  constexpr std::uint64_t rank = 3, first_index = 77;
  const TermModel<T> model(terms);
  DeviceArray<T> data(count, "data");
  DeviceArray<VerifyResult> result(1, "result");
  REQUIRE(launch_fill_terms(terms, rank, data.data(), count, nullptr) == 0);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const T wanted = model.term(rank, i);
    wrong += std::memcmp(&data[i], &wanted, sizeof(T)) != 0;
    data[i] = model.reduced(first_index + i);
  }
  CHECK(wrong == 0);
  const auto verify = [&] {
    REQUIRE(launch_verify_terms(terms, first_index, data.data(), count, result.data(), nullptr) ==
            0);
  };
  verify();
  CHECK(result[0].mismatches == 0);
  CHECK(result[0].first_mismatch == no_mismatch);
  if (count == 0) return;
  const std::uint64_t planted = count / 3;
  reinterpret_cast<unsigned char*>(&data[planted])[sizeof(T) - 1] ^= 1;
  verify();
  CHECK(result[0].mismatches == 1);
  CHECK(result[0].first_mismatch == planted);
}

}  // namespace

TEST_CASE("terms and reduced values of every type and operation") {
  for (int type = 0; type <= static_cast<int>(Element::fp8_e5m2); ++type) {
    for (int reduction = 0; reduction <= static_cast<int>(Reduce::mulsum); ++reduction) {
      CAPTURE(type);
      CAPTURE(reduction);
      const Terms terms{static_cast<Element>(type), static_cast<Reduce>(reduction), 6, 5};
      dispatch(terms.type, [&](auto zero) {
        check_terms_of<decltype(zero)>(terms, 301);
        return 0;
      });
    }
  }
}

TEST_CASE("terms in every order, also none and one") {
  for (const std::uint64_t count : {0, 1, 257, 1000}) {
    in_every_order([&] {
      check_terms_of<float>({Element::float32, Reduce::sum, 8, 1}, count);
      check_terms_of<BFloat16>({Element::bfloat16, Reduce::avg, 8, 1}, count);
    });
  }
}

TEST_CASE("terms at an address that their type does not allow") {
  DeviceArray<unsigned char> data(64, "data", 2);
  DeviceArray<VerifyResult> result(1);
  const Terms terms{Element::float32, Reduce::sum, 2, 0};
  CHECK(launch_fill_terms(terms, 0, data.data(), 4, nullptr) == 716);
  CHECK(launch_verify_terms(terms, 0, data.data(), 4, result.data(), nullptr) == 716);
  const Terms narrow{Element::float16, Reduce::sum, 2, 0};
  CHECK(launch_fill_terms(narrow, 0, data.data(), 4, nullptr) == 0);
}
