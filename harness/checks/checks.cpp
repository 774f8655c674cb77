// SPDX-License-Identifier: Apache-2.0
#include "harness/check.hpp"
#include "harness/checks/table.hpp"

namespace w4 {
namespace {

constexpr Check table[] = {
    {"address.code", Scope::geometry, "which stored nibble feeds each (k, n)", "values, sums",
     guarded_exact<address_code>},
    {"address.scale", Scope::geometry, "which scale feeds each (k, n)", "values, sums",
     guarded_exact<address_scale>},
    {"address.zero", Scope::geometry, "which zero point feeds each (k, n)", "values, sums",
     guarded_exact<address_zero>},
    {"address.x", Scope::geometry, "which row of x feeds each row of y", "order within k",
     guarded_exact<address_x>},
    {"value.table", Scope::geometry, "what a code becomes under a scale and a zero point",
     "sums of several terms", guarded_exact<value_table>},
    {"value.activation", Scope::geometry,
     "how X enters: as stored, rounded, quantised by which rule", "weights",
     guarded<value_activation>},
    {"exact.zero", Scope::problem, "uninitialised and stale sums", "everything that is multiplied",
     guarded_exact<exact_zero>},
    {"exact.onehot", Scope::geometry, "every stored weight, decoded", "sums of several terms",
     guarded_exact<exact_onehot>},
    {"exact.dense24", Scope::problem, "lost or doubled terms, tails, splits, 16-bit sums",
     "dequantisation of generic scales", guarded_exact<exact_dense24>},
    {"exact.stride11", Scope::problem, "the same with every bit visible in a 16-bit output",
     "16-bit sums", guarded_exact<exact_stride11>},
    {"exact.block11", Scope::problem, "group boundaries and K tiles", "16-bit sums",
     guarded_exact<exact_block11>},
    {"exact.samesign", Scope::problem, "narrow accumulators, saturation, overflow", "order",
     guarded_exact<exact_samesign>},
    {"exact.special", Scope::problem, "NaN, infinity and -0 in x", "sums",
     guarded_exact<exact_special>},
    {"bound.d", Scope::problem, "sums that no order of the declared roundings can give",
     "errors below the bound", guarded<bound_d>},
    {"bound.r", Scope::problem, "the same for random signs, tighter on long k",
     "errors below the bound", guarded<bound_r>},
    {"contract.bits", Scope::problem, "another order or unit than declared",
     "contracts without an emulator", guarded<contract_bits>},
    {"effect.written", Scope::problem, "outputs left as they were", "values",
     guarded<effect_written>},
    {"effect.guard", Scope::problem, "reads and writes outside the buffers",
     "reads of slack below the alignment", guarded<effect_guard>},
    {"effect.inputs", Scope::problem, "inputs written to", "inputs written and restored",
     guarded<effect_inputs>},
    {"effect.repeat", Scope::problem, "bits that change from call to call",
     "changes after more calls", guarded<effect_repeat>, true},
    {"effect.batch", Scope::problem, "bits that change with m", "orders that the data do not show",
     guarded<effect_batch>},
    {"effect.rowlocal", Scope::problem, "NaN and infinity that leave their row", "finite leaks",
     guarded<effect_rowlocal>},
    {"effect.m0", Scope::geometry, "m = 0", "all else", guarded<effect_m0>},
    {"effect.stride", Scope::problem, "strides ignored, gaps used or written", "dense rows",
     guarded<effect_stride>},
    {"effect.state", Scope::problem,
     "float control left changed, caches by address, processes, output",
     "state outside the process", guarded<effect_state>},
    {"effect.threads", Scope::geometry, "plans that rely on the number of CPUs", "races",
     guarded<effect_threads>},
    {"dispatch.path", Scope::problem, "another path than declared or expected",
     "code that lies about its path", guarded<dispatch_path>},
    {"dispatch.bits", Scope::problem, "a dispatcher that runs other code than it declares",
     "kernels that do not name another", guarded<dispatch_bits>},
    {"dispatch.symbol", Scope::problem, "device functions that plan() does not declare",
     "host kernels, devices without a tracer", guarded<dispatch_symbol>},
    {"reject.reason", Scope::kernel, "contradictions that plan() accepts", "sound problems",
     guarded<reject_reason>},
    {"reject.nowrite", Scope::kernel, "contradictions that run() answers", "sound problems",
     guarded<reject_nowrite>},
};

}  // namespace

std::span<const Check> checks() {
  return table;
}

}  // namespace w4
