#pragma once

#include <atomic>
#include <deque>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "bench/cancel.h"
#include "bench/net/pair_end.h"
#include "sys/tcp_socket.h"

namespace cb::tcp {

// How transfers are to be made, the same on both ends.
struct Spec {
  bool latency = false;
  bool two_way = false;
  int streams = 1;             // connections per direction, a thread each
  uint64_t bytes = 128 << 10;  // of a call; of a message for latency
  double seconds = 2;          // of all repetitions together
  int repetitions = 5;         // windows of bandwidth, each a sample
  uint64_t iterations = 0;     // of latency; 0: by time
  bool zero_copy = false;
  bool verify = true;
  bool corrupt = false;  // test hook: this end spoils a byte of what it received
};

// Position p of every stream carries pattern[p mod bytes].
std::vector<std::byte> make_pattern(uint64_t bytes);

// What the two ends tell each other over a connection beside the measured ones.
class Control {
 public:
  void set(net::Socket socket) { socket_ = std::move(socket); }
  // Both ends have come this far. Throws Error past the deadline or with the peer's failure.
  void barrier(double deadline_seconds);
  void send(const std::vector<double>& values);
  void send_failure(const std::string& text);
  std::vector<double> receive(double deadline_seconds);

 private:
  net::Socket socket_;
};

// One end of a measured transfer over TCP.
class TcpEnd : public net::PairEnd {
 public:
  TcpEnd(net::Interface interface, const Spec& spec, const net::PairJob& job,
         const CancelToken& cancel);
  std::string address() override;
  void connect(const std::string& peer_address, double deadline_seconds) override;
  net::PairOutcome run(double deadline_seconds) override;

 private:
  // One connection in one direction while it is measured; `bytes` is read by another thread.
  struct Stream {
    const net::Socket* socket = nullptr;
    bool outgoing = false;
    std::atomic<uint64_t> bytes{0};
    double cpu_seconds = 0;
    std::string failure = {};
  };
  bool outgoing() const { return job_.task.sends || spec_.two_way; }
  bool incoming() const { return !job_.task.sends || spec_.two_way; }
  void accept_streams();
  void stream(net::PairOutcome& out);
  void ping_pong(net::PairOutcome& out);
  void begin(net::PairOutcome& out);
  void answer();
  void send_loop(Stream& stream);
  void receive_loop(Stream& stream);
  void check(Stream& stream, std::span<std::byte> got);
  std::vector<double> sample_windows();
  void add_costs(net::PairOutcome& out);
  double left() const;

  net::Interface interface_;
  Spec spec_;
  net::PairJob job_;
  const CancelToken& cancel_;
  net::Socket listener_;
  uint64_t token_;
  Control control_;
  std::vector<net::Socket> out_, in_;
  std::vector<std::byte> pattern_;  // twice, so that any window of it is in one piece
  double end_ = 0;
  std::atomic<bool> stop_{false};
  std::deque<Stream> streams_;
  std::mutex mutex_;
  std::string wrong_;
  uint64_t checked_ = 0;
};

}  // namespace cb::tcp
