#pragma once

#include <string>

#include "judge/signoff_data.h"
#include "judge/verdict.h"

// What a terminal shows of signatures; no line is made safe for it yet.
namespace cb {

// "李娜 (customer), director, Buyer Ltd"
std::string person_text(const Signoff& signoff);

// "  open: criterion gemm, fail, by 2026-12-31"
std::string open_item_line(const OpenItem& item);

// "✓ 李娜 (customer): accepted, 2026-11-21T10:00:00Z, key li.pub.pem"
std::string signature_line(const Signoff& signoff);

// All that a person should have seen before it signs, a line each.
std::vector<std::string> signing_lines(const Campaign& campaign, const Judgement& judgement,
                                       const Signoff& signoff, const std::vector<Signoff>& earlier);

}  // namespace cb
