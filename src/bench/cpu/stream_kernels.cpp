#include "bench/cpu/stream_kernels.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "core/error.h"

namespace cb {
namespace {

constexpr const char* kOpNames[] = {"copy", "scale", "add", "triad"};
constexpr double kTolerance = 1e-13;  // STREAM's epsilon for 8-byte elements

void check_array(char name, const double* values, size_t count, double expected,
                 StreamErrors& out) {
  const double scale = expected == 0 ? 1 : std::abs(expected);  // c is 0 until it is written
  for (size_t i = 0; i < count; ++i) {
    const double error = std::abs(values[i] - expected) / scale;
    if (error > out.largest_relative_error) out.largest_relative_error = error;
    if (error <= kTolerance) continue;  // the comparison is false for NaN
    if (std::isnan(error)) out.largest_relative_error = std::numeric_limits<double>::infinity();
    if (out.wrong++ == 0) {
      out.first = i;
      out.array = name;
      out.found = values[i];
      out.expected = expected;
    }
  }
}

}  // namespace

StreamOp stream_op(std::string_view name) {
  for (int i = 0; i < 4; ++i) {
    if (name == kOpNames[i]) return static_cast<StreamOp>(i);
  }
  throw Error(fmt::format("{} is not one of STREAM's kernels", name));
}

const char* stream_op_name(StreamOp op) { return kOpNames[static_cast<int>(op)]; }

int64_t stream_bytes_per_element(StreamOp op) {
  const int64_t arrays = op == StreamOp::copy || op == StreamOp::scale ? 2 : 3;
  return arrays * static_cast<int64_t>(sizeof(double));
}

void apply(StreamOp op, StreamValues& v) {
  switch (op) {
    case StreamOp::copy:
      v.c = v.a;
      break;
    case StreamOp::scale:
      v.b = kStreamScalar * v.c;
      break;
    case StreamOp::add:
      v.c = v.a + v.b;
      break;
    case StreamOp::triad:
      v.a = v.b + kStreamScalar * v.c;
      break;
  }
}

StreamErrors verify(const StreamArrays& arrays, const StreamValues& expected) {
  StreamErrors out;
  check_array('a', arrays.a, arrays.count, expected.a, out);
  check_array('b', arrays.b, arrays.count, expected.b, out);
  check_array('c', arrays.c, arrays.count, expected.c, out);
  return out;
}

}  // namespace cb
