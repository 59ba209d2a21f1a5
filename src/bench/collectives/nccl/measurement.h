#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "bench/collectives/figures.h"
#include "bench/collectives/link_rates.h"
#include "bench/collectives/nccl/call.h"
#include "bench/collectives/nccl/library_log.h"
#include "bench/collectives/nccl/ranks.h"

namespace cb::nccl {

// Measures the points of `nccl`: one group's collective, or those of all dimensions of a grid at
// the same time.
class Measurement {
 public:
  // `log` is null if the library logs nothing. `map` is that of all processes.
  Measurement(Context& context, const Params& params, const Library& library,
              Environment environment, LibraryLog* log, const std::vector<RankDevices>& map);

  // Collective. A group in which this process works, with devices of its own and its points; makes
  // the communicators. All three must outlive the measurement.
  void add_lane(const Group& group, Devices& devices, const std::vector<CollectivePoint>& points);

  // Collective. The record of point i, this rank's share.
  Record run(size_t i);

 private:
  struct Lane {
    const Group& group;
    const std::vector<CollectivePoint>& points;
    std::unique_ptr<Communicators> comms;
    LinkRates wires;
  };

  Record run_alone(const Lane& lane, size_t i);
  Record run_grid(size_t i);
  std::unique_ptr<NcclCall> call_of(const Lane& lane, size_t i) const;
  int calls_of(const CollectivePoint& point, const std::function<void()>& run_once);
  double seconds_of_a_call(const CollectivePoint& point, const std::function<void()>& run_once);
  void describe(Record& record, const std::vector<const NcclCall*>& calls);
  void end_alone(Record& record, const PointResult& result);
  void add_figures(Record& record, const Lane& lane, const CollectivePoint& point,
                   const PointResult& result, const std::optional<double>& estimate);
  void add_domains(Record& record, bool measured) const;
  CollectiveAlgorithm algorithm() const;  // nothing else was chosen since the last point

  Context& context_;
  const Params& params_;
  const Library& library_;
  Environment environment_;
  LibraryLog* log_;
  std::vector<std::string> domain_of_rank_;  // NVLink domains, empty where none is known
  std::vector<DomainCount> domains_;
  std::vector<std::string> hosts_;  // as the domains number them
  std::vector<Lane> lanes_;
};

}  // namespace cb::nccl
