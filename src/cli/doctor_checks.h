#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/messages/said.h"
#include "sys/inventory/doctor_facts.h"

namespace cb {

enum class DoctorState { ok, warn, fail, not_checked };
const char* doctor_state_name(DoctorState state);

// One thing that a measurement needs: what was seen, and the next step if that is not enough.
struct DoctorCheck {
  std::string id;
  DoctorState state = DoctorState::not_checked;
  Said seen;
  Said next = {};
};

struct DoctorHost {
  std::string host;
  std::vector<DoctorCheck> checks;
};

// True if one of its checks fails.
bool host_fails(const DoctorHost& host);

// Every check, in a fixed order.
std::vector<DoctorCheck> doctor_checks(const DoctorFacts& facts);

// One table a host: check, state, what was seen; the next steps stand below.
std::string doctor_table(std::span<const DoctorHost> hosts, Lang lang);

}  // namespace cb
