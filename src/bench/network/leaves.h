#pragma once

#include <map>
#include <string>

#include "bench/harness/case.h"
#include "bench/network/schedule.h"

namespace cb::net {

// Collective. Rank 0 reads the text of a leaf map; all ranks get it. Throws the same UsageError on
// all ranks if the file cannot be read.
std::string read_leaf_map(Context& context, const std::string& path);

// Collective. If --leaf-map names a file, rank 0 reads it and every rank learns each node's leaf
// (nodes.leaf). Throws the same UsageError on all ranks if the file cannot be read, has a wrong
// line, or lacks a host of the job.
void assign_leaves(Context& context, const Params& params, Nodes& nodes);

// Tells what the bisection was cut by, and how many of its pairs cross from one leaf to another: "2
// leaves of --leaf-map, 3 of 4 pairs cross".
Said bisection_fact(const Nodes& nodes, const std::vector<RailRound>& rounds);

// Adds what a schedule says of leaves: bisection_fact(), or of within-leaf and across-leaves how
// many pairs stay on their leaf and how many cross.
void add_leaf_facts(std::map<std::string, Said>& facts, const Params& params, const Nodes& nodes,
                    const std::vector<RailRound>& rounds);

}  // namespace cb::net
