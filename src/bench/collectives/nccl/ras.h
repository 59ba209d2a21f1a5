#pragma once

#include <string>

namespace cb::nccl {

// What the RAS service of this process's NCCL (2.24 and newer, TCP on localhost:28028 or
// NCCL_RAS_ADDR) says of the job: its summary of errors and warnings, line by line. Empty where
// there is no service or it does not answer within `seconds`.
std::string ask_ras(double seconds);

// The part of an answer that matters: from the first heading Errors or Warnings on.
std::string ras_trouble(const std::string& answer);

}  // namespace cb::nccl
