#pragma once

#include <cstdint>
#include <memory>

#include "bench/harness/comm.h"
#include "model/training/cost.h"

// Who exchanges what in a training step.
namespace cb::training {

// An exchange that goes on while its caller computes. It is the asking that moves it on.
class Pending {
 public:
  virtual ~Pending() = default;
  virtual bool done() = 0;  // never waits
  virtual void wait();      // asks until it is done
};

// Ranks that exchange arrays. All calls are collective over the group, in the same order. A group
// of one does nothing and costs nothing.
template <typename Real>
class Group {
 public:
  virtual ~Group() = default;
  virtual int size() const = 0;
  virtual int rank() const = 0;

  virtual void all_reduce(Real* data, int64_t count) = 0;  // sum
  virtual void all_reduce_max(Real* data, int64_t count) = 0;
  // `each`: elements of one rank's part. `whole` has size() parts.
  virtual void reduce_scatter(const Real* whole, Real* part, int64_t each) = 0;
  virtual void all_gather(const Real* part, Real* whole, int64_t each) = 0;
  virtual std::unique_ptr<Pending> start_all_reduce(Real* data, int64_t count) = 0;
  virtual std::unique_ptr<Pending> start_reduce_scatter(const Real* whole, Real* part,
                                                        int64_t each) = 0;
};

// The neighbours of a pipeline's stage.
template <typename Real>
class Pipeline {
 public:
  virtual ~Pipeline() = default;
  virtual int stages() const = 0;
  virtual int stage() const = 0;
  // To the next (+1) or the previous (−1) stage. The data may be reused at once.
  virtual void send(int direction, const Real* data, int64_t count) = 0;
  virtual void receive(int direction, Real* data, int64_t count) = 0;
  // Until everything that was sent has been taken.
  virtual void flush() = 0;
};

// Where a rank stands. Ranks that share matrices are neighbours, so that they lie on one host;
// then come the replicas, and last the stages (Narayanan et al., arXiv 2104.04473, §3.3):
// rank = tensor + t·(data + d·stage).
struct Coordinates {
  int tensor = 0;
  int data = 0;
  int stage = 0;
};
Coordinates coordinates_of(int rank, const Layout& layout);
int rank_at(const Coordinates& at, const Layout& layout);

// All that a rank exchanges through, and the time that it waits there.
template <typename Real>
struct Fabric {
  std::unique_ptr<Group<Real>> tensor;
  std::unique_ptr<Group<Real>> data;
  std::unique_ptr<Pipeline<Real>> pipeline;
  // The ranks of `tensor`, for numbers in the host's memory; null: `tensor` takes them.
  std::unique_ptr<Group<Real>> words = {};

  Group<Real>& agreement() { return words ? *words : *tensor; }
};

// Collective over the ranks of `comm`, which must be layout.ranks(). With one rank no MPI is
// needed. An exchange tells whom `comm` tells.
template <typename Real>
Fabric<Real> connect(Comm& comm, const Layout& layout);

extern template Fabric<float> connect(Comm&, const Layout&);
extern template Fabric<double> connect(Comm&, const Layout&);

}  // namespace cb::training
