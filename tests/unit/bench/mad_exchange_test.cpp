// Datagrams in flight against a wire that drops, delays, refuses and forgets.
#include <deque>
#include <set>

#include <doctest/doctest.h>

#include "bench/network/subnet/mad_exchange.h"
#include "bench/network/subnet/walk.h"

using namespace cb;
using namespace cb::net;

namespace {

enum class Mood { answers, drops, silent, refuses };

class StubWire : public MadWire {
 public:
  Mood mood = Mood::answers;
  int drop_first = 0;
  size_t in_flight = 0, most_in_flight = 0;
  int sent = 0;

  void send(const MadQuestion&, const Mad& mad, int) override {
    ++sent;
    most_in_flight = std::max(most_in_flight, ++in_flight);
    queue_.push_back(mad);
  }
  std::optional<MadArrival> receive(int) override {
    if (queue_.empty() || mood == Mood::silent) return std::nullopt;
    MadArrival out{queue_.front(), mood == Mood::drops || sent <= drop_first};
    queue_.pop_front();
    --in_flight;
    if (mood == Mood::refuses) out.mad[5] = 0x0c;
    return out;
  }

 private:
  std::deque<Mad> queue_;
};

struct Heard {
  int answered = 0, refused = 0, silent = 0;
  std::string why;
};

Heard ask(StubWire& wire, MadLimits limits, int questions, MadTally* tally = nullptr) {
  Heard out;
  MadExchange exchange(wire, limits, [] {});
  for (int i = 0; i < questions; ++i) {
    exchange.ask({.path = {1, static_cast<uint8_t>(i)}}, [&](const MadAnswer& answer) {
      (answer.mad ? out.answered : answer.refused ? out.refused : out.silent) += 1;
      if (!answer.mad) out.why = answer.why;
    });
  }
  exchange.run();
  if (tally != nullptr) *tally = exchange.tally();
  return out;
}

}  // namespace

TEST_CASE("every question has its answer, and the window is kept") {
  StubWire wire;
  CHECK(ask(wire, {.window = 8, .largest_window = 8}, 200).answered == 200);
  CHECK(wire.sent == 200);
  CHECK(wire.most_in_flight == 8);
}

TEST_CASE("one destination has no more in flight than its limit") {
  StubWire wire;
  MadExchange exchange(wire, {.window = 50, .per_destination = 2}, [] {});
  int answered = 0;
  for (int i = 0; i < 20; ++i) exchange.ask({.path = {1}}, [&](const MadAnswer&) { ++answered; });
  exchange.run();
  CHECK(answered == 20);
  CHECK(wire.most_in_flight == 2);
}

TEST_CASE("what is dropped is asked again, up to the number of tries") {
  StubWire wire;
  wire.drop_first = 5;
  MadTally tally;
  CHECK(ask(wire, {.tries = 8, .window = 1, .largest_window = 1}, 1, &tally).answered == 1);
  CHECK(tally.sent == 6);
  CHECK(tally.timed_out == 5);
  StubWire dead;
  dead.mood = Mood::drops;
  const Heard heard = ask(dead, {.tries = 3}, 2);
  CHECK(heard.silent == 2);
  CHECK(dead.sent == 6);
  CHECK(heard.why.find("3 tries") != std::string::npos);
}

TEST_CASE("a kernel that forgets is not waited for, nor anything beyond the limit of all") {
  StubWire wire;
  wire.mood = Mood::silent;
  CHECK(ask(wire, {.timeout_ms = 1, .tries = 2}, 3).silent == 3);
  StubWire slow;
  slow.mood = Mood::silent;
  const Heard heard = ask(slow, {.timeout_ms = 100, .tries = 1000, .total_seconds = 0.05}, 3);
  CHECK(heard.silent == 3);
  CHECK(heard.why.find("limit") != std::string::npos);
}

TEST_CASE("an answer with an error is not asked again") {
  StubWire wire;
  wire.mood = Mood::refuses;
  const Heard heard = ask(wire, {}, 4);
  CHECK(heard.refused == 4);
  CHECK(heard.why == "attribute not supported");
  CHECK(wire.sent == 4);
}

TEST_CASE("a subnet that answers nobody is walked to an end") {
  StubWire wire;
  wire.mood = Mood::drops;
  MadExchange exchange(wire, {.tries = 2}, [] {});
  CHECK(walk_subnet(exchange, 0).net.nodes.empty());
}
