// What a polling end of a transfer does between polls.
#include "bench/network/verbs/wait.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("polls look at the deadline every so often, however short each wait is") {
  CancelToken cancel;
  for (const bool soft : {true, false}) {
    verbs::Idle idle(60, soft, cancel);
    int looks = 0;
    for (int poll = 0; poll < 100000; ++poll) {
      if (poll % 3 == 0) idle.found();
      looks += idle.again() ? 1 : 0;
    }
    CHECK(looks >= 6);
    CHECK(looks <= 24);
    CHECK(idle.go_on());
  }
}

TEST_CASE("a wait ends past its deadline and when the job is cancelled") {
  CancelToken cancel;
  CHECK(!verbs::Idle(0, true, cancel).go_on());
  verbs::Idle idle(60, true, cancel);
  cancel.cancel();
  CHECK(!idle.go_on());
}
