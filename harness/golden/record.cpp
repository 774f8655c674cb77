// SPDX-License-Identifier: Apache-2.0
// Cases from problems: operands by the rules of the checks, results by the oracle.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "harness/checks/data.hpp"
#include "harness/golden/golden.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

// Full significands of both signs over eight binades; integers over their range.
Activations generic_rows(const Problem& p) {
  auto x = zero_rows(p, p.m);
  for (std::size_t i = 0; i < x.words.size(); ++i) {
    const auto bits = draw(p.seed, "golden x", i);
    const double size = is_float(p.x)
                            ? std::ldexp(1.0 + static_cast<double>(bits >> 8 & 0xffff) / 65536.0,
                                         static_cast<int>(bits >> 32 & 7) - 6)
                            : static_cast<double>((bits >> 8) % (p.x == Type::s8 ? 128 : 8));
    x.words[i] = x_word(p, bits & 1 ? size : -size);
  }
  vary_x_scale(x, -7, 4);
  for (std::size_t i = 0; i < x.scale.size(); ++i)
    x.scale[i] *= 1.0F + static_cast<float>(draw(p.seed, "golden x scale", i) & 0xffff) / 65536.0F;
  return x;
}

Problem dense(Problem p) {
  p.data = "gen", p.v1zeros = V1Zeros::d1;
  p.x_stride = p.k, p.y_stride = p.n;
  return p;
}

// As value.table and exact.onehot have it, with a bias that is not zero.
QuantizedMatrix generic_golden(const CaseContext& c) {
  auto matrix = generic_matrix(c, 1);
  for (std::size_t n = 0; n < matrix.bias.size(); ++n)
    matrix.bias[n] =
        from_double(matrix.bias_type,
                    static_cast<double>(draw(c.problem.seed, "golden bias", n) % 4001) / 512 - 4);
  return matrix;
}

}  // namespace

GoldenCase record_case(const SuiteProblem& from, std::size_t number,
                       const std::function<void()>& go_on) {
  GoldenCase c;
  char name[16];
  std::snprintf(name, sizeof name, "%05zu", number);
  c.name = name;
  c.source = from.layer ? from.problem.data : "gen";
  c.problem = dense(from.problem);
  const auto layout = *find_layout(c.problem.layout);
  const CaseContext context{c.problem, nullptr, {}};
  const auto matrix = from.layer ? from.layer->matrix : generic_golden(context);
  c.weights = to_bytes(from.layer ? from.layer->stored : pack(layout, matrix), matrix);
  const auto x = generic_rows(c.problem);
  c.call = to_bytes(c.problem, x);
  for (const auto dequant : {Dequant::d1, Dequant::d5, Dequant::d6}) {
    if (go_on) go_on();
    GoldenClass result{dequant, exact_products(x, matrix, dequant, c.problem.mul), {}};
    for (const auto& v : result.exact) result.y.push_back(round_word(v, c.problem.y));
    c.classes.push_back(std::move(result));
  }
  return c;
}

void observe_case(GoldenCase& c, KernelPort& kernel) {
  const auto& p = c.problem;
  const auto fail = [&](const std::string& cause) {
    fail_input(kernel.kernel(), "record", cause + " (" + to_string(p) + ")");
  };
  const auto plan = kernel.plan(p);
  if (!plan.ok()) fail("plan() declines: " + plan.reason);
  const auto abi = to_abi(p);
  const auto bound = kernel.bind(abi, c.weights);
  if (!bound.answered() || bound.status != W4_OK) fail("pack() fails: " + bound.how);
  const auto reply = kernel.run(abi, c.call);
  if (!reply.answered() || reply.status != W4_OK) fail("run() fails: " + reply.how);
  const auto size = static_cast<std::size_t>(bits_of(p.y) / 8);
  c.observed.assign(static_cast<std::size_t>(p.m * p.n), 0);
  for (std::size_t i = 0; i < c.observed.size(); ++i)
    std::memcpy(&c.observed[i], reply.y.data() + i * size, size);
}

}  // namespace w4
