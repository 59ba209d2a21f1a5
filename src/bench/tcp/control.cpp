#include <array>
#include <cstring>

#include "bench/tcp/end.h"
#include "core/error.h"

namespace cb::tcp {
namespace {

constexpr uint32_t kMostValues = 4096;

struct Head {
  uint32_t failed = 0;
  uint32_t count = 0;  // doubles, or characters of a failure
};

std::span<const std::byte> bytes_of(const Head& head) { return std::as_bytes(std::span(&head, 1)); }

}  // namespace

void Control::send(const std::vector<double>& values) {
  constexpr double kSeconds = 5;  // a few bytes: the peer's kernel takes them at once
  send_all(socket_, bytes_of({0, static_cast<uint32_t>(values.size())}), kSeconds);
  send_all(socket_, std::as_bytes(std::span(values)), kSeconds);
}

void Control::send_failure(const std::string& text) {
  if (!socket_.open()) return;
  const std::string part = text.substr(0, 1000);
  send_all(socket_, bytes_of({1, static_cast<uint32_t>(part.size())}), 1);
  send_all(socket_, std::as_bytes(std::span(part)), 1);
}

std::vector<double> Control::receive(double deadline_seconds) {
  Head head;
  receive_all(socket_, std::as_writable_bytes(std::span(&head, 1)), deadline_seconds);
  if (head.count > kMostValues) throw Error("the peer speaks another language");
  if (head.failed != 0) {
    std::string text(head.count, '\0');
    receive_all(socket_, std::as_writable_bytes(std::span(text)), deadline_seconds);
    throw Error("the other end: " + text);
  }
  std::vector<double> out(head.count);
  receive_all(socket_, std::as_writable_bytes(std::span(out)), deadline_seconds);
  return out;
}

void Control::barrier(double deadline_seconds) {
  send({});
  receive(deadline_seconds);
}

}  // namespace cb::tcp
