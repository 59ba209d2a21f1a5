// Histories of modules, made by hand and at random.
#include "judge/optics_trend.h"

#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include <fmt/format.h>

using namespace cb;

namespace {

// A document of `optics` on that day of March 2026 with one figure of one module.
Document on_day(int day, const char* figure, double value) {
  Document out;
  out.run.started = fmt::format("2026-03-{:02}T00:00:00Z", day);
  Record record{.case_name = "optics"};
  record.add(figure, record.entity({"n1", "module", "eth0"}), Samples{value});
  out.records.push_back(record);
  return out;
}

constexpr const char* kMargin = "receive_margin_decibels";

}  // namespace

TEST_CASE("a margin that falls by a tenth of a decibel a day, from five documents") {
  std::vector<Document> history;
  for (int day = 1; day <= 5; ++day) history.push_back(on_day(day, kMargin, 3.0 - 0.1 * day));
  const auto trends = optics_trends(history);
  REQUIRE(trends.size() == 1);
  CHECK(trends[0].module.id == "eth0");
  CHECK(trends[0].per_day == doctest::Approx(-0.1));
  CHECK(*trends[0].days == doctest::Approx(25.0));  // 2.5 dB are left on the fifth
  REQUIRE(trends[0].fades());
  CHECK(*trends[0].days_at_least == doctest::Approx(25.0));
}

TEST_CASE("errors are fitted in decades: from 1e-9 to 1e-5 by a tenth of a decade a day") {
  std::vector<Document> history;
  for (int day = 1; day <= 6; ++day)
    history.push_back(on_day(day, "errors_per_bit", std::pow(10, -9 + 0.1 * (day - 1))));
  history.push_back(on_day(7, "errors_per_bit", 0));  // none seen: no point
  const auto trends = optics_trends(history);
  REQUIRE(trends.size() == 1);
  CHECK(trends[0].points == 6);
  CHECK(trends[0].per_day == doctest::Approx(0.1));
  CHECK(*trends[0].days == doctest::Approx(35.0));
}

TEST_CASE("what rises, too few documents and others' records say nothing of an end") {
  std::vector<Document> rising, few;
  for (int day = 1; day <= 6; ++day) rising.push_back(on_day(day, kMargin, 3.0 + 0.1 * day));
  REQUIRE(optics_trends(rising).size() == 1);
  CHECK_FALSE(optics_trends(rising)[0].fades());
  CHECK_FALSE(optics_trends(rising)[0].days.has_value());
  for (int day = 1; day <= 4; ++day) few.push_back(on_day(day, kMargin, 3.0 - 0.1 * day));
  REQUIRE(optics_trends(few).size() == 1);
  CHECK_FALSE(optics_trends(few)[0].fades());  // no interval from four
  few.resize(2);
  CHECK(optics_trends(few).empty());
  rising[0].records[0].entities[0].kind = "nic";
  CHECK(optics_trends(rising)[0].points == 5);
}

TEST_CASE("one reading after cleaning does not hide the others") {
  std::vector<Document> history;
  for (int day = 1; day <= 12; ++day)
    history.push_back(on_day(day, kMargin, day == 7 ? 4.0 : 3.0 - 0.1 * day));
  CHECK(optics_trends(history)[0].fades());
}

TEST_CASE("fading and steady modules over 200 histories of 20 days, 0.2 dB of noise") {
  std::mt19937 random(7);
  std::normal_distribution<double> noise(0, 0.2);
  int found = 0, false_alarms = 0;
  for (int i = 0; i < 200; ++i) {
    std::vector<Document> fading, steady;
    for (int day = 1; day <= 20; ++day) {
      fading.push_back(on_day(day, kMargin, 4 - 0.05 * day + noise(random)));
      steady.push_back(on_day(day, kMargin, 4 + noise(random)));
    }
    found += optics_trends(fading)[0].fades() ? 1 : 0;
    false_alarms += optics_trends(steady)[0].fades() ? 1 : 0;
  }
  MESSAGE("fading by 0.05 dB a day found: ", found, " of 200; false alarms: ", false_alarms);
  CHECK(found >= 190);
  CHECK(false_alarms <= 14);  // one side of 95 %: 5 are expected
}

TEST_CASE("a document that is named five times is one reading") {
  std::vector<Document> history;
  for (int copy = 0; copy < 5; ++copy) {
    history.push_back(on_day(1, kMargin, 3.0));
    history.push_back(on_day(9, kMargin, 1.0));
  }
  CHECK(optics_trends(history).empty());
}

TEST_CASE("a module without light in the newest document of its host is said") {
  std::vector<Document> history;
  for (int day = 1; day <= 5; ++day) history.push_back(on_day(day, kMargin, 3.0));
  CHECK_FALSE(optics_trends(history)[0].outdated);
  history.push_back(on_day(6, "module_celsius", 40));
  REQUIRE(optics_trends(history).size() == 1);
  CHECK(optics_trends(history)[0].outdated);
  history.pop_back();
  history.push_back(on_day(6, kMargin, 3.0));
  history.back().records[0].entities[0].host = "n2";  // of another host
  CHECK_FALSE(optics_trends(history)[0].outdated);
}
