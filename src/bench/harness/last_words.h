#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "bench/harness/document_place.h"
#include "bench/harness/job.h"
#include "bench/harness/oob/channel.h"
#include "core/result.h"

namespace cb {

// What is said and written when a job does not come to its end by itself: who did not arrive, every
// rank's last state, and the records that were finished. Works while the main thread is stuck.
class LastWords {
 public:
  LastWords(std::string case_name, const JobWorld& world, DocumentPlace& place, JobView& view)
      : case_name_(std::move(case_name)), world_(world), place_(place), view_(view) {}

  // Collective. `document` has everything but records.
  std::shared_ptr<SideChannel> open_channel(Comm& comm, const RankMap& place, Watchdog& watchdog,
                                            const CancelToken& cancel, const Document& document);

  // On the watchdog's thread: leaves the end to rank 0 if that still answers, else says where this
  // rank stands and ends the job with ExitCode::deadline.
  void on_expiry(const WatchState& state);

  // True if the caller may write the document: a file always, the standard output once.
  bool takes_output();

 private:
  void on_trouble(const JobFailure& trouble);
  void write_partial(const JobFailure& trouble, const Said& reason);
  // While the job runs: what every rank has finished, for the case that this process is killed.
  void keep(std::vector<Record> finished);
  void write(std::vector<Record> records, const Said& reason);

  std::string case_name_;
  const JobWorld& world_;
  DocumentPlace& place_;
  JobView& view_;
  std::string root_host_;
  Document document_;
  std::atomic<bool> taken_{false};
  std::atomic<bool> ended_{false};  // only a test's world comes back from its end
  std::timed_mutex writing_;
  std::mutex mutex_;
  std::shared_ptr<SideChannel> channel_;
};

}  // namespace cb
