#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sys/net/poll_socket.h"

namespace cb {

// An address and port at which this process can be reached.
struct Door {
  std::string address;
  int port = 0;
};

// Accepts the connections of a job's other ranks, at little cost: strangers get no thread, little
// memory, few descriptors and a short time. A rank of the job first sends a greeting of a fixed
// length, which begins with the job's token. Nothing here waits.
class Reception {
 public:
  static constexpr size_t kMaxGuests = 64;  // guests that have not greeted yet
  static constexpr double kGreetingSeconds = 2;
  // While all places are taken, a guest that has been silent for this time loses its place: the
  // job's ranks greet at the moment in which they connect.
  static constexpr double kCrowdedSeconds = 0.1;

  Reception() = default;  // listens nowhere
  // Listens at each of `addresses` that allows it, on ports that the kernel chooses. Throws Error
  // if none does.
  Reception(const std::vector<std::string>& addresses, std::string token, size_t greeting_bytes,
            uint64_t buffer_bytes = 0);

  const std::vector<Door>& doors() const { return doors_; }
  bool open() const { return !listeners_.empty(); }
  size_t guests() const { return guests_.size(); }

  // Adds the sockets that wait_for_any() has to wait for.
  void watch(std::vector<Watched>& sockets, double now) const;
  // A rank that has greeted, with its whole greeting. `watched` is what watch() added.
  struct Arrival {
    Socket socket;
    std::string greeting;
  };
  std::vector<Arrival> serve(std::span<const Watched> watched, double now);
  // Turns all guests away and stops listening.
  void close();

 private:
  struct Guest {
    Socket socket;
    std::string greeting = {};
    double since = 0;
  };

  bool admits(double now) const;
  void admit(const Socket& listener, double now, std::vector<Arrival>& out);
  bool hear(Guest& guest, std::vector<Arrival>& out) const;
  void turn_away(size_t guest);
  void make_room(double now);
  void rest(double now);

  std::vector<Socket> listeners_;
  std::vector<Door> doors_;
  std::string token_;
  size_t greeting_bytes_ = 0;
  std::vector<Guest> guests_;  // the oldest first
  double rest_until_ = 0;      // no connection is accepted before this time
  double window_began_ = 0;    // start of the window in which turned_away_ counts
  size_t turned_away_ = 0;
};

}  // namespace cb
