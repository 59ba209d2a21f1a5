#include "core/clock.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("a time of a document in seconds since 1970") {
  CHECK(seconds_since_epoch("1970-01-01T00:00:00Z") == 0);
  CHECK(seconds_since_epoch("1970-01-02T01:01:01Z") == 86400 + 3600 + 60 + 1);
  CHECK(seconds_since_epoch("2026-11-20T14:03:12Z") == 1795183392);
  CHECK(seconds_since_epoch("2024-02-29T23:59:60Z") == 1709251200);  // a leap second
  CHECK(seconds_since_epoch("1969-12-31T23:59:59Z") == -1);
}

TEST_CASE("what is no time") {
  for (const char* text : {"", "2026-11-20", "2026-11-20T14:03:12", "2026-11-20T14:03:12+",
                           "2026-11-20 14:03:12Z", "2026-11-20T14:03:12ZZ", "2026-11-20T24:00:00Z",
                           "2026-11-20T23:60:00Z", "2026-11-20T23:59:61Z", "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-11-31T00:00:00Z",
                           "2026-11-2/T00:00:00Z", "2026-11-2:T00:00:00Z", "-026-11-20T00:00:00Z"})
    CHECK_FALSE_MESSAGE(seconds_since_epoch(text), text);
}

TEST_CASE("now is later than when this was written, and reads back") {
  const auto now = seconds_since_epoch(utc_now());
  REQUIRE(now);
  CHECK(*now > 1763600000);
  CHECK(*seconds_since_epoch(utc_now()) - *now <= 1);
}
