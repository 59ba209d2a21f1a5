#include "core/messages/looks.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("looks at one part are added up, in every note that tells of them") {
  const Said other("n1:0: bound by memory");
  const std::vector<Said> out = looks_added_up(
      {said("gpu.at_limit", "n1:0", 203, 206), other, said("gpu.at_limit", "n1:0", 4, 205),
       said("gpu.at_limit", "n1:1", 1, 9), said("gpu.throttled", "n1:0", 2, 5)});
  CHECK(out == std::vector<Said>{said("gpu.at_limit", "n1:0", 207, 411), other,
                                 said("gpu.at_limit", "n1:0", 207, 411),
                                 said("gpu.at_limit", "n1:1", 1, 9),
                                 said("gpu.throttled", "n1:0", 2, 5)});
}

TEST_CASE("counts that are none stay as they are") {
  const std::vector<Said> odd{said("gpu.at_limit", "n1:0", "some", 206),
                              said("gpu.at_limit", "n1:0", "-1", 206), Said("gpu.at_limit")};
  CHECK(looks_added_up(odd) == odd);
  CHECK(looks_added_up({}).empty());
}
