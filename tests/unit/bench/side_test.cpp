#include "bench/harness/oob/channel.h"

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <future>
#include <thread>

#include <doctest/doctest.h>

#include "bench/harness/oob/hub.h"
#include "core/clock.h"
#include "thread_comm.h"

using namespace cb;
using namespace std::chrono_literals;

namespace {

RankMap place_of(int rank) {
  return {
      .host = "n" + std::to_string(rank), .hosts = {"n0", "n1", "n2"}, .host_of_rank = {0, 1, 2}};
}

Record share(int rank, int64_t size) {
  Record r{.case_name = "fake"};
  r.params.set("size", size);
  const size_t self = r.entity({"n" + std::to_string(rank), "rank", std::to_string(rank)});
  r.metrics.push_back(
      {.name = "x", .unit = "seconds", .entity = self, .samples = Samples{1.0 * (rank + 1)}});
  return r;
}

// Three ranks as threads, each with a watchdog and a channel. `act` runs on each of them.
struct Job {
  std::promise<JobFailure> promise;
  std::future<JobFailure> trouble = promise.get_future();
  std::atomic<int> root_lost{0};
  std::vector<std::vector<Record>> kept;  // by the channel's thread, until it is closed
  std::atomic<size_t> whole{0};  // records with the shares of all three in the last of them

  void keep(std::vector<Record> all) {
    size_t n = 0;
    for (const Record& r : all) n += r.metrics.size() == 3 ? 1 : 0;
    kept.push_back(std::move(all));
    whole = n;
  }

  void wait_for_whole(size_t n) const {
    const double end = monotonic_seconds() + 20;
    while (whole < n && monotonic_seconds() < end) std::this_thread::sleep_for(10ms);
  }
  double failed_grace_seconds = 15;

  void run(const std::function<void(int, SideChannel&, Watchdog&)>& act) {
    ThreadGroup group(3);
    group.run([&](Comm& comm) {
      Watchdog watchdog([](const WatchState&) {});
      watchdog.arm("job", 3600, 3600);
      const CancelToken cancel;
      SideChannelOptions options;
      options.failed_grace_seconds = failed_grace_seconds;
      options.on_trouble = [&](JobFailure t) { promise.set_value(std::move(t)); };
      options.on_finished = [&](std::vector<Record> all) { keep(std::move(all)); };
      options.on_root_lost = [&](const std::string&) { ++root_lost; };
      const auto channel =
          open_side_channel(comm, place_of(comm.rank()), watchdog, cancel, options);
      act(comm.rank(), *channel, watchdog);
      comm.barrier();
      channel->close();
    });
  }
};

// Every rank calls it once it has published two records, rank 1 where it has published one. Comes
// back when rank 0 has the states of all: a rank tells its state every half second, and before what
// it publishes then.
void let_states_arrive(const Job& job, int rank, SideChannel& channel) {
  std::this_thread::sleep_for(600ms);
  channel.publish(share(rank, 8192));
  if (rank == 1) channel.publish(share(rank, 16384));  // rank 0 waits for a third one of each rank
  job.wait_for_whole(2);
}

// Whether rank 0 answers to an expiry within twenty seconds: on a busy machine not at once.
bool heard(SideChannel& channel, const Watchdog& watchdog) {
  const double end = monotonic_seconds() + 20;
  while (monotonic_seconds() < end) {
    if (channel.expired(watchdog.state())) return true;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}

}  // namespace

TEST_CASE("on expiry rank 0 names who is behind and has what was finished") {
  Job job;
  job.run([&](int rank, SideChannel& channel, Watchdog& watchdog) {
    channel.publish(share(rank, 1024));
    if (rank != 1) channel.publish(share(rank, 4096));
    watchdog.note("all_reduce 4K");
    for (int i = 0; i < (rank == 2 ? 4 : 5); ++i) {
      watchdog.enter();
      watchdog.progress();
    }
    if (rank != 2) watchdog.enter();
    let_states_arrive(job, rank, channel);
    if (rank == 1) CHECK(heard(channel, watchdog));
    if (rank == 0) CHECK(job.trouble.wait_for(30s) == std::future_status::ready);
  });
  const JobFailure t = job.trouble.get();
  CHECK(t.kind == JobFailure::Kind::expired);
  REQUIRE(t.diagnosis.absent.size() == 1);
  CHECK(t.diagnosis.absent[0].rank == 2);
  CHECK(t.diagnosis.absent[0].host == "n2");
  REQUIRE(t.finished.size() == 3);
  CHECK(t.finished[0].metrics.size() == 3);
  CHECK(t.finished[0].notes.empty());
  CHECK(t.finished[1].metrics.size() == 2);
  REQUIRE(t.finished[1].notes.size() == 1);
  CHECK(t.finished[1].notes[0].text().starts_with("without the shares of ranks 1,"));
  CHECK(t.finished[2].metrics.size() == 3);
}

TEST_CASE("rank 0 keeps what every rank has finished, before the job is over") {
  Job job;
  job.run([&](int rank, SideChannel& channel, Watchdog&) {
    channel.publish(share(rank, 1024));
    if (rank != 1) channel.publish(share(rank, 4096));
    job.wait_for_whole(1);
    if (rank == 1) channel.publish(share(rank, 4096));
    job.wait_for_whole(2);
  });
  REQUIRE(job.kept.size() == 2);
  CHECK(job.kept[0].at(0).metrics.size() == 3);
  CHECK(job.kept[0].at(0).notes.empty());
  REQUIRE(job.kept[1].size() == 2);
  CHECK(job.kept[1][1].metrics.size() == 3);
  CHECK(job.kept[1][1].notes.empty());
}

TEST_CASE("keeping takes little of the job's time") {
  int kept = 0;
  FinishedKeeper keeper([&](std::vector<Record>) {
    ++kept;
    std::this_thread::sleep_for(30ms);
  });
  const auto nothing = [] { return std::vector<Record>(); };
  keeper.offer(0, nothing);
  CHECK(kept == 0);
  for (size_t i = 1; i <= 20; ++i) keeper.offer(i, nothing);
  CHECK(kept >= 1);
  CHECK(kept <= 2);  // 30 ms and 60 ms, of which 50 ms are free
  const int before = kept;
  keeper.offer(1, nothing);
  CHECK(kept == before);
}

TEST_CASE("a rank that has failed is at fault once no other moves, whatever the others wait in") {
  Job job;
  job.failed_grace_seconds = 1;
  const double begin = monotonic_seconds();
  job.run([&](int rank, SideChannel&, Watchdog& watchdog) {
    for (int i = 0; i < rank + 1; ++i) {
      watchdog.enter();
      watchdog.progress();
    }
    watchdog.note("all_reduce 4K");
    if (rank == 2) watchdog.fail("out of memory");
    if (rank == 0) CHECK(job.trouble.wait_for(30s) == std::future_status::ready);
  });
  const JobFailure t = job.trouble.get();
  CHECK(monotonic_seconds() - begin > 1);  // they might have heard of it by themselves
  CHECK(t.kind == JobFailure::Kind::failed);
  REQUIRE(t.diagnosis.absent.size() == 1);
  CHECK(t.diagnosis.absent[0].rank == 2);
  CHECK(t.diagnosis.absent[0].why == "has failed: out of memory");
}

TEST_CASE(
    "a rank that failed by itself and waits where all meet ends the job of nobody who computes") {
  Job job;
  job.failed_grace_seconds = 1;
  std::atomic<bool> over{false};
  job.run([&](int rank, SideChannel&, Watchdog& watchdog) {
    if (rank > 0) {
      const Watchdog::Meeting met(watchdog);
      if (rank == 2) watchdog.fail("out of memory");
      while (!over) std::this_thread::sleep_for(10ms);
      return;
    }
    CHECK(job.trouble.wait_for(3s) == std::future_status::timeout);
    const Watchdog::Waiting waiting(&watchdog);
    CHECK(job.trouble.wait_for(30s) == std::future_status::ready);
    over = true;
  });
  CHECK(job.trouble.get().kind == JobFailure::Kind::failed);
}

TEST_CASE("what breaks once rank 0 has heard of an expiry did not cause it") {
  Job job;
  std::atomic<bool> broken{false};
  job.run([&](int rank, SideChannel& channel, Watchdog& watchdog) {
    watchdog.note("all_reduce 4K");
    watchdog.enter();
    if (rank == 2) {
      CHECK(heard(channel, watchdog));
      watchdog.expire();
      broken = true;
    }
    if (rank == 0) {
      const double end = monotonic_seconds() + 20;
      while (!broken && monotonic_seconds() < end) std::this_thread::sleep_for(1ms);
      watchdog.fail("remote process exited");
      CHECK(job.trouble.wait_for(30s) == std::future_status::ready);
    }
  });
  const JobFailure t = job.trouble.get();
  CHECK(t.kind == JobFailure::Kind::expired);
  for (const auto& absent : t.diagnosis.absent)
    CHECK_FALSE(absent.why.text().starts_with("has failed"));
}

TEST_CASE("a job that ends in order has no trouble, whoever closes first") {
  for (const int last : {0, 2}) {
    Job job;
    job.run([&](int rank, SideChannel& channel, Watchdog&) {
      if (rank == last) std::this_thread::sleep_for(300ms);
      channel.close();
    });
    CHECK(job.trouble.wait_for(0s) == std::future_status::timeout);
    CHECK(job.root_lost == 0);
  }
}

TEST_CASE("a state goes over the channel and back; foreign bytes do not come through") {
  const WatchState state{"mpi", "sampling \xff", 7, 6, 1.5, 0};
  const WatchState back =
      state_from_text(state_to_text({"mpi", "sampling", 7, 6, 1.5, 2.5, "no memory"}));
  CHECK(back.failure == "no memory");
  CHECK(back.note == "sampling");
  CHECK(back.entered == 7);
  CHECK(back.iterations == 6);
  CHECK(back.idle_seconds == 1.5);
  CHECK(back.used_up_seconds == 2.5);
  CHECK_NOTHROW(state_to_text(state));
  CHECK_THROWS(state_from_text("{"));
}

namespace {

// Rank 0 of three, and what comes to its port.
struct LoneHub {
  static inline const std::string kToken = std::string(kTokenBytes, 'r');
  const CancelToken cancel = {};
  Watchdog watchdog{[](const WatchState&) {}};
  Reception reception{{"127.0.0.1"}, kToken, kGreetingBytes};
  int port = reception.doors().at(0).port;
  SideHub hub{std::move(reception), kToken, place_of(0), watchdog, cancel, {}};

  FrameLink connect(const std::string& token, int rank) const {
    Socket socket = start_connect("127.0.0.1", static_cast<uint16_t>(port));
    REQUIRE(socket.open());
    FrameLink link(std::move(socket));
    link.queue_greeting(greeting_of(token, rank));
    return link;
  }
  // The next frame; nothing at the end of the connection.
  static std::optional<Frame> next_of(FrameLink& link) {
    const double end = monotonic_seconds() + 20;
    for (bool alive = true; alive && monotonic_seconds() < end;) {
      if (auto f = link.next()) return f;
      std::vector<Watched> one{{.fd = link.socket().fd(), .want_write = link.has_output()}};
      wait_for_any(one, 0.1);
      alive = link.flush() && link.fill();
    }
    return link.next();
  }
  bool listens() const {
    Socket socket = start_connect("127.0.0.1", static_cast<uint16_t>(port));
    std::vector<Watched> one{{.fd = socket.fd(), .want_write = true}};
    wait_for_any(one, 20);
    return connected(socket);
  }
};

}  // namespace

TEST_CASE("who does not know the token is cut off") {
  const LoneHub job;
  FrameLink stranger = job.connect(std::string(kTokenBytes, 'w'), 1);
  CHECK_FALSE(LoneHub::next_of(stranger).has_value());
}

namespace {

// CPU time of this process's threads but the calling one.
double other_threads_cpu_seconds() {
  double out = 0;
  const std::string self = std::to_string(::gettid());
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    if (task.path().filename() == self) continue;
    double nanoseconds = 0;
    std::ifstream(task.path() / "schedstat") >> nanoseconds;
    out += nanoseconds * 1e-9;
  }
  return out;
}

}  // namespace

TEST_CASE("rank 0 spends little on thousands of idle strangers, and hears a rank after them") {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  allow_open_files(6000);
  LoneHub job;
  std::vector<Socket> strangers;
  for (int i = 0; i < 5000; ++i)
    strangers.push_back(start_connect("127.0.0.1", static_cast<uint16_t>(job.port)));
  const double begun = monotonic_seconds(), before = other_threads_cpu_seconds();
  std::this_thread::sleep_for(3s);
  const double share = (other_threads_cpu_seconds() - before) / (monotonic_seconds() - begun);
  MESSAGE("rank 0's thread: ", 100 * share, " % of a processor beside ", strangers.size(),
          " idle strangers");
  CHECK(share < 0.25);  // a loop without a rest takes all of it
  strangers.clear();
  FrameLink rank = job.connect(LoneHub::kToken, 1);
  CHECK(LoneHub::next_of(rank).has_value());
  rank.queue(frame::kBye, "");
  rank.flush();
  setrlimit(RLIMIT_NOFILE, &files);
}

TEST_CASE("once every rank has come nobody else is listened to") {
  LoneHub job;
  std::vector<FrameLink> ranks;
  for (const int rank : {1, 2}) {
    ranks.push_back(job.connect(LoneHub::kToken, rank));
    const auto welcome = LoneHub::next_of(ranks.back());
    REQUIRE(welcome.has_value());
    CHECK(welcome->kind == frame::kWelcome);
    CHECK(job.listens());  // a rank that does not hear the welcome in time comes again
  }
  for (FrameLink& link : ranks) {
    link.queue(frame::kState, state_to_text({"job", "note", 1, 1, 0, 0, ""}));
    CHECK(link.flush());
  }
  const double end = monotonic_seconds() + 20;
  while (job.listens() && monotonic_seconds() < end) std::this_thread::sleep_for(10ms);
  CHECK_FALSE(job.listens());
  // Goodbye.
  for (FrameLink& link : ranks) {
    link.queue(frame::kBye, "");
    link.flush();
  }
}

TEST_CASE("an interface that does not exist is refused") {
  CHECK_THROWS_AS(local_addresses("no-such-interface"), UsageError);
}
