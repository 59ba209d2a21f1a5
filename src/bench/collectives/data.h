#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/messages/said.h"
#include "kernels/collective_data.h"

// What the ranks send and what they must receive. Data depend on rank, index and iteration, so that
// lost, stale, shifted and swapped data are all detected. Their reduction over any number of ranks
// has a closed form that is exact in the type. See docs/methods/collectives-data.md.
namespace cb {

using ElementType = kernels::Element;
using Reduction = kernels::Reduce;
using kernels::Terms;

// The names of nccl-tests: int8 … float double, half bfloat16 f8e4m3 f8e5m2. MPI has the first
// eight.
const std::vector<std::string>& element_type_names();
// sum prod min max avg mulsum; only NCCL has the last two.
const std::vector<std::string>& reduction_names();
ElementType element_type_of(std::string_view name);
Reduction reduction_of(std::string_view name);
const std::string& element_type_name(ElementType type);
const std::string& reduction_name(Reduction reduction);
uint64_t element_bytes(ElementType type);

// Elements that differ from what they should be.
struct Mismatch {
  uint64_t count = 0;
  uint64_t first = 0;  // index of the first wrong element in the verified span
  Said text;           // "got 3, expected 4"
};

// For data that are only moved: the pattern of rank `rank` in this iteration, starting at its byte
// `first_byte` (a multiple of 8).
uint64_t pattern_seed(uint64_t rank, uint64_t iteration);
void fill_pattern(std::span<std::byte> out, uint64_t rank, uint64_t iteration, uint64_t first_byte);
std::optional<Mismatch> verify_pattern(std::span<const std::byte> in, uint64_t rank,
                                       uint64_t iteration, uint64_t first_byte,
                                       uint64_t bytes_per_element);

// Writes one rank's terms of a reduction: elements from index 0 on.
void fill_terms(const Terms& terms, uint64_t rank, std::span<std::byte> out);
// The number by which this rank multiplies its terms in a mulsum, in the format of the type.
std::vector<std::byte> mulsum_factor(ElementType type, uint64_t rank);
// Checks reduced elements; the first of `in` has index `first_index`.
std::optional<Mismatch> verify_reduced(const Terms& terms, uint64_t first_index,
                                       std::span<const std::byte> in);

}  // namespace cb
