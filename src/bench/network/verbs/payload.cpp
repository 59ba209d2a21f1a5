#include "bench/network/verbs/payload.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace cb::verbs {
namespace {

// The finaliser of SplitMix64 (Steele, Lea, Flood 2014).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

void fill(std::byte* data, uint64_t bytes, uint64_t seed, uint8_t flip) {
  for (uint64_t i = 0; i < bytes; ++i)
    data[i] = static_cast<std::byte>(payload_byte(seed, i) ^ flip);
}

}  // namespace

uint64_t verified_bytes(const Spec& spec) {
  return spec.latency && spec.verb == Verb::write ? spec.bytes - 1 : spec.bytes;
}

bool is_target(const Spec& spec, bool sends) {
  if (!spec.verify || verified_bytes(spec) == 0) return false;
  const bool asks = sends || spec.two_way;
  const bool asked = !sends || spec.two_way;
  if (spec.verb == Verb::read) return asks;
  return asked || (spec.latency && !is_atomic(spec.verb));
}

// Datagrams can get lost and then arrive in another slot than they were sent from, so all slots
// hold the same. With rc, a message in a wrong slot is a wrong message.
uint64_t message_seed(const Spec& spec, uint64_t direction, size_t q, uint64_t slot) {
  const bool in_order = spec.service == Service::rc;
  return mixed(direction * 0x9e3779b97f4a7c15ULL + q * 1024 + (in_order ? slot : 0) + 1);
}

uint8_t payload_byte(uint64_t seed, uint64_t position) {
  return static_cast<uint8_t>(mixed(seed + position / 8) >> (position % 8 * 8));
}

void fill_payload(Link& link, uint64_t to_peer, uint64_t from_peer) {
  const Spec& spec = link.spec();
  for (size_t q = 0; q < link.pairs(); ++q) {
    for (uint64_t slot = 0; slot < link.slots(); ++slot) {
      if (is_atomic(spec.verb)) {
        std::memset(link.out(q, slot), 0, spec.bytes);
        std::memset(link.in(q, slot), 0, spec.bytes);
      } else {
        fill(link.out(q, slot), spec.bytes, message_seed(spec, to_peer, q, slot), 0);
        fill(link.in(q, slot), spec.bytes, message_seed(spec, from_peer, q, slot), 0xff);
      }
      if (spec.latency && spec.verb == Verb::write)
        link.in(q, slot)[spec.bytes - 1] = static_cast<std::byte>(0);
    }
  }
}

Landing landing_of(const Link& link) {
  return {link.spec(), link.pairs(), link.slots(),
          [&link](size_t q, uint64_t slot) { return link.in(q, slot); }};
}

std::optional<WrongByte> first_wrong(const Landing& in, uint64_t from_peer, const Counts& of_each) {
  const uint64_t bytes = verified_bytes(in.spec);
  for (size_t q = 0; q < in.pairs; ++q) {
    for (uint64_t slot = 0; slot < std::min(in.slots, of_each[q]); ++slot) {
      const uint64_t seed = message_seed(in.spec, from_peer, q, slot);
      const std::byte* data = in.at(q, slot);
      for (uint64_t i = 0; i < bytes; ++i) {
        const auto got = static_cast<uint8_t>(data[i]);
        if (got != payload_byte(seed, i)) return WrongByte{q, slot, i, got, payload_byte(seed, i)};
      }
    }
  }
  return std::nullopt;
}

Said check_payload(const Link& link, uint64_t from_peer, const Counts& of_each) {
  const auto wrong = first_wrong(landing_of(link), from_peer, of_each);
  if (!wrong) return {};
  return said("verbs.wrong_byte", link.device().name(), link.peer().name, wrong->pair, wrong->slot,
              wrong->position, verified_bytes(link.spec()), fmt::format("0x{:02x}", wrong->got),
              fmt::format("0x{:02x}", wrong->wanted));
}

Said check_atomics(const Link& link, uint64_t messages) {
  uint64_t sum = 0;
  for (size_t q = 0; q < link.pairs(); ++q) {
    uint64_t value = 0;
    std::memcpy(&value, link.in(q, 0), sizeof(value));
    sum += value;
  }
  if (sum == messages) return {};
  return said("verbs.words", link.device().name(), sum, messages, link.peer().name);
}

void spoil(const Landing& in, const Counts& of_each) {
  const uint64_t bytes = is_atomic(in.spec.verb) ? 1 : verified_bytes(in.spec);
  size_t q = in.pairs - 1;
  while (q > 0 && of_each[q] == 0) --q;
  if (bytes > 0) in.at(q, 0)[bytes / 2] ^= static_cast<std::byte>(0x10);
}

}  // namespace cb::verbs
