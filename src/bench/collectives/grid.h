#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "bench/harness/comm.h"
#include "core/error.h"

// `--split grid:DP,TP,PP`: the ranks as training places them. Every rank is in one group of each
// dimension that has more than one rank, and all groups of all dimensions work at the same time.
namespace cb {

// The tensor-parallel ranks are neighbours, as Megatron-LM's default order places them:
// rank = t + TP * (d + DP * p).
struct GridShape {
  int dp = 1, tp = 1, pp = 1;
  int ranks() const { return dp * tp * pp; }
  bool operator==(const GridShape&) const = default;
};

enum class GridDimension { dp, tp, pp };
inline constexpr std::array kGridDimensions{GridDimension::dp, GridDimension::tp,
                                            GridDimension::pp};
const char* grid_dimension_name(GridDimension dimension);  // "dp", "tp", "pp"

bool is_grid(const std::string& split);  // begins with "grid:"

// "grid:4,2,1" or "grid:4x2x1" over 8 ranks; one of the three may be '*', which takes the ranks
// that are left. Otherwise adds a problem of --split, and returns nothing.
std::optional<GridShape> parse_grid(const std::string& split, int ranks, Problems& problems);

int grid_size(const GridShape& shape, GridDimension dimension);
// The dimensions with more than one rank.
std::vector<GridDimension> grid_dimensions(const GridShape& shape);
// Which group of the dimension the rank is in: 0 to ranks/size - 1.
int grid_group(const GridShape& shape, GridDimension dimension, int rank);

std::string to_text(const GridShape& shape);  // "dp 4 x tp 2 x pp 1"

}  // namespace cb
