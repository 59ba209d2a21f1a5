#include "bench/harness/points.h"

#include <limits>

#include "bench/harness/declared.h"
#include "core/clock.h"
#include "sys/gpu/nvtx.h"

namespace cb {
namespace {

// How long a rank that failed waits for the others to come to the end of the point. The others are
// under the watchdog: a rank that still measures has no such limit.
constexpr double kFailedWaitsSeconds = 60;

// What became of a point on a rank; the largest over the ranks counts.
enum PointStatus { point_fine = 0, point_failed = 1, point_refused = 2, point_interrupted = 3 };

struct PointAttempt {
  PointStatus status = point_fine;
  std::vector<Record> records = {};
  Said failure = {};
  Problems refusal = {};
};

class PointLoop {
 public:
  PointLoop(Context& context, std::string_view case_name, const std::vector<PointName>& points,
            const MeasurePoint& measure)
      : context_(context), case_name_(case_name), points_(points), measure_(measure) {}

  std::vector<Record> run() {
    for (size_t i = 0; i < points_.size(); ++i) {
      context_.progress.update(static_cast<double>(i) / static_cast<double>(points_.size()),
                               points_[i].text);
      for (Record& record : records_of(i)) {
        context_.finish(record);
        finished_.push_back(std::move(record));
      }
    }
    return std::move(finished_);
  }

 private:
  // What this rank has is published before the ranks meet: one that never comes takes only its own
  // share with it.
  std::vector<Record> records_of(size_t i) {
    const std::string started = utc_now();
    PointAttempt mine = attempt(i);
    if (mine.status == point_failed) mine.records = {without_number(i, mine)};
    set_times(mine.records, started);
    for (const Record& record : mine.records) context_.publish(record);
    switch (agreed(mine)) {
      case point_interrupted:
        throw Interrupted();
      case point_refused:
        throw UsageError("clusterbench " + case_name_, mine.refusal);
      case point_failed:
        mine.records = {without_number(i, mine)};
        set_times(mine.records, started);
        break;
      case point_fine:
        break;
    }
    return std::move(mine.records);
  }

  static void set_times(std::vector<Record>& records, const std::string& started) {
    for (Record& record : records) {
      if (record.started.empty()) record.started = started;
      if (record.ended.empty()) record.ended = utc_now();
    }
  }

  PointAttempt attempt(size_t i) {
    const nvtx::Range range(points_[i].text);
    try {
      PointAttempt out{.records = measure_(i)};
      if (context_.info != nullptr) {
        for (Record& record : out.records) complete_metrics(record, *context_.info);
      }
      return out;
    } catch (const Interrupted&) {
      return {.status = point_interrupted};
    } catch (const UsageError& e) {
      if (finished_.empty()) return {.status = point_refused, .refusal = e.problems()};
      return {.status = point_failed, .failure = said_by(e)};
    } catch (const std::exception& e) {
      return {.status = point_failed, .failure = said_by(e)};
    }
  }

  // Collective. A rank that failed says why at once: the others may be stuck where it left them.
  PointStatus agreed(const PointAttempt& mine) {
    context_.watchdog.note("waiting for the other ranks at the end of a point");
    if (mine.status == point_failed) context_.watchdog.fail(pack_said(mine.failure));
    const double deadline =
        mine.status == point_failed ? kFailedWaitsSeconds : std::numeric_limits<double>::infinity();
    const int worst = agree(mine, deadline);
    context_.watchdog.note("running");
    return static_cast<PointStatus>(worst);
  }

  int agree(const PointAttempt& mine, double deadline) {
    try {
      return context_.comm.agree(mine.status, deadline);
    } catch (const Error& e) {
      if (mine.status != point_failed) throw;
      throw Error(said("said.of", context_.who(), said("said.because", mine.failure, e.said())),
                  e.code());
    }
  }

  // Where any rank failed, each has this share: why it failed, or nothing.
  Record without_number(size_t i, const PointAttempt& mine) const {
    Record record{.case_name = case_name_, .params = points_[i].params};
    if (mine.status == point_failed) record.outcome = Errored{context_.who(), mine.failure};
    return record;
  }

  Context& context_;
  std::string case_name_;
  const std::vector<PointName>& points_;
  const MeasurePoint& measure_;
  std::vector<Record> finished_;
};

}  // namespace

void keep_unfinished(Context& context, Record record) {
  if (context.info != nullptr) complete_metrics(record, *context.info);
  if (record.ended.empty()) record.ended = utc_now();
  context.publish(record);
  context.finish(record);
}

std::vector<Record> run_points(Context& context, std::string_view case_name,
                               const std::vector<PointName>& points, const MeasurePoint& measure) {
  return PointLoop(context, case_name, points, measure).run();
}

}  // namespace cb
