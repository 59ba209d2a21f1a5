#include "sys/net/reception.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include <doctest/doctest.h>

#include "core/clock.h"
#include "core/error.h"
#include "sys/net/tcp_socket.h"

using namespace cb;

namespace {

constexpr size_t kGreeting = 8;
const std::string kToken = "token";

// A reception at this machine's loopback under a clock that the test moves.
struct Place {
  Reception reception{{"127.0.0.1"}, kToken, kGreeting};
  double now = 100;
  std::vector<Reception::Arrival> arrived = {};

  Socket connect(const std::string& words = "") const {
    Socket out = connect_to("127.0.0.1", reception.doors().at(0).port, "", 20, 0);
    CHECK(write_some(out, words) == static_cast<long>(words.size()));
    return out;
  }
  std::vector<Watched> watched() const {
    std::vector<Watched> out;
    reception.watch(out, now);
    return out;
  }
  void serve(double wait_seconds = 1) {
    auto sockets = watched();
    wait_for_any(sockets, wait_seconds);
    for (auto& a : reception.serve(sockets, now)) arrived.push_back(std::move(a));
  }
  // Until something holds; what it waits for is under way in the kernel.
  template <typename Condition>
  bool serve_until(Condition holds) {
    const double end = monotonic_seconds() + 20;
    while (!holds() && monotonic_seconds() < end) serve(0.01);
    return holds();
  }
  bool door_watched() const { return watched().at(0).fd >= 0; }
};

bool is_closed(const Socket& socket) {
  std::vector<Watched> one{{.fd = socket.fd()}};
  wait_for_any(one, 20);
  char byte = 0;
  return one[0].readable && read_some(socket, &byte, 1) < 0;
}

// No descriptor is free as long as this lives.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int free = dup(0);  // the lowest
    close(free);
    rlimit none = before_;
    none.rlim_cur = static_cast<rlim_t>(free);
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

}  // namespace

TEST_CASE("Who greets with the token is let in with his whole greeting, in however many pieces") {
  Place place;
  const Socket whole = place.connect("token 01");
  CHECK(place.serve_until([&] { return place.arrived.size() == 1; }));
  CHECK(place.arrived[0].greeting == "token 01");

  const Socket pieces = place.connect("tok");
  CHECK(place.serve_until([&] { return place.reception.guests() == 1; }));
  CHECK(write_some(pieces, "en 02 and what follows") == 22);
  CHECK(place.serve_until([&] { return place.arrived.size() == 2; }));
  CHECK(place.arrived[1].greeting == "token 02");
  char rest[32];
  CHECK(read_some(place.arrived[1].socket, rest, sizeof rest) == 17);
  CHECK(place.reception.guests() == 0);
}

TEST_CASE("The first wrong byte of a greeting ends it") {
  Place place;
  const Socket stranger = place.connect("tokem 01");
  const Socket other = place.connect("G");
  place.serve();
  CHECK(place.serve_until([&] { return place.reception.guests() == 0; }));
  CHECK(is_closed(stranger));
  CHECK(is_closed(other));
  CHECK(place.arrived.empty());
}

TEST_CASE("Who has begun to greet has two seconds for it") {
  Place place;
  const Socket stranger = place.connect("t");
  CHECK(place.serve_until([&] { return place.reception.guests() == 1; }));
  place.now += Reception::kGreetingSeconds;
  place.serve(0);
  CHECK(place.reception.guests() == 1);
  place.now += 0.01;
  place.serve(0);
  CHECK(place.reception.guests() == 0);
  CHECK(is_closed(stranger));
}

TEST_CASE("However many strangers are there: 64 have a place, and ours gets one all the same") {
  Place place;
  std::vector<Socket> strangers;
  for (int i = 0; i < 300; ++i) strangers.push_back(place.connect());
  CHECK(place.serve_until([&] { return place.reception.guests() == Reception::kMaxGuests; }));
  const Socket ours = place.connect("token 01");
  // The door is closed to more until those who sit there have been silent for a while.
  CHECK_FALSE(place.door_watched());
  place.serve(0);
  CHECK(place.arrived.empty());
  size_t most = 0, turns = 0;
  CHECK(place.serve_until([&] {
    place.now += Reception::kCrowdedSeconds;
    most = std::max(most, place.reception.guests());
    ++turns;
    return !place.arrived.empty();
  }));
  CHECK(most <= Reception::kMaxGuests);
  CHECK(turns <= 20);  // 300 strangers, 64 a turn, with a rest between
}

TEST_CASE("A crowd that comes and goes is looked at ten times a second, 64 at a time") {
  Place place;
  std::vector<Socket> strangers;
  for (int i = 0; i < 200; ++i) strangers.push_back(place.connect("scan"));
  place.serve();
  size_t closed = 0;
  for (const Socket& s : strangers) {
    std::vector<Watched> one{{.fd = s.fd()}};
    wait_for_any(one, 0);
    closed += one[0].readable;
  }
  CHECK(closed == Reception::kMaxGuests);
  CHECK_FALSE(place.door_watched());
  place.now += 0.2;
  CHECK(place.door_watched());
}

TEST_CASE("Without a free descriptor the door is left alone for a while, and nobody is kept") {
  Place place;
  const Socket guest = place.connect();
  CHECK(place.serve_until([&] { return place.reception.guests() == 1; }));
  const Socket ours = place.connect("token 01");
  {
    const NoDescriptors none;
    CHECK(place.serve_until([&] { return !place.door_watched(); }));
    CHECK(place.reception.guests() == 0);
    place.serve(0);
    CHECK(place.arrived.empty());
  }
  CHECK_FALSE(place.door_watched());
  place.now += 0.2;
  CHECK(place.serve_until([&] { return place.arrived.size() == 1; }));
}

TEST_CASE("A door is at its own address and at no other one of this machine") {
  const Place place;
  CHECK_NOTHROW(place.connect());
  const int port = place.reception.doors().at(0).port;
  CHECK_THROWS_WITH(connect_to("127.0.0.2", port, "", 20, 0), "Connection refused");
}

TEST_CASE("A closed reception listens no more, and one without an address is refused") {
  Place place;
  const Socket guest = place.connect();
  CHECK(place.serve_until([&] { return place.reception.guests() == 1; }));
  place.reception.close();
  CHECK(is_closed(guest));
  CHECK_THROWS_WITH(place.connect(), "Connection refused");
  CHECK(place.watched().empty());
  CHECK_THROWS_AS(Reception({}, kToken, kGreeting), Error);
  CHECK_THROWS_AS(Reception({"192.0.2.1"}, kToken, kGreeting), Error);
  const Reception partly({"192.0.2.1", "127.0.0.1"}, kToken, kGreeting);
  REQUIRE(partly.doors().size() == 1);
  CHECK(partly.doors()[0].address == "127.0.0.1");
}
