// Requests that arrive over time and one server: times by hand, waiting times of queueing theory,
// and a stall that shows in the latency of all who waited.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/stats.h"
#include "model/training/arrivals.h"

using namespace cb;
using namespace cb::training;

namespace {

// A clock that only generations and waiting move on.
class TimedServer final : public Server {
 public:
  TimedServer(double first_token, double whole) : first_token_(first_token), whole_(whole) {}

  double now() override { return now_; }
  bool wait_until(double moment) override {
    now_ = moment;
    return true;
  }
  std::optional<Serving> generate(size_t first, size_t count) override {
    if (generations_ == stops_before) return std::nullopt;
    const double stall = stalls.count(generations_) != 0 ? stalls.at(generations_) : 0;
    ++generations_;
    const Serving out{first, count, now_, now_ + first_token_ + stall, now_ + whole_ + stall};
    now_ = out.end;
    return out;
  }

  std::map<int, double> stalls = {};  // seconds, by the number of the generation
  int stops_before = -1;

 private:
  double first_token_, whole_;
  double now_ = 0;
  int generations_ = 0;
};

double mean_wait(double rate, double service_seconds, int64_t count, size_t most = 1) {
  const auto arrivals = poisson_arrivals(rate, count, 11);
  TimedServer server(service_seconds / 2, service_seconds);
  return mean(request_times(arrivals, serve(arrivals, most, server), 2).queueing);
}

}  // namespace

TEST_CASE("times of requests by hand: those that wait are taken together, in their order") {
  const std::vector<double> arrivals{1, 1.5, 2, 2.5, 20};
  TimedServer server(1, 4);
  const auto servings = serve(arrivals, 2, server);
  // 1 alone until 5; 1.5 and 2 until 9; 2.5 alone until 13; 20 after an idle time.
  REQUIRE(servings.size() == 4);
  CHECK(servings[1].first == 1);
  CHECK(servings[1].count == 2);
  CHECK(servings[2].count == 1);
  const RequestTimes times = request_times(arrivals, servings, 4);
  CHECK(times.queueing == std::vector<double>{0, 3.5, 3, 6.5, 0});
  CHECK(times.first_token == std::vector<double>{1, 4.5, 4, 7.5, 1});
  CHECK(times.whole == std::vector<double>{4, 7.5, 7, 10.5, 4});
  CHECK(times.each_token == std::vector<double>(5, 1));  // three tokens in three seconds
  const ServedLoad load = served_load(arrivals, servings);
  CHECK(load.offered_per_second == doctest::Approx(5 / 20.0));
  CHECK(load.achieved_per_second == doctest::Approx(5 / 24.0));
  CHECK(load.busy_share == doctest::Approx(16 / 24.0));
}

TEST_CASE("arrivals are those of a Poisson process, and of their seed") {
  const auto arrivals = poisson_arrivals(5, 200000, 3);
  CHECK(arrivals == poisson_arrivals(5, 200000, 3));
  CHECK(arrivals != poisson_arrivals(5, 200000, 4));
  std::vector<double> gaps{arrivals.front()};
  for (size_t i = 1; i < arrivals.size(); ++i) gaps.push_back(arrivals[i] - arrivals[i - 1]);
  // Mean and deviation of an exponential gap are 1/rate; 200,000 gaps know both within 1 %.
  CHECK(mean(gaps) == doctest::Approx(0.2).epsilon(0.01));
  CHECK(*standard_deviation(gaps) == doctest::Approx(0.2).epsilon(0.01));
  CHECK(*std::min_element(gaps.begin(), gaps.end()) >= 0);
  // A gap tells nothing of the next.
  double together = 0;
  for (size_t i = 1; i < gaps.size(); ++i) together += (gaps[i] - 0.2) * (gaps[i - 1] - 0.2);
  CHECK(std::abs(together / 200000 / 0.04) < 0.01);
}

TEST_CASE("one at a time the mean wait is that of M/D/1, ρ/(2μ(1−ρ))") {
  const double service = 0.1, mu = 10;
  for (const double rho : {0.2, 0.5, 0.8}) {
    const double theory = rho / (2 * mu * (1 - rho));
    CHECK(mean_wait(rho * mu, service, 400000) == doctest::Approx(theory).epsilon(0.03));
  }
}

TEST_CASE("many taken together wait less, and no request waits where none comes close") {
  CHECK(mean_wait(8, 0.1, 50000, 4) < 0.5 * mean_wait(8, 0.1, 50000, 1));
  CHECK(mean_wait(1e-3, 0.1, 1000) < 1e-4);
}

TEST_CASE("beyond the capacity the wait grows with the number of requests") {
  CHECK(service_capacity(std::vector<double>{0.1, 0.3}, 4) == doctest::Approx(4 / 0.2));
  const double few = mean_wait(15, 0.1, 1000), many = mean_wait(15, 0.1, 10000);
  CHECK(many > 8 * few);
}

// A loop that sends a request when it has time for it would see one slow answer.
TEST_CASE("a stall in one generation is in the latency of every request that came meanwhile") {
  std::vector<double> arrivals;
  for (int i = 0; i < 100; ++i) arrivals.push_back(1 + i);
  TimedServer calm(0.1, 0.2), stalled(0.1, 0.2);
  stalled.stalls[50] = 10;  // of the request that comes at 51
  const auto a = request_times(arrivals, serve(arrivals, 1, calm), 3);
  const auto b = request_times(arrivals, serve(arrivals, 1, stalled), 3);
  CHECK(*std::max_element(a.first_token.begin(), a.first_token.end()) == doctest::Approx(0.1));
  CHECK(b.first_token[49] == doctest::Approx(0.1));
  CHECK(b.first_token[50] == doctest::Approx(10.1));
  CHECK(b.first_token[51] == doctest::Approx(9.3));  // came at 52, begun at 61.2
  CHECK(b.first_token[52] == doctest::Approx(8.5));
  int late = 0;
  for (const double t : b.first_token) late += t > 0.2;
  CHECK(late == 13);  // 10 s of stall, worked off at 0.8 s a request
  CHECK(b.first_token.back() == doctest::Approx(0.1));
}

TEST_CASE("a server that stops leaves the times of those it served") {
  const std::vector<double> arrivals{1, 2, 3};
  TimedServer server(1, 2);
  server.stops_before = 2;
  const auto servings = serve(arrivals, 1, server);
  CHECK(servings.size() == 2);
  CHECK(request_times(arrivals, servings, 2).whole.size() == 2);
}
