#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sys/net/poll_socket.h"

namespace cb {

// Where one port of this process can be reached.
struct Door {
  std::string address;
  int port = 0;
};

// Takes the connections of a job's other ranks, and costs little whoever else comes: strangers get
// no thread, little memory, few descriptors and a short time. Who belongs to the job begins with a
// greeting of a fixed length that begins with its token. Nothing here waits.
class Reception {
 public:
  static constexpr size_t kMaxGuests = 64;  // that have not greeted yet
  static constexpr double kGreetingSeconds = 2;
  // While all places are taken, a guest that has been silent for so long gives up its own: ours
  // greet in the moment in which they connect.
  static constexpr double kCrowdedSeconds = 0.1;

  Reception() = default;  // closed
  // Listens at those of `addresses` that can be listened at, each on a port that the kernel
  // chooses. Throws Error if there is none.
  Reception(const std::vector<std::string>& addresses, std::string token, size_t greeting_bytes,
            uint64_t buffer_bytes = 0);

  const std::vector<Door>& doors() const { return doors_; }
  bool open() const { return !listeners_.empty(); }
  size_t guests() const { return guests_.size(); }

  // Adds what is to be waited for, for wait_for_any().
  void watch(std::vector<Watched>& sockets, double now) const;
  // Who has greeted, with the whole greeting. `watched`: what watch() added.
  struct Arrival {
    Socket socket;
    std::string greeting;
  };
  std::vector<Arrival> serve(std::span<const Watched> watched, double now);
  // Turns everybody away and listens no more.
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
  double rest_until_ = 0;      // no connection is taken before
  double window_began_ = 0;    // in which those turned away are counted
  size_t turned_away_ = 0;
};

}  // namespace cb
