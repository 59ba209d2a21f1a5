// Messages that a host has no memory for are refused before they are allocated.
#include "bench/network/pairs/room.h"

#include <doctest/doctest.h>

#include "tests/unit/bench/case_runner.h"
#include "tests/unit/sys/tree.h"

using namespace cb;

namespace {

// What each of two hosts of 4 GiB, with a limit of its control group unless empty, says.
std::vector<std::string> said_by_hosts(uint64_t bytes, int ranks, const std::string& limit = "") {
  const test::Tree machine;
  machine.add("/proc/meminfo", "MemTotal: 9000000 kB\nMemAvailable: 4194304 kB\n");
  if (!limit.empty()) {
    machine.add("/sys/fs/cgroup/memory.max", limit);
    machine.add("/sys/fs/cgroup/memory.current", "0");
  }
  const Case c = case_of([&](Context& context, const Params&) {
    require_room(context, bytes, ranks);
    return std::vector<Record>{};
  });
  return run_on(2, c, {}, machine.fs()).thrown;
}

}  // namespace

TEST_CASE("three quarters of what a host has available are for its ranks' messages") {
  const uint64_t whole = uint64_t{4} << 30;
  CHECK(said_by_hosts(whole / 4 * 3, 1) == std::vector<std::string>{"", ""});
  CHECK(said_by_hosts(whole / 16 * 3, 4) == std::vector<std::string>{"", ""});
  const auto refused = said_by_hosts(whole / 4, 4);
  CHECK(refused[0] == refused[1]);
  for (const char* host : {"n0", "n1"})
    CHECK(refused[0].find("the messages of 4 rank(s) on " + std::string(host) +
                          " need 4.00 GiB, and may take 75 % of the 4.00 GiB of memory that it has "
                          "available; next: a smaller --size, or fewer ranks a host") !=
          std::string::npos);
}

TEST_CASE("the limit of a control group counts where it leaves less") {
  CHECK(said_by_hosts(900 << 20, 1, "1073741824")[0].find("75 % of the 1.00 GiB") !=
        std::string::npos);
  CHECK(said_by_hosts(700 << 20, 1, "1073741824")[0].empty());
}

namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

// What each rank throws over the memory of transfers that did not end. `hosts`: of each rank.
std::vector<std::string> said_by_holders(const std::vector<HeldMemory>& held,
                                         const std::vector<std::string>& hosts) {
  std::vector<std::string> out(held.size());
  const Case c = case_of([&](Context& context, const Params&) {
    const auto rank = static_cast<size_t>(context.comm.rank());
    const RankMap place = locate_ranks(context.comm, hosts[rank]);
    Context there{context.comm,     place,      context.sampler,  context.watchdog, context.cancel,
                  context.progress, context.fs, context.inventory};
    try {
      require_room_beside(there, held[rank]);
    } catch (const Error& error) {
      out[rank] = error.what();
    }
    return std::vector<Record>{};
  });
  run_on(static_cast<int>(held.size()), c);
  return out;
}

// Each rank is a host of its own.
std::vector<std::string> said_by_holders(const std::vector<HeldMemory>& held) {
  std::vector<std::string> hosts;
  for (size_t rank = 0; rank < held.size(); ++rank) hosts.push_back("n" + std::to_string(rank));
  return said_by_holders(held, hosts);
}

}  // namespace

TEST_CASE("three quarters of what is available now are the room, if that can be read") {
  const test::Tree machine;
  CHECK(!room_for_messages(machine.fs()));
  machine.add("/proc/meminfo", "MemAvailable: 4194304 kB\n");
  CHECK(room_for_messages(machine.fs()).value() / 1048576 == 3071);
}

TEST_CASE("transfers that did not end and the next round fill the room, and no more") {
  const HeldMemory full{.unended = {{1, 0, 1, 2 * kGiB}}, .next_round = kGiB, .room = 3 * kGiB};
  const HeldMemory idle{.unended = {}, .next_round = 9 * kGiB, .room = kGiB};
  CHECK(said_by_holders({full, idle}) == std::vector<std::string>{"", ""});
  HeldMemory over = full;
  ++over.next_round;
  const auto refused = said_by_holders({over, idle});
  CHECK(refused[0] == refused[1]);
  CHECK(refused[0] ==
        "1 round(s) did not end within the deadline; their messages still hold 2.00 GiB on n0, and "
        "the next round needs 1.00 GiB, but all may take 3.00 GiB there; 1 pair(s) of ranks do not "
        "answer: n0 rank 0 → n1 rank 1; next: a longer --round-deadline, or a smaller --size");
}

TEST_CASE("a job whose rounds all end is not asked for its room again") {
  const HeldMemory tight{.unended = {}, .next_round = 2 * kGiB, .room = kGiB};
  CHECK(said_by_holders({tight, tight}) == std::vector<std::string>{"", ""});
}

TEST_CASE("a host whose memory cannot be read has no bound") {
  const HeldMemory unknown{.unended = {{1, 0, 1, 1000 * kGiB}}, .next_round = kGiB};
  CHECK(said_by_holders({unknown, unknown}) == std::vector<std::string>{"", ""});
}

TEST_CASE("the ranks of a host share its room, and a round or pair is counted once") {
  const auto holder = [](std::vector<UnendedTransfer> unended) {
    return HeldMemory{.unended = std::move(unended), .next_round = 0, .room = 3 * kGiB};
  };
  const std::vector<std::string> hosts = {"a", "a", "b", "b"};
  // 4 GiB in all, but 2 GiB on each host
  const std::vector<HeldMemory> apart = {holder({{1, 0, 2, kGiB}}), holder({{1, 3, 1, kGiB}}),
                                         holder({{1, 0, 2, kGiB}}), holder({{1, 3, 1, kGiB}})};
  CHECK(said_by_holders(apart, hosts) == std::vector<std::string>(4));
  std::vector<HeldMemory> together = apart;
  together[2].unended.push_back({2, 0, 2, kGiB});
  together[3].unended.push_back({2, 3, 1, kGiB});
  for (int rank : {0, 1}) together[static_cast<size_t>(rank)].unended.push_back({7, 0, 1, 1});
  const auto refused = said_by_holders(together, hosts);
  CHECK(refused == std::vector<std::string>(4, refused[1]));
  CHECK(refused[0].find("2 round(s) did not end within the deadline; their messages still hold "
                        "4.00 GiB on b,") == 0);  // what a holds beside it is not named
  CHECK(refused[0].find("2 pair(s) of ranks do not answer: a rank 0 → b rank 2, b rank 3 → a rank "
                        "1; next:") != std::string::npos);
}

TEST_CASE("of many pairs that do not answer the first eight are named") {
  HeldMemory held{.unended = {}, .next_round = 0, .room = 1};
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (from != to) held.unended.push_back({1, from, to, 1});
    }
  }
  const std::string text = said_by_holders({held, {}, {}, {}})[3];
  CHECK(text.find("12 pair(s) of ranks do not answer: n0 rank 0 → n1 rank 1") != std::string::npos);
  CHECK(text.find("n2 rank 2 → n1 rank 1; next:") != std::string::npos);
}
