#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "bench/network/verbs/link.h"

// The payload, and the check of what arrived. Every byte depends on the direction, the queue pair,
// the slot and its position. Memory that was not overwritten holds the complement, so untouched
// memory never looks right.
namespace cb::verbs {

using Counts = std::vector<uint64_t>;  // messages, by queue pair

// Where messages lie that arrived.
struct Landing {
  const Spec& spec;
  size_t pairs = 0;
  uint64_t slots = 0;  // of each queue pair
  std::function<std::byte*(size_t q, uint64_t slot)> at;
};
Landing landing_of(const Link& link);

struct WrongByte {
  size_t pair = 0;
  uint64_t slot = 0, position = 0;
  uint8_t got = 0, wanted = 0;
};

// The seed of the message in a slot.
uint64_t message_seed(const Spec& spec, uint64_t direction, size_t q, uint64_t slot);
// The byte at `position` of a message.
uint8_t payload_byte(uint64_t seed, uint64_t position);

// Prepares a repetition: the pattern in `out`, its complement in `in`; zeros for atomics. `to_peer`
// and `from_peer` distinguish the two directions.
void fill_payload(Link& link, uint64_t to_peer, uint64_t from_peer);

// The first wrong byte after `of_each` messages; a queue pair that got none has nothing to compare.
// `from_peer` is the seed that the sender used.
std::optional<WrongByte> first_wrong(const Landing& in, uint64_t from_peer, const Counts& of_each);
// Returns "" if there is none in `in`, else a text about it.
Said check_payload(const Link& link, uint64_t from_peer, const Counts& of_each);

// Checks that the queue pairs' words counted all `messages` atomics. Returns "" if they did.
Said check_atomics(const Link& link, uint64_t messages);

// Test hook: spoils one byte of what arrived, in the middle of a message of the last queue pair
// that got one.
void spoil(const Landing& in, const Counts& of_each);

// Bytes of a message that are compared. The last byte of a written latency message is the one that
// the receiver waits for: it is not.
uint64_t verified_bytes(const Spec& spec);

}  // namespace cb::verbs
