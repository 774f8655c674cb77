// SPDX-License-Identifier: Apache-2.0
// A case's way to the kernel: binds matrices, runs rows, and turns every end that is no answer into
// the verdict.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/check.hpp"

namespace w4 {

// Thrown by the rig when the case is over: the kernel died, declined what it had accepted, ...
// Caught by until_shown().
struct CaseOver {
  Verdict verdict;
};

struct Answer {
  Reply reply;
  std::vector<std::uint32_t> words;  // [m][n], words of problem.y
};

class Rig {
 public:
  Rig(KernelPort&, const CaseContext&);
  const CaseContext& context() const { return context_; }
  const Problem& problem() const { return context_.problem; }
  const Layout& layout() const { return layout_; }
  KernelPort& subject() { return subject_; }

  // Packs the matrix into the problem's layout and binds it.
  Reply bind(const QuantizedMatrix&, const CallOptions& = {});
  // The stored words as they are.
  Reply bind(const Packed&, const QuantizedMatrix&, const CallOptions& = {});
  // Runs the rows at once; m is the activations' own. Throws CaseOver unless the kernel answers
  // W4_OK.
  Answer run(const Activations&, const CallOptions& = {});
  Answer run(const Problem&, const Activations&, const CallOptions& = {});
  // The last path that run() reported, and the one that plan() declares for what was asked; empty
  // where neither is known.
  const std::string& ran() const { return ran_; }
  const std::string& declared() const { return declared_; }
  // Of the last call, as a verdict says it.
  const Evidence& launches() const { return launches_; }

 private:
  KernelPort& subject_;
  const CaseContext& context_;
  Layout layout_;
  const std::string& path_for(const Problem&);
  // By problem line: what plan() says for other m, types, strides.
  std::map<std::string, std::string> paths_;
  std::string ran_, declared_;
  Evidence launches_{Evidence::List{}};
};

// Calls the check; a CaseOver becomes its verdict; a pass by another path than declared becomes
// `fallback`; after `vacuous` other operands are drawn, a few times.
Verdict until_shown(KernelPort&, const CaseContext&, Verdict (*body)(Rig&));
template <Verdict (*body)(Rig&)>
Verdict guarded(KernelPort& subject, const CaseContext& context) {
  return until_shown(subject, context, body);
}

// "" where probes can rely on amax/127; else why the exact data do not apply.
std::string no_exact_x(const CaseContext&);
// guarded() for checks whose data must enter exactly: `unsupported` where x is quantised by a rule
// they are not made for.
template <Verdict (*body)(Rig&)>
Verdict guarded_exact(KernelPort& subject, const CaseContext& context) {
  if (const auto why = no_exact_x(context); !why.empty()) return with(Outcome::unsupported, why);
  return until_shown(subject, context, body);
}

// Zero rows in place of those that gave `words` give others. A kernel that answers the same
// whatever it is asked keeps most promises about its answers, and shows nothing.
bool follows_x(Rig&, std::span<const std::uint32_t> words);
Verdict follows_nothing();

// The problem with y=f32, where an order of summation shows, if the kernel takes that by the same
// path and plan() gives the bits of `claim` there too; else as it is.
CaseContext with_wide_output(Rig&, std::uint64_t claim = 0);
// 16-bit sums or partial sums are declared: data that need 24 bits are not required of it.
bool declares_narrow_sums(const Plan&);
Type declared_partial(const Plan&);  // f16, bf16, or none

// What plan() says of another problem; throws CaseOver where it does not return.
Plan plan_of(Rig&, const Problem&);

// m that a probe of many rows may use without leaving the declared path: as many as plan() takes by
// the same path, at most `want`, else the problem's own m.
std::int64_t rows_per_call(Rig&, std::int64_t want);

// An output word whose every byte is the poison.
std::uint32_t poison_word(Type y, std::uint8_t poison);

// For messages.
std::string show_word(Type, std::uint32_t);                     // "0x4900 (10)"
std::string show_range(std::int64_t first, std::int64_t last);  // "17" or "24..31"
// A field of the contract: "partials=f16 ..." -> "f16"; "" where it is left out or `unknown`.
std::string claim_field(const Plan&, std::string_view field);
bool claims(const Plan&, std::uint64_t bit);

}  // namespace w4
