#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "bench/harness/oob/channel.h"
#include "core/result.h"

namespace cb {

// What is said and written when a job does not come to its end by itself: who did not arrive, every
// rank's last state, and the records that were finished. Works while the main thread is stuck.
class LastWords {
 public:
  // `who`: this process, "node03 rank 5"; `json`: where the document goes, empty for nowhere.
  LastWords(std::string case_name, std::string who, std::string json)
      : case_name_(std::move(case_name)), who_(std::move(who)), json_(std::move(json)) {}

  // Collective. `document` has everything but records.
  std::shared_ptr<SideChannel> open_channel(Comm& comm, const Place& place, Watchdog& watchdog,
                                            const CancelToken& cancel, const Document& document);

  // On the watchdog's thread: leaves the end to rank 0 if that still answers, else says where this
  // rank stands and ends the job with ExitCode::deadline.
  void on_expiry(const WatchState& state);

 private:
  void on_trouble(const Trouble& trouble);
  void write_partial(const Trouble& trouble, const Said& reason);

  std::string case_name_, who_, json_;
  std::string root_host_;
  Document document_;
  std::mutex mutex_;
  std::shared_ptr<SideChannel> channel_;
};

}  // namespace cb
