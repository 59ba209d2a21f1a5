// Why a figure that misses its limit proves no defect: then it is left open, neither pass nor fail.
#pragma once

#include <optional>
#include <string>

#include "core/messages/texts.h"
#include "judge/campaign_data.h"
#include "judge/finding.h"

namespace cb {

// A median is known only as well as its confidence interval. If the limit lies within it, the next
// measurement might say the opposite.
std::optional<Message> doubt_of_interval(const Finding& finding, const Summary& summary);

// If one measurement meets the limit and another does not, the figure is not repeatable. Only a
// failure that every measurement shows counts.
std::optional<Message> doubt_of_attempts(const Finding& finding, const Metric& metric,
                                         const std::string& statistic);

// A low figure of a host that was busy with other work proves nothing against the host. `measured`
// is the entity as the record has it.
std::optional<Message> doubt_of_disturbance(const Finding& finding, const Entity& measured,
                                            const Record& record, const Job& job);

}  // namespace cb
