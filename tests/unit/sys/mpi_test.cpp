#include "sys/mpi/mpi.h"

#include <doctest/doctest.h>

TEST_CASE("ranks share processors when there are more of them, and only if the launcher says so") {
  CHECK(cb::mpi::share_processors("3", 2));
  CHECK_FALSE(cb::mpi::share_processors("2", 2));
  CHECK_FALSE(cb::mpi::share_processors(nullptr, 2));
}
