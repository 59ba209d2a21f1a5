#include "bench/gpu/copy_ceiling.h"

#include <sstream>

#include <fmt/format.h>

#include "model/pcie.h"

namespace cb {
namespace {

// How the GPU reaches the GPU of that index: "NV18", "PIX", …; empty if the inventory does not
// tell.
std::string way_to(const Part* gpu, unsigned peer_index) {
  std::istringstream words(text_of(gpu, "topology").value_or(""));
  std::string word;
  for (unsigned i = 0; words >> word; ++i) {
    if (i == peer_index) return word;
  }
  return "";
}

}  // namespace

std::optional<Ceiling> host_copy_ceiling(const Part* gpu, std::optional<double> generation,
                                         std::optional<double> lanes, double ways) {
  const auto built_generation = number_of(gpu, "pcie_max_generation");
  const auto built_lanes = number_of(gpu, "pcie_max_lanes");
  const bool built = built_generation && built_lanes;
  if (!built && !(generation && lanes)) return std::nullopt;
  const double g = built ? *built_generation : *generation, n = built ? *built_lanes : *lanes;
  const auto link = pcie_bytes_per_second(static_cast<int>(g), static_cast<int>(n));
  if (!link) return std::nullopt;
  const auto whole = [](double value) { return fmt::format("{:.0f}", value); };
  Said how = said(built ? "gpu.pcie_built" : "gpu.pcie_trained", whole(g), whole(n));
  if (built && generation && lanes && (*generation < g || *lanes < n))
    how = said("gpu.pcie_ran", how, whole(*generation), whole(*lanes));
  return Ceiling{ways * *link, how};
}

std::optional<Ceiling> peer_copy_ceiling(const GpuSku* sku, const Part* gpu, unsigned peer_index,
                                         double ways) {
  const std::string way = way_to(gpu, peer_index);
  if (!way.empty() && !way.starts_with("NV")) {
    auto out = host_copy_ceiling(gpu, std::nullopt, std::nullopt, ways);
    if (out) out->how = said("gpu.no_nvlink", out->how, way);
    return out;
  }
  if (sku == nullptr || !sku->nvlink_bytes_per_second) return std::nullopt;
  return Ceiling{ways * *sku->nvlink_bytes_per_second,
                 said("gpu.nvlink_of", sku->name, sku->source)};
}

}  // namespace cb
