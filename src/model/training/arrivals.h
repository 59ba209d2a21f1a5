#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

// Requests that arrive over time, whether or not earlier ones are answered, and one server that
// takes them in their order. Pure: the clock is the server's. docs/methods/infer-load.md.
namespace cb::training {

// Seconds after the beginning at which `count` requests arrive: independent exponential gaps with a
// mean of 1/rate. The same seed gives the same arrivals.
std::vector<double> poisson_arrivals(double rate, int64_t count, uint64_t seed);

// One generation: the requests that it took, and its moments in seconds after the beginning.
struct Serving {
  size_t first = 0;  // of the arrivals
  size_t count = 0;
  double begin = 0;
  double first_token = 0;
  double end = 0;
};

class Server {
 public:
  virtual ~Server() = default;
  virtual double now() = 0;
  // Waits until then or a little less; false: it serves no more.
  virtual bool wait_until(double moment) = 0;
  // Generates that many to their end. Nothing: it serves no more.
  virtual std::optional<Serving> generate(size_t first, size_t count) = 0;
};

// First come, first served: a free server takes all that wait, at most `most`. Returns less than
// all requests where the server stopped.
std::vector<Serving> serve(std::span<const double> arrivals, size_t most, Server& server);

// Of each request in the order of arrival. Every time but the last begins with the planned arrival,
// so that a request that waited while nobody looked has waited.
struct RequestTimes {
  std::vector<double> queueing;     // until its generation begins
  std::vector<double> first_token;  // until its first new token
  std::vector<double> whole;        // until its last
  std::vector<double> each_token;   // of the tokens behind the first: from the first to the last
};

// `new_tokens`: of each request, at least two. `servings` may end early.
RequestTimes request_times(std::span<const double> arrivals, std::span<const Serving> servings,
                           int64_t new_tokens);

// What was asked of the server and what it did.
struct ServedLoad {
  double offered_per_second = 0;   // requests over the moment of the last arrival
  double achieved_per_second = 0;  // requests over the moment of the last answer
  double busy_share = 0;           // of that time
};
ServedLoad served_load(std::span<const double> arrivals, std::span<const Serving> servings);

// Requests per second that a server takes at most: full generations back to back. `seconds`: of
// generations of `most` sequences. The mean, because a queue feels each of them.
double service_capacity(std::span<const double> seconds, size_t most);

}  // namespace cb::training
