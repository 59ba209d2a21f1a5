// Rounds over scripted ends: who fails is named, the others have their figures.
#include "bench/network/round.h"

#include <future>
#include <thread>

#include <doctest/doctest.h>

#include "sys/os/left_behind.h"

using namespace cb;
using namespace cb::net;

namespace {

// Tells its peer's address and gives what it was made with.
class FakeEnd : public PairEndpoint {
 public:
  FakeEnd(PairJob job, PairOutcome outcome) : job_(std::move(job)), outcome_(std::move(outcome)) {}
  std::string address() override { return job_.task.sends ? "sender here" : "receiver here"; }
  void connect(const std::string& peer, double) override {
    if (peer != (job_.task.sends ? "receiver here" : "sender here")) throw Error("wrong peer");
  }
  PairOutcome run(double) override { return outcome_; }

 private:
  PairJob job_;
  PairOutcome outcome_;
};

// Its driver gives nothing back until `released` is set.
class HeldEnd : public FakeEnd {
 public:
  HeldEnd(PairJob job, PairOutcome outcome, std::shared_future<void> released)
      : FakeEnd(std::move(job), std::move(outcome)), released_(std::move(released)) {}
  ~HeldEnd() override { released_.wait(); }

 private:
  std::shared_future<void> released_;
};

PairTask task(bool sends, PairMeasure measure) {
  return {.peer = 0, .sends = sends, .measure = measure, .bytes = 8, .seconds = 0.1};
}

// A NIC with itself: both ends on the only rank.
std::vector<PairFigure> both_ends(PairMeasure measure, const PairOutcome& sender,
                                  const PairOutcome& receiver) {
  const auto comm = single_comm();
  EndTransport transport("fake", *comm, [&](const PairJob& job) {
    return std::make_unique<FakeEnd>(job, job.task.sends ? sender : receiver);
  });
  const std::vector<PairTask> tasks{task(true, measure), task(false, measure)};
  transport.connect(tasks, 1);
  return transport.run(tasks, 1);
}

}  // namespace

TEST_CASE("the end that answers pings has no figure and no failure") {
  PairOutcome timed;
  timed.latency_seconds.add(2e-6);
  const auto figures = both_ends(PairMeasure::latency, timed, {});
  CHECK(figures[0].value == doctest::Approx(2e-6).epsilon(0.01));
  CHECK_FALSE(figures[1].value.has_value());
  CHECK(figures[1].failure.empty());
}

TEST_CASE("a sender that timed nothing has failed, and so has an end that says so") {
  PairOutcome broken;
  broken.failure = "n2 does not answer";
  const auto figures = both_ends(PairMeasure::latency, {}, broken);
  CHECK(figures[0].failure == "nothing was measured");
  CHECK(figures[1].failure == "n2 does not answer");
}

TEST_CASE("bandwidth: the median of the repetitions, two-way what arrives here") {
  PairOutcome out;
  out.bytes_per_second = {3, 1, 2};
  CHECK(out.figure(PairMeasure::bandwidth).value == 2);
  out.arriving_bytes_per_second = {7, 9, 8};
  CHECK(out.figure(PairMeasure::bandwidth).value == 8);
  out.wrong_data = "";
  CHECK(out.figure(PairMeasure::bandwidth).value == 8);
  out.wrong_data = "byte 3 is wrong";
  CHECK_FALSE(out.figure(PairMeasure::bandwidth).value.has_value());
  CHECK(out.figure(PairMeasure::bandwidth).failure == "byte 3 is wrong");
}

TEST_CASE("an end that cannot be made fails its job, and its peer hears why") {
  const auto comm = single_comm();
  RoundEnds ends;
  const std::vector<PairJob> jobs{{task(true, PairMeasure::bandwidth), 0, "a → b"},
                                  {task(false, PairMeasure::bandwidth), 0, "a → b"}};
  ends.connect(
      *comm, jobs,
      [](const PairJob& job) -> std::unique_ptr<PairEndpoint> {
        if (job.task.sends) throw Error("port is DOWN");
        return std::make_unique<FakeEnd>(job, PairOutcome{});
      },
      1);
  const auto outcomes = ends.run(1);
  CHECK(outcomes[0].failure == "port is DOWN");
  CHECK(outcomes[1].failure.text().find("the other end: port is DOWN") != std::string::npos);
}

TEST_CASE("a driver that holds a connection costs its own transfer, and not the round") {
  const auto comm = single_comm();
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  PairOutcome measured, wrong, broken;
  measured.bytes_per_second = {5};
  wrong.wrong_data = "byte 3 is wrong";
  broken.failure = "not finished within the deadline";
  RoundEnds ends(1);
  PairTask second = task(false, PairMeasure::bandwidth);
  second.rail = 1;
  const std::vector<PairJob> jobs{{task(true, PairMeasure::bandwidth), 0, "a → b"},
                                  {task(false, PairMeasure::bandwidth), 0, "a → b"},
                                  {task(true, PairMeasure::bandwidth), 1, "a → c"},
                                  {second, 0, "a → c"}};
  const auto make = [&](const PairJob& job) -> std::unique_ptr<PairEndpoint> {
    if (job.name == "a → b")
      return std::make_unique<HeldEnd>(job, job.task.sends ? measured : wrong, released);
    if (job.task.sends) return std::make_unique<FakeEnd>(job, measured);
    return std::make_unique<HeldEnd>(job, broken, released);
  };
  ends.connect(*comm, jobs, make, 1);
  const auto outcomes = ends.run(1);
  CHECK(outcomes[0].failure.text() ==
        "a → b: the sender's driver has not given the connection back for 1 s; next: read the "
        "kernel log of that host");
  CHECK(outcomes[0].bytes_per_second.empty());
  CHECK(outcomes[1].failure.empty());  // wrong data says more than the driver
  CHECK(outcomes[1].wrong_data == Said("byte 3 is wrong"));
  CHECK(outcomes[2].failure.empty());
  CHECK(outcomes[2].bytes_per_second == std::vector<double>{5});
  CHECK(outcomes[3].failure == "not finished within the deadline");
  CHECK(threads_left_behind() == 3);  // the process then ends without exit()
  release.set_value();
  while (threads_left_behind() > 0) std::this_thread::yield();
}
