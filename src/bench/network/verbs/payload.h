#pragma once

#include <string>

#include "bench/network/verbs/link.h"

// The payload, and the check of what arrived. Every byte depends on the direction, the queue pair,
// the slot and its position. Memory that was not overwritten holds the complement, so untouched
// memory never looks right.
namespace cb::verbs {

// The byte at `position` of a message.
uint8_t payload_byte(uint64_t seed, uint64_t position);

// Prepares a repetition: the pattern in `out`, its complement in `in`; zeros for atomics. `to_peer`
// and `from_peer` distinguish the two directions.
void fill_payload(Link& link, uint64_t to_peer, uint64_t from_peer);

// Checks `in` after `messages` messages of each queue pair. Returns "" if it is right, else a text
// about the first wrong byte. `from_peer` is the seed that the sender used.
Said check_payload(const Link& link, uint64_t from_peer, uint64_t messages);

// Checks that the queue pairs' words counted all `messages` atomics. Returns "" if they did.
Said check_atomics(const Link& link, uint64_t messages);

// Test hook: spoils one byte of what arrived, in the middle of a message of the last queue pair.
void corrupt_payload(Link& link);

// Bytes of a message that are compared. The last byte of a written latency message is the one that
// the receiver waits for: it is not.
uint64_t verified_bytes(const Spec& spec);

}  // namespace cb::verbs
