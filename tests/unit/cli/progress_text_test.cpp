#include "cli/progress_text.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("what is left of a campaign: no estimate where nothing is known") {
  CampaignProgress p;
  p.unknown = 3;
  CHECK(left_text(p) == "3 steps of unknown length left");
  p.unknown = 1;
  CHECK(left_text(p) == "1 step of unknown length left");
  p.left_seconds = 2;
  CHECK(left_text(p) == "at least 2.00 s left (1 step of unknown length)");
  p.unknown = 0;
  CHECK(left_text(p) == "about 2.00 s left");
  p.finished = "2026-11-25T00:00:00Z";
  CHECK(left_text(p).empty());
}
