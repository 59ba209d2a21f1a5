#pragma once

#include <span>

#include "core/messages/texts.h"

// What measuring, running and loading say: the sentences for said(). Part of all_texts().
namespace cb {

std::span<const TextRow> said_campaign();
std::span<const TextRow> said_fabric();
std::span<const TextRow> said_gpu();
std::span<const TextRow> said_host();
std::span<const TextRow> said_locate();
std::span<const TextRow> said_network();
std::span<const TextRow> said_soak();
std::span<const TextRow> said_storage();
std::span<const TextRow> said_training();
std::span<const TextRow> said_workloads();
std::span<const TextRow> said_xid();

// Rows kind.NAME, fact.NAME, checked.NAME and value.*.
std::span<const TextRow> value_texts();

}  // namespace cb
