#pragma once

#include <string>

#include "bench/network/verbs/link.h"

// What is sent, and whether it came. Every byte depends on the pair, the queue pair, the slot and
// its position; what has not been overwritten is the complement, so nothing untouched looks right.
namespace cb::verbs {

// The byte at `position` of a message.
uint8_t payload_byte(uint64_t seed, uint64_t position);

// Prepares a repetition: pattern in `out`, its complement in `in`; zeros for atomics. `to_peer` and
// `from_peer` tell the two directions apart.
void fill_payload(Link& link, uint64_t to_peer, uint64_t from_peer);

// What arrived in `in` after `messages` of each queue pair: empty if right, else the first wrong
// byte. `from_peer` as the sender filled it.
Said check_payload(const Link& link, uint64_t from_peer, uint64_t messages);

// Whether the queue pairs' words, the targets of `messages` atomics, counted them all.
Said check_atomics(const Link& link, uint64_t messages);

// Test hook: spoils one byte of what arrived, in the middle of the last queue pair's message.
void corrupt_payload(Link& link);

}  // namespace cb::verbs
