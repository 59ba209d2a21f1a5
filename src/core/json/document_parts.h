#pragma once

#include "core/json/value.h"
#include "core/result.h"

// The parts of a document whose tables stand in files of their own.
namespace cb {

// A metric with its samples or histogram, from which its summary must follow.
void read_value(Value from, Metric& to);
nlohmann::json write_value(const Metric& from);

// Every index is one of an entity of the record, and nothing that failed or was skipped has a
// number.
void read_value(Value from, Record& to);
// Throws Error for an index without an entity.
nlohmann::json write_value(const Record& from);

void read_value(Value from, HostInventory& to);
nlohmann::json write_value(const HostInventory& from);

}  // namespace cb
