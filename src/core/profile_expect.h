// What was ordered, as a criterion of a profile: docs/methods/expect.md.
#pragma once

#include <string>
#include <vector>

namespace cb {

// What every part of a kind must be.
struct Expectation {
  std::string attribute;  // "gpu.model", "library[nccl].version", "gpu.count"
  // One of these must hold: a value, a value with '*', or ">=", "<=", ">", "<" and a value. Numbers
  // are in the attribute's unit; bytes also with K, M, G, T.
  std::vector<std::string> wanted = {};
};

// One piece of the delivery list.
struct Asset {
  std::string host;
  std::string part;    // "gpu", "nvme", "nic" (with RDMA adapters), "system"
  std::string slot;    // PCI address or the part's id; empty: anywhere on the host
  std::string serial;  // empty: the list does not say it, and nothing can be shown
  std::string model;   // empty: any
};

// Compares the inventories with what was ordered.
struct ExpectRule {
  std::vector<Expectation> expected = {};
  std::vector<Asset> assets = {};
};

}  // namespace cb
