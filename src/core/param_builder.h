#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "core/params.h"

// How a case states its parameters:
//   integer("gpus").help("GPUs that each rank drives").range(1, 64)
//   choice("op", {"read", "write"}).help("access").by_default("read").list()
// Without by_default() a parameter is absent unless given; a flag is false.
namespace cb::param {

class Builder {
 public:
  Builder(std::string name, ParamType type) {
    def_.name = std::move(name);
    def_.type = type;
  }

  Builder& help(std::string text);
  Builder& by_default(std::string as_a_user_writes_it);
  Builder& list();  // several values, separated by commas
  // Of integer, number, size (bytes) and duration (seconds).
  Builder& range(double min, double max);
  Builder& at_least(double min);
  // Parameters that this one sets itself; with `values` only where it has one of them.
  Builder& excludes(std::vector<std::string> others, std::vector<std::string> values = {});

  operator ParamDef() const { return def_; }  // implicit: a list of builders is one of ParamDefs

 private:
  friend Builder choice(std::string name, std::vector<std::string> choices);
  ParamDef def_;
};

Builder flag(std::string name);
Builder integer(std::string name);
Builder number(std::string name);
Builder text(std::string name);
Builder size(std::string name);
Builder duration(std::string name);
Builder choice(std::string name, std::vector<std::string> choices);

}  // namespace cb::param

namespace cb {

// The lists one after the other.
std::vector<ParamDef> joined(std::initializer_list<std::vector<ParamDef>> lists);

}  // namespace cb
