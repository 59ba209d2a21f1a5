#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "bench/harness/case.h"

namespace cb {

// One point of a measurement, before it is measured.
struct PointName {
  Params params;     // of its record where it could not be measured
  std::string text;  // for the progress, such as "fp64 4096"
};

// This rank's records of the point at that position.
using MeasurePoint = std::function<std::vector<Record>(size_t)>;

// Collective: every rank brings the same points. Measures one after the other and owns all that
// goes on around a point: progress, start and end, agreement of the ranks, publishing.
//
// A point that throws costs that point only: on every rank it becomes one record, errored where it
// was thrown, and the next point is measured. Interrupted ends the loop on all ranks; the
// runner keeps what was finished. A UsageError is passed on as long as
// nothing was measured.
std::vector<Record> run_points(Context& context, std::string_view case_name,
                               const std::vector<PointName>& points, const MeasurePoint& measure);

// A record of which the rest will not come, on every rank alike: where the job ends now, it is
// kept.
void keep_unfinished(Context& context, Record record);

// The same for a case's own kind of point: `name(point)` gives its PointName, `measure(point)` its
// Record or Records.
template <typename Point, typename Name, typename Measure>
std::vector<Record> run_points(Context& context, std::string_view case_name,
                               const std::vector<Point>& points, Name name, Measure measure) {
  std::vector<PointName> names;
  for (const Point& point : points) names.push_back(name(point));
  return run_points(context, case_name, names, [&](size_t i) {
    if constexpr (std::is_same_v<decltype(measure(points[i])), Record>) {
      std::vector<Record> out;
      out.push_back(measure(points[i]));
      return out;
    } else {
      return measure(points[i]);
    }
  });
}

}  // namespace cb
