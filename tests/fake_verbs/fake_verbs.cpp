// Stands in for libibverbs in tests: one device, "fake0", which opens and registers memory and can
// nothing else. With CB_FAKE_OLD it lacks what came with rdma-core 28 and 34.
#include <cstdlib>

#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr

namespace {

ibv_device device;
ibv_device* devices[2] = {&device, nullptr};
ibv_context context;
ibv_pd domain;
ibv_mr region;

}  // namespace

extern "C" {

ibv_device** ibv_get_device_list(int* count) {
  *count = 1;
  return devices;
}
void ibv_free_device_list(ibv_device**) {}
const char* ibv_get_device_name(ibv_device*) { return "fake0"; }
ibv_context* ibv_open_device(ibv_device*) { return &context; }
int ibv_close_device(ibv_context*) { return 0; }
ibv_pd* ibv_alloc_pd(ibv_context*) { return &domain; }
int ibv_dealloc_pd(ibv_pd*) { return 0; }
ibv_mr* ibv_reg_mr(ibv_pd*, void*, size_t, int) { return &region; }
int ibv_dereg_mr(ibv_mr*) { return 0; }
#ifndef CB_FAKE_OLD
ibv_mr* ibv_reg_mr_iova2(ibv_pd*, void*, size_t, uint64_t, unsigned) { return &region; }
ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, uint64_t, size_t, uint64_t, int, int) { return &region; }
#endif

// Never called; a library without them is none.
int ibv_query_device(ibv_context*, ibv_device_attr*) { abort(); }
int ibv_query_port(ibv_context*, uint8_t, _compat_ibv_port_attr*) { abort(); }
ibv_comp_channel* ibv_create_comp_channel(ibv_context*) { abort(); }
int ibv_destroy_comp_channel(ibv_comp_channel*) { abort(); }
ibv_cq* ibv_create_cq(ibv_context*, int, void*, ibv_comp_channel*, int) { abort(); }
int ibv_destroy_cq(ibv_cq*) { abort(); }
int ibv_get_cq_event(ibv_comp_channel*, ibv_cq**, void**) { abort(); }
void ibv_ack_cq_events(ibv_cq*, unsigned) { abort(); }
ibv_qp* ibv_create_qp(ibv_pd*, ibv_qp_init_attr*) { abort(); }
int ibv_modify_qp(ibv_qp*, ibv_qp_attr*, int) { abort(); }
int ibv_query_qp(ibv_qp*, ibv_qp_attr*, int, ibv_qp_init_attr*) { abort(); }
int ibv_destroy_qp(ibv_qp*) { abort(); }
ibv_ah* ibv_create_ah(ibv_pd*, ibv_ah_attr*) { abort(); }
int ibv_destroy_ah(ibv_ah*) { abort(); }
const char* ibv_wc_status_str(ibv_wc_status) { abort(); }
}
