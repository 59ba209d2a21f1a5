#pragma once

#include <string>

namespace cb::nccl {

// Asks the RAS service of this process's NCCL (2.24 and newer, TCP on localhost:28028 or
// NCCL_RAS_ADDR) about the job. Returns its summary of errors and warnings, line by line; empty if
// there is no service or it does not answer within `seconds`.
std::string ask_ras(double seconds);

// The part of an answer that matters: it begins at the first heading Errors or Warnings.
std::string ras_trouble(const std::string& answer);

}  // namespace cb::nccl
