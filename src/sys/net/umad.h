#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sys/os/fs_root.h"

namespace cb::umad {

using Datagram = std::array<uint8_t, 256>;

struct Received {
  Datagram datagram;
  bool timed_out = false;  // the kernel gave up waiting; the datagram is the question
};

// A port of this host by which management datagrams are sent. libibumad is opened at run time:
// CLUSTERBENCH_UMAD_LIBRARY names another file.
class Port {
 public:
  // `device` "" and `number` 0: the first active one. Throws Error with the reason and the next
  // step: no library, no device, no right to open it.
  static Port open(const FsRoot& fs, const std::string& device, int number);
  ~Port();
  Port(Port&&) noexcept;
  Port& operator=(Port&&) = delete;

  // Sends a question of that class. `lid` 0: directed by the path in it. The kernel waits for the
  // answer. Throws Error.
  void send(const Datagram& datagram, uint16_t lid, int timeout_ms);
  // Returns what arrives within `wait_ms`, or nothing. Throws Error.
  std::optional<Received> receive(int wait_ms);

 private:
  struct Library;
  Port(std::shared_ptr<const Library> library, int id);
  int agent_of(uint8_t management_class) const;

  std::shared_ptr<const Library> library_;
  int id_ = -1;
  std::array<int, 4> agents_{-1, -1, -1, -1};
};

}  // namespace cb::umad
