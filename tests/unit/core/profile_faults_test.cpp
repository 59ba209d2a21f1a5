// What a profile says of hosts that are replaced, and of jobs that are started again.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "core/profile.h"

using namespace cb;
using nlohmann::json;

namespace {

const json kAgreed = {{"hosts", 128},
                      {"replaced_at_most", 2},
                      {"why", "w"},
                      {"source", {{"kind", "contract"}, {"ref", "r"}, {"date", "2026-11"}}}};

Profile with_delivery(const json& delivery) {
  const json profile = {
      {"schema", "clusterbench.profile/1"}, {"name", "p"}, {"delivery", delivery}};
  return parse_resolved_profile(profile.dump(), "p");
}

Step with_step(const json& more) {
  json step = {{"id", "s"}, {"case", "gemm"}};
  step.update(more);
  const json profile = {
      {"schema", "clusterbench.profile/1"}, {"name", "p"}, {"steps", json::array({step})}};
  return parse_resolved_profile(profile.dump(), "p").steps.at(0);
}

json changed(const std::string& key, const json& value) {
  json out = kAgreed;
  out[key] = value;
  return out;
}

}  // namespace

TEST_CASE("a delivery has its numbers, its reason and its source") {
  const Profile p = with_delivery(kAgreed);
  REQUIRE(p.delivery);
  CHECK(p.delivery->hosts == 128);
  CHECK(p.delivery->replaced_at_most == 2);
  CHECK(p.delivery->source.kind == "contract");
  for (const char* key : {"hosts", "replaced_at_most", "why", "source"}) {
    json lacking = kAgreed;
    lacking.erase(key);
    CHECK_THROWS_AS_MESSAGE(with_delivery(lacking), UsageError, key);
  }
  CHECK_THROWS_AS(with_delivery(changed("hosts", 0)), UsageError);
  CHECK_THROWS_AS(with_delivery(changed("replaced_at_most", -1)), UsageError);
  CHECK_THROWS_AS(with_delivery(changed("replaced_at_most", 1.5)), UsageError);
  CHECK_NOTHROW(with_delivery(changed("replaced_at_most", 127)));
  CHECK_THROWS_AS(with_delivery(changed("replaced_at_most", 128)),
                  UsageError);  // nobody would stay
  CHECK_THROWS_AS(with_delivery(changed("spares", 1)), UsageError);
}

TEST_CASE("retries, and deadlines for start and progress") {
  const Step plain = with_step(json::object());
  CHECK(plain.retries == 0);
  CHECK(plain.stall_seconds == 0);
  const Step s = with_step(
      {{"retries", 2}, {"retry_on", "deadline"}, {"start_deadline", "1m"}, {"stall", "30s"}});
  CHECK(s.retries == 2);
  CHECK_FALSE(s.retry_failed);
  CHECK(s.retry_deadline);
  CHECK(s.start_deadline_seconds == 60);
  CHECK(s.stall_seconds == 30);
  CHECK_NOTHROW(with_step({{"retries", 10}}));
  CHECK_THROWS_AS(with_step({{"retries", 11}}), UsageError);
  CHECK_THROWS_AS(with_step({{"retry_on", "failed"}}), UsageError);  // without retries
  CHECK_THROWS_AS(with_step({{"retries", 1}, {"retry_on", "wrong"}}), UsageError);
  CHECK_THROWS_AS(with_step({{"start_deadline", "11m"}}), UsageError);  // beyond the deadline
  CHECK_NOTHROW(with_step({{"start_deadline", "10m"}}));
}
