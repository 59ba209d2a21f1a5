#include "model/fabric/readers.h"

namespace cb {

Net read_subnet(const std::string& text, const std::string& file) {
  return read_ibnetdiscover(text, file);
}

Net join_nets(const std::vector<Net>& nets) { return nets.front(); }

}  // namespace cb
