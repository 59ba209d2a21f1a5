# Each is found: tests/unit/kernels/executor_test.cpp.
cb_damaged_kernel(no_first_barrier sm_chain "  __syncthreads();\n  Wide mine" "  Wide mine")
cb_damaged_kernel(no_second_barrier sm_chain "  atomicAdd(&sum, mine);\n  __syncthreads();" "  atomicAdd(&sum, mine);")
cb_damaged_kernel(no_atomic sm_chain "atomicAdd(&sum, mine);" "sum += mine;")
cb_damaged_kernel(one_too_many fill_verify "i < words;" "i <= words;")
cb_damaged_kernel(one_word_for_all march "data[i] = march_word" "data[0] = march_word")
cb_damaged_kernel(early_end hash "  Wide sum = 0, bad = 0;" "  if (first_word() >= words) return;\n  Wide sum = 0, bad = 0;")
cb_damaged_kernel(one_column train_loss "* e.width + column] +=" "* e.width] +=")
cb_damaged_kernel(one_too_far train_optimizer "i < end" "i <= end")
