#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "sys/net/poll_socket.h"

namespace cb {

// What goes over the side channel: a kind, and bytes whose meaning depends on it.
struct Frame {
  char kind = 0;
  std::string body = {};
};

namespace frame {
inline constexpr char kWelcome = 'W';  // token: the first one from rank 0
inline constexpr char kPing = 'P';     // rank 0 is alive
inline constexpr char kState = 'S';    // a rank's state as JSON
inline constexpr char kExpired = 'E';  // the same, and its watchdog has expired
inline constexpr char kRecord = 'R';   // a rank's share of its next record
inline constexpr char kHeard = 'A';    // rank 0 knows of a trouble and has the last states
inline constexpr char kEnding = 'X';   // rank 0 ends the job now: its going is no surprise
inline constexpr char kBye = 'B';  // ends the channel in order; body: why, if something is wrong
}  // namespace frame

// Frames over one socket: kind (1 byte), length (4 bytes, little endian), body. Never blocks.
class FrameLink {
 public:
  // A peer that sends a longer frame, or anything long before `trust()`, is cut off.
  static constexpr size_t kMax = size_t{256} << 20;
  static constexpr size_t kMaxUntrusted = 512;

  FrameLink() = default;
  explicit FrameLink(Socket socket) : socket_(std::move(socket)) {}

  const Socket& socket() const { return socket_; }
  bool open() const { return socket_.open(); }
  void close() { socket_.close(); }
  void trust() { longest_ = kMax; }

  void queue(char kind, std::string_view body);
  void queue_greeting(std::string_view bytes) { out_ += bytes; }  // in front of every frame
  bool has_output() const { return sent_ < out_.size(); }
  // Both return false when the connection has ended or broken.
  bool flush();
  bool fill();
  std::optional<Frame> next();  // a whole frame that has arrived

 private:
  Socket socket_;
  size_t longest_ = kMaxUntrusted;
  std::string in_, out_;
  size_t sent_ = 0;
};

}  // namespace cb
