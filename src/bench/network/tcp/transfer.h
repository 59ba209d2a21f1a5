#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "bench/network/pair_endpoint.h"
#include "bench/network/tcp/stream_thread.h"

namespace cb::tcp {

// One end of a bandwidth measurement. Starts the threads, leads them through warm-up, trials and
// repetitions, and reads how much arrives.
class Transfer {
 public:
  // seed(stream, of_this_end) is the seed of the payload that this end sends (true) or receives
  // (false). `prefix` begins the names of this end's further figures. `cpus` is the number of CPUs
  // that it can count on.
  Transfer(const Link& link, const Spec& spec, bool sends, bool receives,
           const std::function<uint64_t(size_t, bool)>& seed, std::string prefix, size_t cpus,
           const Until& until);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Called on both ends at once. Throws Error that names the peer if something ends the transfer
  // early.
  void run(net::PairOutcome& out);

 private:
  template <typename Streams>
  void distribute(const Streams& streams, size_t cpus,
                  std::vector<std::unique_ptr<StreamThread>>& threads);
  void pause_until(double time);
  void try_both_ways(double begin);
  void end_streams();
  void require_healthy() const;
  std::vector<double> windows(double begin);
  std::vector<double> exchange_rates(const std::vector<double>& mine);
  void add_states(net::PairOutcome& out, const std::vector<TcpState>& before) const;
  void add_cpu(net::PairOutcome& out) const;
  void lose(double share) const;  // of what arrives at this end
  std::vector<TcpState> states() const;
  uint64_t received() const;

  const Link& link_;
  const Spec& spec_;
  std::string prefix_;
  const Until& until_;
  TransferControl control_;
  std::vector<std::unique_ptr<Sender>> senders_;
  std::vector<std::unique_ptr<Receiver>> receivers_;
  std::vector<std::unique_ptr<StreamThread>> sending_, receiving_;
  bool peer_done_ = false;
  Said zero_copy_fact_;
};

// Whether sending without a copy is worthwhile, and why. The trials of both ways took equal times.
struct ZeroCopyChoice {
  bool use = false;
  Said why;
};
ZeroCopyChoice choose_zero_copy(const Tally& copy, const Tally& zero_copy, bool really_zero);

}  // namespace cb::tcp
