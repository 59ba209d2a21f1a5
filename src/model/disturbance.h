// Whether other work on a host disturbed a measurement: docs/methods/judging.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace cb {

// Names of two deltas in a record's telemetry. Both are seconds of processor time of a host while
// the case ran: the time that other programs took (and that a hypervisor took for other guests),
// and the time that there was.
inline constexpr std::string_view kOthersCpuSeconds = "cpu_seconds_of_others";
inline constexpr std::string_view kHostCpuSeconds = "cpu_seconds_of_host";

// If others took a larger share of a host's processors, the host was not measured alone.
inline constexpr double kDisturbedShare = 0.1;

// Returns the share of the host's processor time that others took, 0 to 1. An empty `host` means
// the host with the largest share. Nothing if the record does not say.
std::optional<double> share_of_others(const Record& record, const std::string& host = "");

// True if that share is above kDisturbedShare.
bool disturbed(const Record& record, const std::string& host = "");

// True if other work can worsen a figure in this unit: rates and times, not counts or states.
bool can_suffer(std::string_view unit);

}  // namespace cb
