#include "bench/cpu/stream_team.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/error.h"

namespace cb {
namespace {

constexpr size_t kLine = 64 / sizeof(double);  // a cache line; streaming stores need its alignment
constexpr int kTrialPasses = 3;

}  // namespace

StreamTeam::StreamTeam(std::vector<int> cpus, size_t elements)
    : team_(std::move(cpus)),
      elements_((elements + kLine - 1) / kLine * kLine),
      a_(make_pages<double>(elements_)),
      b_(make_pages<double>(elements_)),
      c_(make_pages<double>(elements_)) {
  reset();
}

StreamArrays StreamTeam::part(int index) const {
  const Range mine = share_of_items(elements_, team_.size(), index, kLine);
  return {a_.get() + mine.begin, b_.get() + mine.begin, c_.get() + mine.begin, mine.size()};
}

void StreamTeam::reset() {
  expected_ = {};
  team_.run([&](int index) {
    const StreamArrays x = part(index);
    std::fill_n(x.a, x.count, expected_.a);
    std::fill_n(x.b, x.count, expected_.b);
    std::fill_n(x.c, x.count, expected_.c);
  });
}

double StreamTeam::pass(StreamOp op, const StreamVariant& variant) {
  const double start = monotonic_seconds();
  team_.run([&](int index) { variant.run(op, part(index)); });
  const double end = monotonic_seconds();
  apply(op, expected_);
  return end - start;
}

double StreamTeam::read_pass() {
  std::vector<double> sums(static_cast<size_t>(team_.size()));
  const double start = monotonic_seconds();
  team_.run([&](int index) { sums[static_cast<size_t>(index)] = read_arrays(part(index)); });
  const double seconds = monotonic_seconds() - start;
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  if (!std::isfinite(sum)) throw Error(said("memory.holds_nan"));
  return seconds;
}

const StreamVariant& StreamTeam::fastest(StreamOp op, const std::string& name) {
  const StreamVariant* best = nullptr;
  double shortest = 1e300;
  for (int round = 0; round < kTrialPasses; ++round) {
    for (const StreamVariant& v : stream_variants()) {
      if (!v.supported() || (name != "auto" && name != v.name)) continue;
      const double seconds = pass(op, v);
      if (best != nullptr && seconds >= shortest) continue;
      shortest = seconds;
      best = &v;
    }
  }
  if (best == nullptr)
    throw Error(fmt::format("no {} stores on this processor; next: --stores auto", name));
  return *best;
}

void StreamTeam::spoil() { a_[elements_ / 2] = -a_[elements_ / 2]; }

StreamErrors StreamTeam::verify_all() {
  std::vector<StreamErrors> parts(static_cast<size_t>(team_.size()));
  team_.run([&](int index) {
    StreamErrors& mine = parts[static_cast<size_t>(index)];
    mine = verify(part(index), expected_);
    mine.first += share_of_items(elements_, team_.size(), index, kLine).begin;
  });
  StreamErrors out;
  for (const StreamErrors& p : parts) {
    const uint64_t wrong = out.wrong + p.wrong;
    const double largest = std::max(out.largest_relative_error, p.largest_relative_error);
    if (out.wrong == 0 && p.wrong > 0) out = p;
    out.wrong = wrong;
    out.largest_relative_error = largest;
  }
  return out;
}

}  // namespace cb
