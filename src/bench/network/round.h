#pragma once

#include <span>
#include <vector>

#include "bench/harness/comm.h"
#include "bench/network/pair_endpoint.h"

namespace cb::net {

// The ends of one round on this rank. They are made, connected, run at the same time, and
// destroyed.
class RoundEnds {
 public:
  // A driver may hold the call that gives back what a failed transfer used: that of soft-RoCE in
  // Linux 6.12 does for 50 s after a port went down. After `close_seconds` the round goes on
  // without it, and a transfer that had not failed has failed.
  explicit RoundEnds(double close_seconds = 10) : close_seconds_(close_seconds) {}

  // Collective over all ranks, those without a job included. Makes the ends, exchanges their
  // addresses over the communicator and connects. Keeps failures for run(). Sends one address per
  // end to all ranks.
  void connect(Comm& comm, std::span<const PairJob> jobs, const MakeEndpoint& make,
               double deadline_seconds);

  // Local. Runs each job on a thread of its own; returns one outcome per job, in order.
  std::vector<PairOutcome> run(double deadline_seconds);

 private:
  struct Slot {
    PairJob job;
    std::unique_ptr<PairEndpoint> end;
    Said failure;
  };
  void make_ends(std::span<const PairJob> jobs, const MakeEndpoint& make);
  void close(std::vector<PairOutcome>& out);

  double close_seconds_;
  std::vector<Slot> slots_;
};

// A PairTransport over any kind of end: schedules and locate measure with it.
class EndTransport : public PairTransport {
 public:
  EndTransport(std::string name, Comm& comm, MakeEndpoint make)
      : name_(std::move(name)), comm_(comm), make_(std::move(make)) {}
  std::string name() const override { return name_; }
  void connect(std::span<const PairTask> mine, double deadline_seconds) override;
  std::vector<PairFigure> run(std::span<const PairTask> mine, double deadline_seconds) override;

 private:
  std::string name_;
  Comm& comm_;
  MakeEndpoint make_;
  RoundEnds ends_;
};

}  // namespace cb::net
