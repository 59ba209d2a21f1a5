#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"

namespace cb {

// The hash of one GPU's result. GPUs of one kind (model, SM count, library, algorithm, shape, seed)
// compute the same bits; others need not.
struct Ballot {
  std::string gpu;  // "node03:5"
  std::string kind;
  uint64_t hash = 0;
};

// The right hash for each kind of GPU.
struct Golden {
  std::map<std::string, uint64_t> by_kind = {};
  std::map<std::string, Said> undecided = {};  // kind → why there is no majority
  // Kinds with a single GPU: no vote is possible.
  std::vector<std::string> alone = {};
};

// The hash of each kind that more than half of its GPUs have. A single GPU confirms itself; two
// GPUs that differ decide nothing.
Golden vote(const std::vector<Ballot>& ballots);

// Stored hashes ("clusterbench.golden/1"). golden_from_text() throws UsageError that names
// `source`.
std::string golden_to_text(const std::map<std::string, uint64_t>& by_kind);
std::map<std::string, uint64_t> golden_from_text(const std::string& text,
                                                 const std::string& source);

// The place of a wrong bit: the element of a column-major result with `rows` rows, and its bits.
struct WrongPlace {
  int64_t row = 0, column = 0;
  uint64_t bits = 0;  // the bits of the element that differ
};
// `word` is the index of the differing 64-bit word; `found` and `wanted` are its two values.
WrongPlace locate_wrong(uint64_t word, uint64_t found, uint64_t wanted, int element_bits,
                        int64_t rows);
// "row 17 column 4096 (tile 0,32 of 128×128), bit 13"
std::string to_text(const WrongPlace& place);

}  // namespace cb
