#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"

namespace cb {

// How one figure of one module moves over documents of `optics`.
struct OpticsTrend {
  Entity module;
  std::string figure;  // "receive_margin_decibels", "errors_per_bit" …
  size_t points = 0;
  double per_day = 0;                                  // slope; of errors per bit in decades
  std::optional<std::array<double, 2>> interval = {};  // of it, 95 %; nothing from too few points
  // Days from the last document on until the limit; nothing if it moves away from it. Of the slope,
  // and of both ends of the interval (the second one absent: perhaps never).
  std::optional<double> days = {}, days_at_least = {}, days_at_most = {};
  // The newest document of this host has the module and not this figure: it receives no light.
  bool outdated = false;

  // The interval is on the wrong side of zero as a whole.
  bool fades() const { return interval && days_at_least.has_value() && days_at_most.has_value(); }
};

// The trends of every module that at least three documents have figures of, those that fade first,
// by days. Limits: a margin of 0 dB over the maker's low warning limit, 1e-5 errors per bit. The
// line is Theil and Sen's (core/theil_sen.h). Documents in any order; one
// that is there twice counts once; those without a start are left out.
std::vector<OpticsTrend> optics_trends(std::span<const Document> documents);

}  // namespace cb
