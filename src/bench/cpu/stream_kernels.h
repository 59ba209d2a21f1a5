#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace cb {

// The four kernels of STREAM (McCalpin, IEEE TCCA Newsletter, December 1995; rules at
// www.cs.virginia.edu/stream): copy c = a, scale b = s·c, add c = a + b, triad a = b + s·c.
enum class StreamOp { copy, scale, add, triad };
StreamOp stream_op(std::string_view name);  // throws Error for an unknown name
const char* stream_op_name(StreamOp op);

// Bytes that STREAM counts per element: 16 for copy and scale, 24 for add and triad. It does not
// count what a cache reads before it writes.
int64_t stream_bytes_per_element(StreamOp op);

constexpr double kStreamScalar = 3.0;  // the same value as STREAM's

// The three arrays, or the part of them that one thread works on.
struct StreamArrays {
  double* a = nullptr;
  double* b = nullptr;
  double* c = nullptr;
  size_t count = 0;  // elements of each array
};

// A way to store: "regular" through the caches, "streaming" past them.
struct StreamVariant {
  const char* name;  // "regular", "streaming"
  const char* isa;   // the vectors it uses
  bool (*supported)();
  void (*run)(StreamOp op, const StreamArrays& arrays);  // arrays must be aligned to 64 bytes
};
const std::vector<StreamVariant>& stream_variants();

// Reads every element once and returns their sum, so that the compiler cannot drop the reads.
double read_arrays(const StreamArrays& arrays);

// The value of each array's elements; all elements of an array are equal.
struct StreamValues {
  double a = 1;
  double b = 2;
  double c = 0;
};
void apply(StreamOp op, StreamValues& values);

// Counts elements that differ from `expected` by more than 1e-13 of it; NaN differs. STREAM limits
// the mean error of an array; this limit is for every element.
struct StreamErrors {
  uint64_t wrong = 0;
  size_t first = 0;  // index of the first wrong element, if any
  char array = ' ';  // 'a', 'b' or 'c'
  double found = 0;
  double expected = 0;
  double largest_relative_error = 0;  // infinity if an element is not a number
};
StreamErrors verify(const StreamArrays& arrays, const StreamValues& expected);

}  // namespace cb
