/*
 * generate_model.h - what the training run does that generate_trace.c makes up:
 * the modules of a small GPT, the operators they call and the kernels these launch.
 *
 * Checklist for a new operator: a row in op_table, its name in the ops text of a
 * module. Ops text: siblings by ',', children in '(...)', '!' launches a kernel,
 * '@' is differentiable (has a sequence number and a fwdbwd arrow), '~' allocates.
 */
#ifndef MAREY_BENCH_GENERATE_MODEL_H
#define MAREY_BENCH_GENERATE_MODEL_H

/* inputs: one letter for each positional input. F, B, L: tensor of float, bfloat16,
 * int64; S: scalar; N: none; I: list of scalars; G: list of tensors. */
struct op_row {
    const char *name;
    const char *inputs;
};

static const struct op_row op_table[] = {
    {"aten::linear", "BBB"},
    {"aten::addmm", "BBBSS"},
    {"aten::mm", "BB"},
    {"aten::t", "B"},
    {"aten::transpose", "BSS"},
    {"aten::as_strided", "BIIN"},
    {"aten::empty", "INNNSN"},
    {"aten::empty_like", "BNNNNN"},
    {"aten::empty_strided", "IINNNS"},
    {"aten::zeros", "INNNN"},
    {"aten::zero_", "F"},
    {"aten::fill_", "FS"},
    {"aten::view", "BI"},
    {"aten::reshape", "BI"},
    {"aten::_unsafe_view", "BI"},
    {"aten::_reshape_alias", "BII"},
    {"aten::expand", "BIS"},
    {"aten::narrow", "BSSS"},
    {"aten::slice", "BSSSS"},
    {"aten::select", "FSS"},
    {"aten::split", "BSS"},
    {"aten::detach", "F"},
    {"detach", "F"},
    {"aten::to", "FSNNNSSN"},
    {"aten::_to_copy", "FSNNNSN"},
    {"aten::copy_", "BFS"},
    {"aten::contiguous", "BS"},
    {"aten::clone", "BN"},
    {"aten::add", "BBS"},
    {"aten::add_", "FFS"},
    {"aten::mul", "FF"},
    {"aten::mul_", "FS"},
    {"aten::div", "FS"},
    {"aten::sum", "BISN"},
    {"aten::gelu", "BS"},
    {"aten::gelu_backward", "BBS"},
    {"aten::layer_norm", "BIFFSS"},
    {"aten::native_layer_norm", "BIFFS"},
    {"aten::native_layer_norm_backward", "BBIFFFFI"},
    {"aten::dropout", "BSS"},
    {"aten::native_dropout", "BSS"},
    {"aten::native_dropout_backward", "BBS"},
    {"aten::embedding", "FLSSS"},
    {"aten::embedding_backward", "FLSSSS"},
    {"aten::embedding_dense_backward", "FLSSS"},
    {"aten::index_select", "FSL"},
    {"aten::scaled_dot_product_attention", "BBBNSSNS"},
    {"aten::_scaled_dot_product_flash_attention", "BBBSSSN"},
    {"aten::_flash_attention_forward", "BBBNNSSSSSNNNN"},
    {"aten::_scaled_dot_product_flash_attention_backward", "BBBBBFNNSSSSLLN"},
    {"aten::_flash_attention_backward", "BBBBBFNNSSSSLLN"},
    {"aten::cross_entropy_loss", "FLNSSS"},
    {"aten::log_softmax", "FSN"},
    {"aten::_log_softmax", "FSS"},
    {"aten::_log_softmax_backward_data", "FFSS"},
    {"aten::nll_loss_nd", "FLNSS"},
    {"aten::nll_loss", "FLNSS"},
    {"aten::nll_loss_forward", "FLNSS"},
    {"aten::nll_loss_backward", "FFLNSSF"},
    {"aten::_foreach_add_", "GGS"},
    {"aten::_foreach_lerp_", "GGS"},
    {"aten::_foreach_mul_", "GS"},
    {"aten::_foreach_addcmul_", "GGGS"},
    {"aten::_foreach_sqrt", "G"},
    {"aten::_foreach_div_", "GI"},
    {"aten::_foreach_addcdiv_", "GGGI"},
    {"aten::item", "F"},
    {"aten::_local_scalar_dense", "F"},
    {"c10d::allreduce_", "GNNNSS"},
    {"record_param_comms", "GSSSSSSSSS"},
    {"torch::autograd::AccumulateGrad", "B"},
    {"AddmmBackward0", "B"},
    {"TBackward0", "B"},
    {"ViewBackward0", "B"},
    {"GeluBackward0", "B"},
    {"NativeLayerNormBackward0", "BNN"},
    {"NativeDropoutBackward0", "BN"},
    {"ScaledDotProductFlashAttentionBackward0", "BNNNNNNNN"},
    {"EmbeddingBackward0", "F"},
    {"NllLossBackward0", "FN"},
    {"LogSoftmaxBackward0", "F"},
    {"AddBackward0", "B"},
    {"autograd::engine::evaluate_function: torch::autograd::AccumulateGrad", ""},
    {"autograd::engine::evaluate_function: AddmmBackward0", ""},
    {"autograd::engine::evaluate_function: TBackward0", ""},
    {"autograd::engine::evaluate_function: GeluBackward0", ""},
    {"autograd::engine::evaluate_function: NativeLayerNormBackward0", ""},
    {"autograd::engine::evaluate_function: NativeDropoutBackward0", ""},
    {"autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0", ""},
    {"autograd::engine::evaluate_function: EmbeddingBackward0", ""},
    {"autograd::engine::evaluate_function: NllLossBackward0", ""},
    {"autograd::engine::evaluate_function: LogSoftmaxBackward0", ""},
    {"autograd::engine::evaluate_function: AddBackward0", ""},
};

#define EVALUATE "autograd::engine::evaluate_function: "
#define T_OPS "aten::t(aten::transpose(aten::as_strided))"
#define CAST_OPS "aten::to(aten::_to_copy(aten::empty_strided~,aten::copy_!))"
#define ACCUMULATE_OPS                                                                             \
    EVALUATE "torch::autograd::AccumulateGrad(torch::autograd::AccumulateGrad(aten::add_!))"

/* What one nn.Module does: its Python frames, its operators forward and backward. */
struct module_row {
    const char *class_name;
    const char *forward;
    const char *builtin;
    const char *forward_ops;
    const char *backward_ops;
};

static const struct module_row module_table[] = {
    {"LayerNorm", "torch/nn/modules/normalization.py(222): forward",
     "<built-in method layer_norm of type object at 0x7f1cd5ff2a40>",
     "aten::layer_norm(aten::native_layer_norm@!(aten::empty~,aten::empty,aten::empty,aten::view))",
     EVALUATE "NativeLayerNormBackward0(NativeLayerNormBackward0@("
              "aten::native_layer_norm_backward!(aten::empty_like(aten::empty~),aten::empty)))"
              "," ACCUMULATE_OPS},
    {"Linear", "torch/nn/modules/linear.py(134): forward", "<built-in function linear>",
     CAST_OPS ",aten::linear(" T_OPS ",aten::view,aten::addmm@!(aten::expand(aten::as_strided)),"
              "aten::_unsafe_view)",
     EVALUATE "AddmmBackward0(AddmmBackward0@(" T_OPS ",aten::mm!," T_OPS ",aten::mm!))," EVALUATE
              "TBackward0(TBackward0(" T_OPS "))," ACCUMULATE_OPS},
    {"CausalSelfAttention", "train_gpt.py(61): forward",
     "<built-in function scaled_dot_product_attention>",
     "aten::split(aten::narrow(aten::slice(aten::as_strided))),aten::view,aten::transpose("
     "aten::as_strided),aten::scaled_dot_product_attention("
     "aten::_scaled_dot_product_flash_attention@("
     "aten::transpose(aten::as_strided),aten::_flash_attention_forward!(aten::empty~)))",
     EVALUATE "ScaledDotProductFlashAttentionBackward0("
              "ScaledDotProductFlashAttentionBackward0@("
              "aten::_scaled_dot_product_flash_attention_backward("
              "aten::_flash_attention_backward!(aten::empty~,aten::zeros(aten::zero_!)))))"},
    {"GELU", "torch/nn/modules/activation.py(735): forward", "<built-in function gelu>",
     "aten::gelu@!", EVALUATE "GeluBackward0(GeluBackward0@(aten::gelu_backward!(aten::empty~)))"},
    {"Dropout", "torch/nn/modules/dropout.py(70): forward",
     "<built-in method dropout of type object at 0x7f1cd5ff2a40>",
     "aten::dropout(aten::native_dropout@!(aten::empty_like(aten::empty)))",
     EVALUATE "NativeDropoutBackward0(NativeDropoutBackward0@(aten::native_dropout_backward("
              "aten::mul!)))"},
    {"Embedding", "torch/nn/modules/sparse.py(191): forward",
     "<built-in method embedding of type object at 0x7f1cd5ff2a40>",
     "aten::embedding@(aten::reshape(aten::view),aten::index_select!(aten::empty~),aten::view)",
     EVALUATE "EmbeddingBackward0(EmbeddingBackward0@(aten::embedding_backward("
              "aten::embedding_dense_backward!(aten::zeros(aten::zero_!)))))"},
    {"CrossEntropyLoss", "torch/nn/functional.py(3458): cross_entropy",
     "<built-in method cross_entropy_loss of PyCapsule object at 0x7f1ce5a1f2d0>",
     "aten::cross_entropy_loss(aten::log_softmax(" CAST_OPS ",aten::_log_softmax@!),"
     "aten::nll_loss_nd(aten::nll_loss(aten::nll_loss_forward@!)))",
     EVALUATE "NllLossBackward0(NllLossBackward0@(aten::nll_loss_backward!(aten::zero_(aten::fill_!"
              "))))," EVALUATE "LogSoftmaxBackward0(LogSoftmaxBackward0@("
              "aten::_log_softmax_backward_data!))"},
};

enum { LAYER_NORM, LINEAR, ATTENTION, GELU, DROPOUT, EMBEDDING, CROSS_ENTROPY, N_MODULES };

/* The modules of a transformer block, in the order of its forward. */
static const int block_modules[] = {LAYER_NORM, LINEAR, ATTENTION, LINEAR, DROPOUT,
                                    LAYER_NORM, LINEAR, GELU,      LINEAR, DROPOUT};

static const char *const optimizer_ops[] = {
    "aten::_foreach_add_!",
    "aten::_foreach_lerp_!",
    "aten::_foreach_mul_!",
    "aten::_foreach_addcmul_!",
    "aten::_foreach_sqrt!(aten::empty_strided~)",
    "aten::_foreach_div_!",
    "aten::_foreach_addcdiv_!",
    "aten::item(aten::_local_scalar_dense!)",
    "aten::add!",
    "aten::div!",
    "c10d::allreduce_(record_param_comms!)",
    "aten::detach(detach)",
};

/* Python functions around the operators: called in pairs at random. */
static const char *const python_functions[] = {
    "torch/optim/optimizer.py(91): _get_value",
    "torch/optim/optimizer.py(120): _stack_if_compiling",
    "torch/optim/optimizer.py(475): profile_hook_step",
    "torch/optim/adamw.py(150): _init_group",
    "torch/optim/adam.py(532): _multi_tensor_adam",
    "torch/utils/_foreach_utils.py(59): <genexpr>",
    "torch/utils/_foreach_utils.py(33): _group_tensors_by_device_and_dtype",
    "torch/_jit_internal.py(103): is_scripting",
    "torch/_tensor.py(1225): __hash__",
    "torch/compiler/__init__.py(442): is_compiling",
    "torch/nn/modules/module.py(1931): __getattr__",
    "torch/nn/modules/module.py(2882): named_modules",
    "torch/nn/modules/module.py(2647): parameters",
    "torch/autograd/graph.py(857): _engine_run_backward",
    "torch/autograd/grad_mode.py(86): __enter__",
    "torch/autograd/grad_mode.py(91): __exit__",
    "torch/utils/_contextlib.py(118): decorate_context",
    "torch/cuda/__init__.py(1120): current_device",
    "torch/cuda/graphs.py(58): is_current_stream_capturing",
    "torch/distributed/distributed_c10d.py(2911): all_reduce",
    "torch/utils/data/dataloader.py(732): __next__",
    "torch/utils/data/_utils/collate.py(127): collate",
    "<built-in method append of list object at 0x7f1ce61a3280>",
    "<built-in function isinstance>",
    "<built-in function id>",
    "<built-in function len>",
    "<built-in function getattr>",
    "<built-in method item of Tensor object at 0x7f1ccfb455e0>",
    "<built-in method add of set object at 0x7f1ce62f3060>",
    "<built-in method items of dict object at 0x7f1ce617c400>",
    "<built-in method get of dict object at 0x7f1ce617c740>",
    "<built-in method values of collections.OrderedDict object at 0x7f1ce61b8ac0>",
    "<built-in method is_complex of type object at 0x7f1cd5ff2a40>",
    "<built-in method _foreach_addcdiv_ of type object at 0x7f1cd5ff2a40>",
    "train_gpt.py(88): forward",
    "train_gpt.py(142): training_step",
    "contextlib.py(141): __exit__",
    "contextlib.py(132): __enter__",
    "enum.py(714): __call__",
    "typing.py(2182): cast",
};

/* Kernels; an operator keeps to a few of them. */
static const char *const kernel_names[] = {
    "nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT",
    "nvjet_sm90_tst_64x128_64x8_2x1_v_bz_NTN",
    "nvjet_sm90_tst_192x128_64x5_1x2_h_bz_coopB_bias_TNT",
    "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT",
    "ampere_bf16_s16816gemm_bf16_128x64_ldg8_f2f_stages_64x4_tn",
    "sm80_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize64x64x64_stage4_warpsize2x2x1_kernel",
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_kernel0_0",
    "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_kernel0_0",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)",
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)",
    "void at::native::vectorized_elementwise_kernel<8, at::native::bfloat16_copy_kernel_cuda("
    "at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int, "
    "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}, "
    "std::array<char*, 2ul>)",
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float, false>("
    "int, float, float const*, float const*, float const*, float*, float*, float*)",
    "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<float, float, "
    "false>(float const*, float const*, float const*, float const*, float const*, float*, int)",
    "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<float, float, "
    "32u, "
    "32u, 256u, false, true, false>(long, long, float const*, float const*, float*, float*)",
    "void at::native::reduce_kernel<128, 4, at::native::ReduceOp<c10::BFloat16, "
    "at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<c10::BFloat16, float, "
    "c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
    "c10::BFloat16, 4, 8> >(at::native::ReduceOp<c10::BFloat16, unsigned int, c10::BFloat16, 4, "
    "8>)",
    "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul>, 4, TrivialOffsetCalculator<2, unsigned int>, "
    "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<2>, "
    "at::native::memory::StoreWithCast<1> >(int, at::native::CUDAFunctor_add<float>)",
    "void at::native::vectorized_elementwise_kernel<8, at::native::GeluCUDAKernelImpl("
    "at::TensorIteratorBase&, at::native::GeluType)::{lambda()#2}::operator()() const::"
    "{lambda(c10::BFloat16)#1}, std::array<char*, 2ul> >(int, std::array<char*, 2ul>)",
    "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, "
    "unsigned int, 1, 8, bool>(at::cuda::detail::TensorInfo<c10::BFloat16 const, unsigned int>)",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous "
    "namespace)::TensorListMetadata<2>, at::native::(anonymous namespace)::TernaryOpScalarFunctor<"
    "float, 2, 2, 0>, at::native::LerpFunctor<float>, float>(at::native::LerpFunctor<float>, "
    "float)",
    "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out("
    "c10::Scalar const&, c10::Scalar const&, at::Tensor&)::{lambda(long)#1}>(int, long*)",
    "void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true, false>("
    "float*, float const*, int, int, int, bool const*, int, bool)",
    "triton_poi_fused_add_gelu_mul_3",
    "triton_red_fused_native_layer_norm_backward_7",
};

#define COMM_KERNEL 8 /* its place in kernel_names */

/* Calls that launch; the first ones as often as they have rows. */
struct launch_row {
    const char *category;
    const char *name;
    unsigned cbid;
};

static const struct launch_row launch_table[] = {
    {"cuda_runtime", "cudaLaunchKernel", 211}, {"cuda_runtime", "cudaLaunchKernel", 211},
    {"cuda_runtime", "cudaLaunchKernel", 211}, {"cuda_runtime", "cudaLaunchKernel", 211},
    {"cuda_runtime", "cudaLaunchKernel", 211}, {"cuda_runtime", "cudaLaunchKernelExC", 430},
    {"cuda_driver", "cuLaunchKernelEx", 652},  {"cuda_runtime", "cudaMemcpyAsync", 41},
    {"cuda_runtime", "cudaMemsetAsync", 51},
};

enum { LAUNCH_MEMCPY = 7, LAUNCH_MEMSET = 8 };

/* Shapes of the tensors, with the strides of a contiguous one. */
struct shape_row {
    const char *dims;
    const char *strides;
};

static const struct shape_row shape_table[] = {
    {"[8, 1024, 768]", "[786432, 768, 1]"},
    {"[8192, 768]", "[768, 1]"},
    {"[768, 768]", "[768, 1]"},
    {"[768]", "[1]"},
    {"[3072, 768]", "[768, 1]"},
    {"[3072]", "[1]"},
    {"[8, 12, 1024, 64]", "[786432, 65536, 64, 1]"},
    {"[2304, 768]", "[768, 1]"},
    {"[8, 1024, 2304]", "[2359296, 2304, 1]"},
    {"[768, 2304]", "[1, 768]"},
    {"[8192, 50257]", "[50257, 1]"},
    {"[50257, 768]", "[768, 1]"},
    {"[8, 1024]", "[1024, 1]"},
    {"[]", "[]"},
    {"[8, 1024, 12, 64]", "[2359296, 2304, 64, 1]"},
    {"[1024, 768]", "[768, 1]"},
};

#endif
