#include "bench/training/group.h"

#include <algorithm>
#include <list>
#include <thread>
#include <utility>
#include <vector>

#include "bench/harness/comm_mpi.h"
#include "bench/harness/watchdog.h"
#include "core/error.h"

namespace cb::training {
namespace {

using mpi::check;

constexpr int64_t kMost = INT32_MAX;  // MPI counts in int

class Ended final : public Pending {
 public:
  bool done() override { return true; }
};

template <typename Real>
class Alone final : public Group<Real> {
 public:
  int size() const override { return 1; }
  int rank() const override { return 0; }
  void all_reduce(Real*, int64_t) override {}
  void all_reduce_max(Real*, int64_t) override {}
  void reduce_scatter(const Real* whole, Real* part, int64_t each) override {
    if (whole != part) std::copy_n(whole, each, part);
  }
  void all_gather(const Real* part, Real* whole, int64_t each) override {
    if (whole != part) std::copy_n(part, each, whole);
  }
  std::unique_ptr<Pending> start_all_reduce(Real*, int64_t) override {
    return std::make_unique<Ended>();
  }
  std::unique_ptr<Pending> start_reduce_scatter(const Real* whole, Real* part,
                                                int64_t each) override {
    reduce_scatter(whole, part, each);
    return std::make_unique<Ended>();
  }
};

template <typename Real>
class OneStage final : public Pipeline<Real> {
 public:
  int stages() const override { return 1; }
  int stage() const override { return 0; }
  void send(int, const Real*, int64_t) override {}
  void receive(int, Real*, int64_t) override {}
  void flush() override {}
};

template <typename Real>
MPI_Datatype type_of() {
  return sizeof(Real) == 4 ? MPI_FLOAT : MPI_DOUBLE;
}

int narrow(int64_t count) {
  if (count > kMost) throw Error(said("train.too_long", count));
  return static_cast<int>(count);
}

bool is_done(MPI_Request& request) {
  int done = 0;
  check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
  return done != 0;
}

// The processor is left to other ranks of this host. The watchdog ends what waits for ever.
void wait(MPI_Request& request) {
  while (!is_done(request)) std::this_thread::yield();
}

// An exchange cannot be called off: its destructor waits, because it writes to the caller's memory.
class MpiPending final : public Pending {
 public:
  explicit MpiPending(Watchdog* told) : told_(told) {}
  ~MpiPending() override {
    int done = 0;
    while (request != MPI_REQUEST_NULL && done == 0 &&
           MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS)
      std::this_thread::yield();
  }
  MpiPending(const MpiPending&) = delete;
  MpiPending& operator=(const MpiPending&) = delete;
  bool done() override { return request == MPI_REQUEST_NULL || is_done(request); }
  void wait() override {
    const Watchdog::Waiting waiting(told_);
    Pending::wait();
  }

  MPI_Request request = MPI_REQUEST_NULL;

 private:
  Watchdog* told_;
};

template <typename Real>
class MpiGroup final : public Group<Real> {
 public:
  MpiGroup(const Comm& whole, int colour, int key)
      : comm_(mpi_part_of(whole, colour, key)), told_(whole.told()) {
    check(MPI_Comm_rank(comm_.get(), &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_.get(), &size_), "MPI_Comm_size");
  }
  int size() const override { return size_; }
  int rank() const override { return rank_; }

  void all_reduce(Real* data, int64_t count) override { reduce(data, count, MPI_SUM); }
  void all_reduce_max(Real* data, int64_t count) override { reduce(data, count, MPI_MAX); }
  void reduce_scatter(const Real* whole, Real* part, int64_t each) override {
    const Watchdog::Waiting waiting(told_);
    check(
        MPI_Reduce_scatter_block(whole, part, narrow(each), type_of<Real>(), MPI_SUM, comm_.get()),
        "MPI_Reduce_scatter_block");
  }
  // The own part may already be in its place.
  void all_gather(const Real* part, Real* whole, int64_t each) override {
    const bool in_place = part == whole + rank_ * each;
    const Watchdog::Waiting waiting(told_);
    check(MPI_Allgather(in_place ? MPI_IN_PLACE : static_cast<const void*>(part), narrow(each),
                        type_of<Real>(), whole, narrow(each), type_of<Real>(), comm_.get()),
          "MPI_Allgather");
  }
  std::unique_ptr<Pending> start_all_reduce(Real* data, int64_t count) override {
    auto out = std::make_unique<MpiPending>(told_);
    check(MPI_Iallreduce(MPI_IN_PLACE, data, narrow(count), type_of<Real>(), MPI_SUM, comm_.get(),
                         &out->request),
          "MPI_Iallreduce");
    return out;
  }
  std::unique_ptr<Pending> start_reduce_scatter(const Real* whole, Real* part,
                                                int64_t each) override {
    auto out = std::make_unique<MpiPending>(told_);
    check(MPI_Ireduce_scatter_block(whole, part, narrow(each), type_of<Real>(), MPI_SUM,
                                    comm_.get(), &out->request),
          "MPI_Ireduce_scatter_block");
    return out;
  }

 private:
  void reduce(Real* data, int64_t count, MPI_Op op) {
    const Watchdog::Waiting waiting(told_);
    check(MPI_Allreduce(MPI_IN_PLACE, data, narrow(count), type_of<Real>(), op, comm_.get()),
          "MPI_Allreduce");
  }

  mpi::Communicator comm_;
  Watchdog* told_;
  int rank_ = 0, size_ = 1;
};

// Sends copy their data and end in the background: in 1F1B two neighbours send to each other at
// the same time, and neither may wait for the other.
template <typename Real>
class MpiPipeline final : public Pipeline<Real> {
 public:
  MpiPipeline(const Comm& whole, int colour, int key)
      : comm_(mpi_part_of(whole, colour, key)), told_(whole.told()) {
    check(MPI_Comm_rank(comm_.get(), &stage_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_.get(), &stages_), "MPI_Comm_size");
  }
  ~MpiPipeline() override {
    for (Sent& one : sent_) {  // MPI still reads a message that nobody took: it is left to it
      int done = 0;
      if (MPI_Test(&one.request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || done == 0)
        static_cast<void>(new std::vector<Real>(std::move(one.data)));
    }
  }
  MpiPipeline(const MpiPipeline&) = delete;
  MpiPipeline& operator=(const MpiPipeline&) = delete;

  int stages() const override { return stages_; }
  int stage() const override { return stage_; }

  void send(int direction, const Real* data, int64_t count) override {
    sent_.remove_if([](Sent& one) { return is_done(one.request); });
    Sent& one = sent_.emplace_back();
    one.data.assign(data, data + count);
    check(MPI_Isend(one.data.data(), narrow(count), type_of<Real>(), stage_ + direction,
                    direction + 1, comm_.get(), &one.request),
          "MPI_Isend");
  }
  void receive(int direction, Real* data, int64_t count) override {
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Irecv(data, narrow(count), type_of<Real>(), stage_ + direction, 1 - direction,
                    comm_.get(), &request),
          "MPI_Irecv");
    const Watchdog::Waiting waiting(told_);
    wait(request);
  }
  void flush() override {
    const Watchdog::Waiting waiting(told_);
    for (Sent& one : sent_) wait(one.request);
    sent_.clear();
  }

 private:
  struct Sent {
    std::vector<Real> data = {};
    MPI_Request request = MPI_REQUEST_NULL;
  };
  mpi::Communicator comm_;
  Watchdog* told_;
  std::list<Sent> sent_;
  int stage_ = 0, stages_ = 1;
};

}  // namespace

void Pending::wait() {
  while (!done()) std::this_thread::yield();
}

Coordinates coordinates_of(int rank, const Layout& l) {
  return {rank % l.tensor, rank / l.tensor % l.data, rank / (l.tensor * l.data)};
}

int rank_at(const Coordinates& at, const Layout& l) {
  return at.tensor + l.tensor * (at.data + l.data * at.stage);
}

template <typename Real>
Fabric<Real> connect(Comm& comm, const Layout& l) {
  const Coordinates at = coordinates_of(comm.rank(), l);
  Fabric<Real> out{std::make_unique<Alone<Real>>(), std::make_unique<Alone<Real>>(),
                   std::make_unique<OneStage<Real>>()};
  // A colour is the first rank of its group.
  if (l.tensor > 1)
    out.tensor =
        std::make_unique<MpiGroup<Real>>(comm, rank_at({0, at.data, at.stage}, l), at.tensor);
  if (l.data > 1)
    out.data =
        std::make_unique<MpiGroup<Real>>(comm, rank_at({at.tensor, 0, at.stage}, l), at.data);
  if (l.pipeline > 1)
    out.pipeline =
        std::make_unique<MpiPipeline<Real>>(comm, rank_at({at.tensor, at.data, 0}, l), at.stage);
  return out;
}

template Fabric<float> connect(Comm&, const Layout&);
template Fabric<double> connect(Comm&, const Layout&);

}  // namespace cb::training
