// The kernel that counts its launches.
#include "kernels/overhead.h"
#include "tests/unit/kernels/on_executor.h"

TEST_CASE("each launch counts once, and an empty one writes nothing") {
  on_executor::DeviceArray<std::uint64_t> counter(1, "counter");
  counter[0] = 5;
  on_executor::in_every_order([&] {
    REQUIRE(cb::kernels::launch_count(counter.data(), nullptr) == 0);
    REQUIRE(cb::kernels::launch_count(nullptr, nullptr) == 0);
  });
  CHECK(counter[0] == 9);
}
