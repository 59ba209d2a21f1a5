#include <doctest/doctest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <numeric>
#include <thread>
#include <utility>

#include "bench/network/tcp/endpoint.h"
#include "bench/network/tcp/payload.h"
#include "bench/network/tcp/plan.h"
#include "bench/network/tcp/setup.h"
#include "bench/network/tcp/transfer.h"

using namespace cb;
using namespace cb::tcp;

namespace {

// What both ends of a transfer over this machine's loopback say: the pair's sender, its receiver.
std::pair<net::PairOutcome, net::PairOutcome> transfer(const Spec& sender, const Spec& receiver,
                                                       double deadline = 60, size_t cpus = 2) {
  const CancelToken cancel;
  const auto end = [&](const Spec& spec, bool sends) {
    const net::PairJob job{{.peer = sends ? 1 : 0, .sends = sends}, 0, "a → b"};
    return std::make_unique<TcpEndpoint>(
        spec, job,
        EndpointPlace{{.interface = "lo"}, {.host = sends ? "a" : "b", .network = "same"}, cpus},
        cancel);
  };
  const auto from = end(sender, true), to = end(receiver, false);
  from->connect(to->address(), deadline);
  to->connect(from->address(), deadline);
  auto other = std::async(std::launch::async, [&] { return to->run(deadline); });
  auto mine = from->run(deadline);
  return {std::move(mine), other.get()};
}

// Both ends of a connection inside this process.
struct Pipe {
  int here = -1, there = -1;
  Pipe() {
    int both[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, both) == 0);
    here = both[0];
    there = both[1];
    prepare(here);
    prepare(there);
  }
  ~Pipe() {
    close(here);
    if (there >= 0) close(there);
  }
  static void prepare(int fd) {
    const timeval slice{0, 20000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &slice, sizeof slice);
  }
};

Spec short_spec() {
  return {.streams = 2, .seconds = 0.5, .repetitions = 4, .zero_copy = ZeroCopy::off};
}

}  // namespace

TEST_CASE("a fault can be planted where data arrives in one of the points") {
  const RankMap place{.host = "n", .hosts = {"n"}, .host_of_rank = {0, 0, 0}};
  const auto receiving = [&](const GivenParams& given) {
    Problems problems;
    const auto points = tcp::plan(resolve_params(tcp::params(), given, problems));
    REQUIRE(problems.empty());
    return net::receiving_ranks(tcp::arrivals(points), net::nodes_of(place), 1);
  };
  using Ranks = std::vector<int>;
  CHECK(receiving({{"test", {"bandwidth"}}}) == Ranks{1});
  CHECK(receiving({{"test", {"bandwidth"}}, {"direction", {"two-way"}}}) == Ranks{0, 1});
  CHECK(receiving({{"test", {"latency"}}}) == Ranks{0, 1});
  CHECK(receiving({{"test", {"bandwidth"}}, {"schedule", {"pair,incast"}}}) == Ranks{0, 1});
}

TEST_CASE("A stream's payload is known byte by byte from any position") {
  std::vector<std::byte> whole(1000), part(101);
  fill_stream(whole, 0, 7);
  for (const uint64_t offset : {0, 1, 7, 8, 63, 899}) {
    fill_stream(part, offset, 7);
    CHECK(std::equal(part.begin(), part.end(), whole.begin() + static_cast<long>(offset)));
    CHECK_FALSE(first_wrong(part, offset, 7).has_value());
    CHECK(first_wrong(part, offset, 8).has_value());
    CHECK(first_wrong(part, offset + 1, 7).has_value());
  }
  for (const size_t at : {size_t{0}, size_t{5}, size_t{100}}) {
    fill_stream(part, 13, 7);
    part[at] ^= std::byte{0x80};
    CHECK(first_wrong(part, 13, 7) == 13 + at);
  }
}

TEST_CASE("Both ends of a transfer know the same bandwidth, one sample a repetition") {
  for (const bool two_way : {false, true}) {
    CAPTURE(two_way);
    Spec spec = short_spec();
    spec.two_way = two_way;
    const auto [from, to] = transfer(spec, spec);
    REQUIRE(from.failure == "");
    REQUIRE(to.failure == "");
    CHECK(!from.bytes_per_second.empty());
    CHECK(from.bytes_per_second.size() <= 4);
    REQUIRE(from.bytes_per_second.size() == to.bytes_per_second.size());
    for (size_t i = 0; i < from.bytes_per_second.size(); ++i)
      CHECK(from.bytes_per_second[i] == doctest::Approx(to.bytes_per_second[i]));
    CHECK(std::accumulate(from.bytes_per_second.begin(), from.bytes_per_second.end(), 0.0) > 0);
    CHECK_FALSE(from.wrong_data.has_value());
    CHECK(from.extra.contains("retransmits"));
    CHECK(to.extra.contains("reverse_retransmits") == two_way);
    CHECK(from.facts.at("zero_copy") == "off");
  }
}

TEST_CASE("What the receiving end throws away is sent again, and nothing is missing or wrong") {
  Spec spec = short_spec();
  spec.verify = true;
  double share = 1;  // a busy machine sends too early now and then
  for (int attempt = 0; attempt < 5 && share >= 0.01; ++attempt) {
    const auto [whole_from, whole_to] = transfer(spec, spec);
    REQUIRE(whole_from.failure == "");
    share = std::min(share, whole_from.extra.at("retransmitted_share"));
  }
  CHECK(share < 0.01);

  spec.loss = 0.05;
  const auto [from, to] = transfer(spec, spec);
  REQUIRE(from.failure == "");
  REQUIRE(to.failure == "");
  CHECK(to.wrong_data == "");
  CHECK(from.extra.at("retransmits") > 0);
  CHECK(from.extra.at("retransmitted_share") > 0.01);  // of hundreds of blocks at least
  CHECK(from.extra.at("retransmitted_share") < 0.3);
  CHECK_FALSE(to.extra.contains("retransmitted_share"));  // one-way, it sends nothing
  // To ask for ECN is a setting of the system.
  CHECK((from.facts.at("ecn") == "not agreed") == !from.extra.contains("ecn_echo_share"));
}

TEST_CASE("Streams that share threads arrive whole, each with bytes of its own") {
  for (const size_t cpus : {1, 2, 8}) {
    CAPTURE(cpus);
    Spec spec = short_spec();
    spec.seconds = 0.2;
    spec.streams = 5;
    spec.two_way = spec.verify = true;
    const auto [from, to] = transfer(spec, spec, 60, cpus);
    REQUIRE(from.failure == "");
    REQUIRE(to.failure == "");
    CHECK(from.wrong_data == "");
    CHECK(to.wrong_data == "");
    CHECK(!to.bytes_per_second.empty());
    CHECK(from.facts.at("threads") == std::to_string(std::min<size_t>(cpus, 5)) + " for 5 streams");
    for (const char* name : {"send_cpu_per_gigabit_seconds", "receive_cpu_per_gigabit_seconds"})
      CHECK(from.extra.at(name) > 0);

    Spec bad = spec;
    bad.corrupt = true;
    const auto [sender, receiver] = transfer(spec, bad, 60, cpus);
    CHECK(receiver.wrong_data.value_or("").text().find("stream 1 is wrong from byte") !=
          std::string::npos);
    CHECK(sender.wrong_data == "");
  }
}

TEST_CASE("Streams that share a thread: one that stands still or breaks holds up no other") {
  const Spec spec = short_spec();
  TransferControl control;
  Pipe still, broken, good;
  close(std::exchange(broken.there, -1));
  Sender a(still.here, spec, 1, control), b(broken.here, spec, 2, control),
      c(good.here, spec, 3, control);
  Receiver d(good.there, spec, 3, control);
  StreamThread sending({&a, &b, &c}, spec, control), receiving({&d}, spec, control);
  receiving.start();
  sending.start();
  constexpr uint64_t kMuch = 32U << 20U;
  for (int i = 0; i < 1000 && d.bytes() < kMuch; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  CHECK(d.bytes() >= kMuch);
  CHECK(a.bytes() > 0);
  CHECK(a.bytes() < kMuch);  // what the sockets hold
  CHECK(b.finished());
  CHECK(b.failure() == "Broken pipe");
  CHECK(!a.finished());
  control.phase = Phase::over;
  sending.join();
  receiving.join();
  CHECK(a.finished());
  CHECK(a.failure() == "");
  CHECK(c.bytes() == d.bytes());
  uint64_t counted = 0;
  for (const Phase p : {Phase::warm_up, Phase::over}) counted += sending.counters().of(p).bytes;
  CHECK(counted == a.bytes() + c.bytes());
}

TEST_CASE("A CPU that several ranks may use is no rank's alone") {
  const std::vector<int> two{0, 1}, eight{0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(cpus_per_rank({{"m", two}}) == std::vector<size_t>{2});
  CHECK(cpus_per_rank({{"m", two}, {"m", two}}) == std::vector<size_t>{1, 1});
  CHECK(cpus_per_rank({{"m", two}, {"n", two}}) == std::vector<size_t>{2, 2});
  CHECK(cpus_per_rank({{"m", {0}}, {"m", {1}}}) == std::vector<size_t>{1, 1});
  // 8 / 3 each; three thirds are one.
  CHECK(cpus_per_rank({{"m", eight}, {"m", eight}, {"m", eight}}) == std::vector<size_t>{2, 2, 2});
  CHECK(cpus_per_rank({{"m", {0, 1, 2}}, {"m", {0, 1, 2}}, {"m", {0, 1, 2}}}) ==
        std::vector<size_t>{1, 1, 1});
  // More ranks than CPUs, and one that takes no part.
  CHECK(cpus_per_rank({{"m", {0}}, {"m", {0}}, {"m", {}}}) == std::vector<size_t>{1, 1, 1});
  // A rank bound to two of four CPUs that another may use all of: 1/2 + 1/2, and 1 + 1 + 1/2 + 1/2.
  CHECK(cpus_per_rank({{"m", two}, {"m", {0, 1, 2, 3}}}) == std::vector<size_t>{1, 3});

  CHECK(threads_for(4, 1) == 1);
  CHECK(threads_for(4, 3) == 3);
  CHECK(threads_for(4, 4) == 4);
  CHECK(threads_for(4, 64) == 4);
  CHECK(threads_for(4, 0) == 1);
}

TEST_CASE("With own_rate each end tells what arrives at it") {
  Spec spec = short_spec();
  spec.two_way = spec.own_rate = true;
  const auto [from, to] = transfer(spec, spec);
  REQUIRE(from.failure == "");
  REQUIRE(to.failure == "");
  CHECK(from.bytes_per_second != to.bytes_per_second);
}

TEST_CASE("A wrong byte is found at the end that it came to") {
  for (const bool latency : {false, true}) {
    CAPTURE(latency);
    Spec good = short_spec();
    good.latency = latency;
    good.verify = true;
    good.bytes = latency ? 100 : 65536;
    const auto [from, to] = transfer(good, good);
    CHECK(to.failure == "");
    CHECK(to.wrong_data == "");
    Spec bad = good;
    bad.corrupt = true;
    const auto [sender, receiver] = transfer(good, bad);
    CHECK(receiver.wrong_data.value_or("").text().find("wrong from byte") != std::string::npos);
    CHECK(sender.failure == "");
  }
}

TEST_CASE("Latency is a histogram of half round trips at the sender") {
  Spec spec{.latency = true, .bytes = 64, .seconds = 0.1};
  for (const bool spin : {false, true}) {
    spec.spin = spin;
    const auto [from, to] = transfer(spec, spec);
    REQUIRE(from.failure == "");
    CHECK(to.failure == "");
    CHECK(from.latency_seconds.count() > 0);
    CHECK(from.latency_seconds.min() > 0);
    CHECK(to.latency_seconds.count() == 0);
  }
}

TEST_CASE("A peer that never comes costs its pair a deadline and is named") {
  const CancelToken cancel;
  const net::PairJob job{{.peer = 0, .sends = false}, 0, "a → b"};
  TcpEndpoint alone(short_spec(), job, {{}, {.host = "b", .network = "x"}}, cancel);
  alone.connect(Address{.host = "a", .network = "x"}.text(), 1);
  const auto outcome = alone.run(0.3);
  CHECK(outcome.failure ==
        "no connection from a: deadline passed; next: look at its links and its kernel log");
  CHECK_FALSE(outcome.figure(PairMeasure::bandwidth).value.has_value());

  // Nobody listens at port 1 of this machine's loopback.
  const net::PairJob sending{{.peer = 1, .sends = true}, 0, "a → b"};
  TcpEndpoint sender(short_spec(), sending, {{}, {.host = "a", .network = "x"}}, cancel);
  sender.connect(Address{.host = "b", .network = "y", .doors = {{"127.0.0.2", 1}}}.text(), 1);
  CHECK(sender.run(5).failure.text().find("no connection to b (127.0.0.2: Connection refused)") ==
        0);
}

TEST_CASE("Strangers at the port cost the transfer nothing") {
  const CancelToken cancel;
  const net::PairJob receiving{{.peer = 0, .sends = false}, 0, "a → b"};
  const net::PairJob sending{{.peer = 1, .sends = true}, 0, "a → b"};
  const EndpointPlace place{{.interface = "lo"}, {.host = "b", .network = "same"}};
  TcpEndpoint to(short_spec(), receiving, place, cancel),
      from(short_spec(), sending, place, cancel);
  from.connect(to.address(), 1);
  to.connect(from.address(), 1);
  // They come first: some say nothing, some begin as one of ours would, some say something else.
  const Address door = Address::parse(to.address());
  const std::string token(reinterpret_cast<const char*>(&door.token), sizeof door.token);
  std::vector<Socket> strangers;
  for (const std::string& word : {std::string(), token.substr(0, 1), std::string("GET / HTTP")}) {
    for (int i = 0; i < 100; ++i) {
      strangers.push_back(connect_to(kLoopback, door.doors.at(0).port, "", 5, 0));
      REQUIRE(send(strangers.back().fd(), word.data(), word.size(), MSG_NOSIGNAL) ==
              static_cast<ssize_t>(word.size()));
    }
  }
  auto other = std::async(std::launch::async, [&] { return to.run(60); });
  CHECK(from.run(60).failure == "");
  CHECK(other.get().failure == "");
  // And nobody is listened to any more.
  CHECK_THROWS_WITH(connect_to(kLoopback, door.doors.at(0).port, "", 5, 0), "Connection refused");
}

TEST_CASE("A transfer that a peer leaves says who left") {
  Spec spec = short_spec();
  spec.streams = 1;
  Spec other = spec;
  other.latency = true;  // stands for a peer that does something else: it ends at once
  const auto [from, to] = transfer(spec, other, 2);
  CHECK(!from.failure.empty());
  CHECK(from.failure.text().find("b (127.0.0.1)") != std::string::npos);
}

TEST_CASE("Addresses survive the way to the peer") {
  const Address a{"n1", "boot-net:[1]", ~uint64_t{0}, {{"10.0.0.1", 40123}, {"fd00::1", 40124}}};
  const Address b = Address::parse(a.text());
  CHECK(b.host == a.host);
  CHECK(b.network == a.network);
  CHECK(b.token == a.token);
  REQUIRE(b.doors.size() == 2);
  CHECK(b.doors[0].address == "10.0.0.1");
  CHECK(b.doors[0].port == 40123);
  CHECK(b.doors[1].address == "fd00::1");
  CHECK(b.doors[1].port == 40124);
  CHECK_THROWS_AS(Address::parse("n1 x 7 10.0.0.1"), Error);
  CHECK_THROWS_AS(Address::parse("n1 x"), Error);
}

TEST_CASE("Fast interfaces come first and addresses that several hosts have are left out") {
  const std::vector<std::vector<Candidate>> hosts{
      {{"docker0", "172.17.0.1", 0},
       {"eth0", "10.0.0.1", 1e9},
       {"ib0", "fd00::1", 4e11},
       {"ib0", "10.1.0.1", 4e11}},
      {{"docker0", "172.17.0.1", 0}, {"eth0", "10.0.0.2", 1e9}}};
  std::vector<std::string> order;
  for (const Candidate& c : usable_candidates(hosts, 0)) order.push_back(c.address);
  CHECK(order == std::vector<std::string>{"10.1.0.1", "fd00::1", "10.0.0.1"});
  CHECK(usable_candidates(hosts, 1).size() == 1);
}

TEST_CASE("Sending without a copy is chosen where it is faster or cheaper") {
  const tcp::Tally copy{.bytes = 1000, .seconds = 1, .cpu_seconds = 1};
  const auto chosen = [&](double bytes, double cpu, bool really = true) {
    return choose_zero_copy(copy, {static_cast<uint64_t>(bytes), 1, cpu}, really).use;
  };
  CHECK(chosen(1000, 0.5));               // cheaper
  CHECK(chosen(1200, 1.3));               // faster
  CHECK_FALSE(chosen(1000, 0.97));        // no difference
  CHECK_FALSE(chosen(900, 0.5));          // cheaper, but slower
  CHECK_FALSE(chosen(1200, 0.5, false));  // the kernel copied
  CHECK(choose_zero_copy(copy, {}, true).use == false);
}

TEST_CASE("One point per test, direction, number of streams and size") {
  Problems problems;
  const auto resolve = [&](const GivenParams& given) {
    const auto defs = tcp::params();
    return resolve_params(defs, given, problems);
  };
  const auto points = plan(resolve({{"direction", {"one-way,two-way"}},
                                    {"streams", {"1,8"}},
                                    {"min-size", {"64"}},
                                    {"max-size", {"1K"}}}));
  REQUIRE(problems.empty());
  CHECK(points.size() == 2 * 2 * 3 + 3);
  CHECK(points.back().spec.latency);
  CHECK_FALSE(points.front().params.has("loss"));
  CHECK(points.back().spec.streams == 1);
  CHECK_FALSE(points.back().params.has("direction"));

  const auto lossy = plan(resolve({{"loss", {"0,1e-3"}}}));
  REQUIRE(problems.empty());
  REQUIRE(lossy.size() == 3);
  CHECK(lossy[0].spec.loss == 0);
  CHECK(lossy[1].spec.loss == 1e-3);
  CHECK(lossy[1].params.number("loss") == 1e-3);
  CHECK(lossy[2].spec.latency);
  CHECK(lossy[2].spec.loss == 0);
  CHECK_FALSE(lossy[2].params.has("loss"));
  const auto refused = [&](const std::string& losses) {
    Problems found;
    check_params(resolve({{"loss", {losses}}}), found);
    return !found.empty();
  };
  CHECK(refused("0,1e-10"));  // the filter would lose nothing
  CHECK_FALSE(refused("0,2.4e-10"));
  CHECK(refused("1e-3,0"));  // nothing to compare with yet
  CHECK_FALSE(refused("1e-3"));
  check_params(resolve({{"loss", {"0.1"}}, {"test", {"latency"}}}), problems);
  CHECK(problems.list.size() == 1);
  resolve({{"loss", {"0.6"}}});
  CHECK(problems.list.size() == 2);
  problems = {};

  check_params(resolve({{"verify", {"true"}}, {"zero-copy", {"on"}}, {"max-size", {"1K"}}}),
               problems);
  CHECK(problems.list.size() == 2);
}
