#pragma once

#include <infiniband/verbs.h>

#include <string>

// The functions of libibverbs that are called, except those that the header defines inline and
// those that go through the context: X(result, name, parameters, arguments).
#define CB_VERBS_FUNCTIONS(X)                                                                      \
  X(ibv_device**, ibv_get_device_list, (int* count), (count))                                      \
  X(void, ibv_free_device_list, (ibv_device * *list), (list))                                      \
  X(const char*, ibv_get_device_name, (ibv_device * device), (device))                             \
  X(ibv_context*, ibv_open_device, (ibv_device * device), (device))                                \
  X(int, ibv_close_device, (ibv_context * context), (context))                                     \
  X(int, ibv_query_device, (ibv_context * context, ibv_device_attr * out), (context, out))         \
  X(int, ibv_query_port, (ibv_context * context, uint8_t port, _compat_ibv_port_attr * out),       \
    (context, port, out))                                                                          \
  X(ibv_pd*, ibv_alloc_pd, (ibv_context * context), (context))                                     \
  X(int, ibv_dealloc_pd, (ibv_pd * pd), (pd))                                                      \
  X(ibv_mr*, ibv_reg_mr, (ibv_pd * pd, void* memory, size_t bytes, int access),                    \
    (pd, memory, bytes, access))                                                                   \
  X(int, ibv_dereg_mr, (ibv_mr * mr), (mr))                                                        \
  X(ibv_comp_channel*, ibv_create_comp_channel, (ibv_context * context), (context))                \
  X(int, ibv_destroy_comp_channel, (ibv_comp_channel * channel), (channel))                        \
  X(ibv_cq*, ibv_create_cq,                                                                        \
    (ibv_context * context, int entries, void* own, ibv_comp_channel* channel, int vector),        \
    (context, entries, own, channel, vector))                                                      \
  X(int, ibv_destroy_cq, (ibv_cq * cq), (cq))                                                      \
  X(int, ibv_get_cq_event, (ibv_comp_channel * channel, ibv_cq * *cq, void** own),                 \
    (channel, cq, own))                                                                            \
  X(void, ibv_ack_cq_events, (ibv_cq * cq, unsigned events), (cq, events))                         \
  X(ibv_qp*, ibv_create_qp, (ibv_pd * pd, ibv_qp_init_attr * init), (pd, init))                    \
  X(int, ibv_modify_qp, (ibv_qp * qp, ibv_qp_attr * attributes, int mask), (qp, attributes, mask)) \
  X(int, ibv_query_qp, (ibv_qp * qp, ibv_qp_attr * attributes, int mask, ibv_qp_init_attr* init),  \
    (qp, attributes, mask, init))                                                                  \
  X(int, ibv_destroy_qp, (ibv_qp * qp), (qp))                                                      \
  X(ibv_ah*, ibv_create_ah, (ibv_pd * pd, ibv_ah_attr * attributes), (pd, attributes))             \
  X(int, ibv_destroy_ah, (ibv_ah * ah), (ah))                                                      \
  X(const char*, ibv_wc_status_str, (ibv_wc_status status), (status))

// Newer functions: the rest works without them.
#define CB_VERBS_NEWER_FUNCTIONS(X)                                                             \
  X(ibv_mr*, ibv_reg_mr_iova2,                                                                  \
    (ibv_pd * pd, void* memory, size_t bytes, uint64_t address, unsigned access),               \
    (pd, memory, bytes, address, access))                                                       \
  X(ibv_mr*, ibv_reg_dmabuf_mr,                                                                 \
    (ibv_pd * pd, uint64_t offset, size_t bytes, uint64_t address, int descriptor, int access), \
    (pd, offset, bytes, address, descriptor, access))

namespace cb::verbs {

// The site's libibverbs, opened at the first call: its drivers (mlx5, irdma, rxe) work with only
// one build of it.
struct Library {
#define CB_VERBS_SLOT(result, name, parameters, arguments) result(*name) parameters = nullptr;
  CB_VERBS_FUNCTIONS(CB_VERBS_SLOT)
  CB_VERBS_NEWER_FUNCTIONS(CB_VERBS_SLOT)
#undef CB_VERBS_SLOT
  std::string path;
};

// Opens libibverbs.so.1, or the file that CLUSTERBENCH_VERBS_LIBRARY names, once. Every call throws
// Error if there is none.
const Library& library();

}  // namespace cb::verbs
