#include "bench/harness/declared.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"

namespace cb {

void complete_metrics(Record& record, const CaseInfo& info) {
  for (Metric& m : record.metrics) {
    const auto def = std::find_if(info.metrics.begin(), info.metrics.end(),
                                  [&](const MetricDef& d) { return d.name == m.name; });
    if (def == info.metrics.end())
      throw Error(fmt::format("case {} does not declare its metric {}", info.name, m.name));
    if (!m.unit.empty() && m.unit != def->unit)
      throw Error(fmt::format("case {} declares {} in {}, not in {}", info.name, m.name, def->unit,
                              m.unit));
    m.unit = def->unit;
    m.better = def->better;
  }
}

}  // namespace cb
