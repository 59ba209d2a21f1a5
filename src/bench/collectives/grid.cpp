#include "bench/collectives/grid.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

constexpr const char* kGridPrefix = "grid:";
constexpr int64_t kMostRanks = 1000000;

// Parted by commas, or by 'x' where a comma parts values of a list, as in profiles.
std::vector<std::string> words_of_grid(const std::string& text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == ',' || c == 'x')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace

const char* grid_dimension_name(GridDimension dimension) {
  switch (dimension) {
    case GridDimension::dp:
      return "dp";
    case GridDimension::tp:
      return "tp";
    case GridDimension::pp:
      break;
  }
  return "pp";
}

bool is_grid(const std::string& split) { return split.starts_with(kGridPrefix); }

std::optional<GridShape> parse_grid(const std::string& split, int ranks, Problems& problems) {
  const auto wrong = [&](const std::string& what) {
    problems.add("--split", what);
    return std::nullopt;
  };
  const std::vector<std::string> words =
      words_of_grid(split.substr(std::string_view(kGridPrefix).size()));
  if (words.size() != 3)
    return wrong(fmt::format("'{}': write grid:DP,TP,PP, such as grid:4,2,1", split));
  std::array<int64_t, 3> sizes{};
  int64_t product = 1;
  std::optional<size_t> rest;
  for (size_t i = 0; i < 3; ++i) {
    if (words[i] == "*" && !rest) {
      rest = i;
      continue;
    }
    const auto size = parse_integer(words[i]);
    if (!size || *size < 1 || *size > kMostRanks)
      return wrong(
          fmt::format("'{}': '{}' is no number of ranks, nor the only '*'", split, words[i]));
    sizes[i] = *size;
    product *= *size;
  }
  const int64_t fixed = product;  // of the numbers that are given
  if (rest) {
    sizes[*rest] = ranks / product;
    product *= sizes[*rest];
  }
  if (product != ranks)
    return wrong(fmt::format(
        "'{}' needs {} ranks, the job has {}: make the three numbers multiply "
        "to that",
        split, rest ? "a multiple of " + std::to_string(fixed) : std::to_string(product), ranks));
  const GridShape shape{static_cast<int>(sizes[0]), static_cast<int>(sizes[1]),
                        static_cast<int>(sizes[2])};
  if (grid_dimensions(shape).empty()) return wrong("a grid needs two ranks or more");
  return shape;
}

int grid_size(const GridShape& shape, GridDimension dimension) {
  switch (dimension) {
    case GridDimension::dp:
      return shape.dp;
    case GridDimension::tp:
      return shape.tp;
    case GridDimension::pp:
      break;
  }
  return shape.pp;
}

std::vector<GridDimension> grid_dimensions(const GridShape& shape) {
  std::vector<GridDimension> out;
  for (const GridDimension d : kGridDimensions) {
    if (grid_size(shape, d) > 1) out.push_back(d);
  }
  return out;
}

int grid_group(const GridShape& shape, GridDimension dimension, int rank) {
  const int t = rank % shape.tp, d = rank / shape.tp % shape.dp, p = rank / shape.tp / shape.dp;
  switch (dimension) {
    case GridDimension::dp:
      return t + shape.tp * p;
    case GridDimension::tp:
      return d + shape.dp * p;
    case GridDimension::pp:
      break;
  }
  return t + shape.tp * d;
}

std::string to_text(const GridShape& shape) {
  return fmt::format("dp {} x tp {} x pp {}", shape.dp, shape.tp, shape.pp);
}

}  // namespace cb
