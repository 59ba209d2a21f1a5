// Groups of ranks over MPI.
#include "bench/harness/comm_mpi.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include "bench/harness/watchdog.h"
#include "core/clock.h"

namespace cb {
namespace {

using mpi::check;

class MpiPendingMax final : public PendingMax {
 public:
  MpiPendingMax(double value, MPI_Comm comm) : own_(std::make_unique<Values>()) {
    own_->mine = value;
    check(MPI_Iallreduce(&own_->mine, &own_->largest, 1, MPI_DOUBLE, MPI_MAX, comm, &request_),
          "MPI_Iallreduce");
  }
  // A collective cannot be called off: what it still writes to is left to it.
  ~MpiPendingMax() override {
    if (request_ != MPI_REQUEST_NULL) static_cast<void>(own_.release());
  }
  MpiPendingMax(const MpiPendingMax&) = delete;
  MpiPendingMax& operator=(const MpiPendingMax&) = delete;

  std::optional<double> result() override {
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0 ? std::optional(own_->largest) : std::nullopt;
  }

 private:
  struct Values {
    double mine = 0, largest = 0;
  };
  std::unique_ptr<Values> own_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

class MpiComm final : public Comm {
 public:
  // Takes `own` and frees it: a communicator of its own, so that our agreement never mixes with
  // what a case has in flight.
  explicit MpiComm(mpi::Communicator own) : own_(std::move(own)), comm_(own_.get()) {
    check(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
    check(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  }

  mpi::Communicator part(int colour, int key) const {
    return mpi::Communicator::split(comm_, colour, key);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void barrier() override {
    const Watchdog::Waiting waiting(told());
    check(MPI_Barrier(comm_), "MPI_Barrier");
  }
  double max(double value) override { return reduce(value, MPI_MAX); }
  double min(double value) override { return reduce(value, MPI_MIN); }
  double sum(double value) override { return reduce(value, MPI_SUM); }
  std::unique_ptr<PendingMax> start_max(double value) override {
    return std::make_unique<MpiPendingMax>(value, comm_);
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    constexpr size_t kMax = size_t{1} << 30;  // MPI counts in int
    const Watchdog::Waiting waiting(told());
    for (size_t at = 0; at < bytes.size(); at += kMax) {
      const auto part = bytes.subspan(at, std::min(kMax, bytes.size() - at));
      check(MPI_Bcast(part.data(), static_cast<int>(part.size()), MPI_BYTE, root, comm_),
            "MPI_Bcast");
    }
  }

  // Whether the blobs fit is decided by all ranks before the data moves: one rank that throws on
  // its own would leave the others in the collective.
  std::vector<std::string> gather(std::string_view blob) override {
    const Watchdog::Waiting waiting(told());
    if (sum(static_cast<double>(blob.size())) > INT32_MAX)
      throw Error("the results of all ranks exceed 2 GiB; ask for fewer sizes or fewer iterations");
    const int length = static_cast<int>(blob.size());
    std::vector<int> lengths(is_root() ? static_cast<size_t>(size_) : 0);
    check(MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, comm_), "MPI_Gather");
    return is_root() ? receive(blob, lengths) : send(blob);
  }

  std::string broadcast_text(std::string text) override {
    const Watchdog::Waiting waiting(told());
    auto length = static_cast<unsigned long long>(text.size());
    check(MPI_Bcast(&length, 1, MPI_UNSIGNED_LONG_LONG, 0, comm_), "MPI_Bcast");
    text.resize(length);
    broadcast(std::as_writable_bytes(std::span(text)), 0);
    return text;
  }

  int agree(int status, double deadline_seconds) override {
    const Watchdog::Waiting waiting(told());
    int agreed = status;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(&status, &agreed, 1, MPI_INT, MPI_MAX, comm_, &request), "MPI_Iallreduce");
    const double end = monotonic_seconds() + deadline_seconds;
    for (int done = 0;;) {
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done != 0) return agreed;
      if (monotonic_seconds() > end) {
        throw Error(said("comm.waited_long", rank_, fmt::format("{:.0f}", deadline_seconds)),
                    ExitCode::deadline);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

 private:
  double reduce(double value, MPI_Op op) {
    const Watchdog::Waiting waiting(told());
    double result = 0;
    check(MPI_Allreduce(&value, &result, 1, MPI_DOUBLE, op, comm_), "MPI_Allreduce");
    return result;
  }

  std::vector<std::string> send(std::string_view blob) {
    check(MPI_Gatherv(blob.data(), static_cast<int>(blob.size()), MPI_BYTE, nullptr, nullptr,
                      nullptr, MPI_BYTE, 0, comm_),
          "MPI_Gatherv");
    return {};
  }

  std::vector<std::string> receive(std::string_view blob, const std::vector<int>& lengths) {
    std::vector<int> offsets(lengths.size());
    long long total = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      offsets[i] = static_cast<int>(total);
      total += lengths[i];
    }
    std::string all(static_cast<size_t>(total), '\0');
    check(MPI_Gatherv(blob.data(), static_cast<int>(blob.size()), MPI_BYTE, all.data(),
                      lengths.data(), offsets.data(), MPI_BYTE, 0, comm_),
          "MPI_Gatherv");
    std::vector<std::string> out;
    for (size_t i = 0; i < lengths.size(); ++i)
      out.push_back(all.substr(static_cast<size_t>(offsets[i]), static_cast<size_t>(lengths[i])));
    return out;
  }

  mpi::Communicator own_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace

std::unique_ptr<Comm> world_comm() {
  int rank = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  return std::make_unique<MpiComm>(mpi::Communicator::split_world(0, rank));
}

std::unique_ptr<Comm> part_of(const Comm& whole, int colour, int key) {
  if (whole.size() == 1) return single_comm();
  auto out = std::make_unique<MpiComm>(mpi_part_of(whole, colour, key));
  out->tell(whole.told());
  return out;
}

mpi::Communicator mpi_part_of(const Comm& whole, int colour, int key) {
  const Watchdog::Waiting waiting(whole.told());
  return dynamic_cast<const MpiComm&>(whole).part(colour, key);
}

}  // namespace cb
