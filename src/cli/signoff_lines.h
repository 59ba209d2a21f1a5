#pragma once

#include <string>

#include "judge/signoff_data.h"
#include "judge/verdict.h"

// The lines that a terminal shows of signatures. The caller must make each safe for a terminal.
namespace cb {

// "李娜 (customer), director, Buyer Ltd"
std::string person_text(const Signoff& signoff);

// "  open: criterion gemm, fail, by 2026-12-31"
std::string open_item_line(const OpenItem& item);

// "✓ 李娜 (customer): accepted, 2026-11-21T10:00:00Z, key li.pub.pem"
std::string signature_line(const Signoff& signoff);

// All that a person must have seen before signing, one line each.
std::vector<std::string> signing_lines(const Campaign& campaign, const Judgement& judgement,
                                       const Signoff& signoff, const std::vector<Signoff>& earlier);

}  // namespace cb
