// Where `fabric` has its subnet from: this host's port, or files.
#pragma once

#include "bench/harness/case.h"
#include "bench/network/subnet/mad_exchange.h"
#include "model/fabric/findings.h"

namespace cb::net {

struct FabricInput {
  Net net;
  std::vector<PlannedLink> plan;  // of a file, or what `before` shows
  std::optional<Net> before;
  std::vector<Said> notes;
  std::string source;  // "mlx5_0/1", or the files
  std::optional<MadTally> mads;
  double discovery_seconds = 0;
  std::optional<Said> unavailable;  // why nothing could be read
};

// The parameters that say where from.
std::vector<ParamDef> fabric_source_params();

// Reads 16 hexadecimal digits or fewer, with 0x before them or not; nothing for another text.
std::optional<uint64_t> parse_management_key(const std::string& text);

// Collective. Rank 0 reads; what is wrong with files is thrown on every rank.
FabricInput read_fabric(Context& context, const Params& params);

}  // namespace cb::net
