// Whether other work on a host disturbed a measurement: docs/methods/judging.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/result.h"

namespace cb {

// Names of two deltas in a record's telemetry, both in seconds of processor time while the case
// ran, both about a host: what programs that are not of this measurement took (and what a
// hypervisor took for other guests), and what there was.
inline constexpr std::string_view kOthersCpuSeconds = "cpu_seconds_of_others";
inline constexpr std::string_view kHostCpuSeconds = "cpu_seconds_of_host";

// A host whose processors others took to a larger share was not measured alone.
inline constexpr double kDisturbedShare = 0.1;

// The share of the host's processor time that others took, 0 to 1; of the host where it was largest
// if `host` is empty. Nothing where the record does not say.
std::optional<double> share_of_others(const Record& record, const std::string& host = "");

// Whether that share is above kDisturbedShare.
bool disturbed(const Record& record, const std::string& host = "");

// Whether a figure in this unit can suffer from other work: rates and times, no counts or states.
bool can_suffer(std::string_view unit);

}  // namespace cb
