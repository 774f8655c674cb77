// SPDX-License-Identifier: Apache-2.0
// The only file here that includes nlohmann-json.
#include "harness/report/json.hpp"

#include <cmath>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "harness/report/words.hpp"

namespace w4 {

namespace {

using Json = nlohmann::ordered_json;

struct ToJson {
  Json operator()(std::nullptr_t) const { return nullptr; }
  Json operator()(bool b) const { return b; }
  Json operator()(std::int64_t i) const { return i; }
  Json operator()(double d) const {
    if (std::isfinite(d)) return d;
    return std::isnan(d) ? "nan" : d > 0 ? "inf" : "-inf";
  }
  Json operator()(const std::string& s) const { return s; }
  Json operator()(const Evidence::List& list) const {
    Json out = Json::array();
    for (const Evidence& item : list) out.push_back(std::visit(*this, item.value));
    return out;
  }
  Json operator()(const Evidence::Object& object) const {
    Json out = Json::object();
    for (const auto& [key, item] : object) out[key] = std::visit(*this, item.value);
    return out;
  }
};

Json to_json(const Evidence& evidence) {
  return std::visit(ToJson{}, evidence.value);
}

// Names and messages come from libraries and files: bytes that are not UTF-8 are replaced, never
// thrown at.
std::string text_of(const Json& json, int indent = 1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

void put_outcomes(Json& out, const Counts& counts) {
  for (std::size_t i = 0; i < counts.of.size(); ++i) {
    out[std::string(to_string(static_cast<Outcome>(i)))] = counts.of[i];
  }
}

template <typename NameOf>
Json grouped(const RunResult& run, const std::vector<std::string>& names, NameOf name_of) {
  std::vector<std::pair<std::string, Counts>> rows;
  for (const std::string& name : names) rows.emplace_back(name, Counts{});
  for (const RunCase& c : run.cases) {
    for (auto& [name, counts] : rows) {
      if (name == name_of(c)) counts.add(c);
    }
  }
  Json out = Json::object();
  for (const auto& [name, counts] : rows) put_outcomes(out[name] = Json::object(), counts);
  return out;
}

Json summary(const RunResult& run) {
  const Counts counts = count(run.cases);
  Json out;
  out["total"] = counts.total;
  out["required"] = counts.required;
  out["red"] = counts.red;
  out["problems"] = run.problems.size();
  put_outcomes(out, counts);
  out["interrupted"] = run.interrupted;
  out["never_judged"] = Json::array();
  std::vector<std::string> kernels;
  for (const RunKernel& kernel : run.kernels) {
    kernels.push_back(kernel.name);
    if (kernel.never_judged) out["never_judged"].push_back(kernel.name);
  }
  out["kernels"] =
      grouped(run, kernels, [&run](const RunCase& c) { return run.kernels[c.kernel].name; });
  out["checks"] = grouped(run, run.checks, [](const RunCase& c) { return c.check; });
  return out;
}

Json search_json(const RunSearch& search) {
  return {{"asked_seconds", search.seconds},
          {"problems", search.problems},
          {"taken_by_no_kernel", search.declined},
          {"shrunk", search.shrunk},
          {"left_out", search.left_out},
          {"depends_on", "the seed; how many problems are reached, on time"}};
}

Json environment_json(const Environment& host) {
  return {{"cpu", host.cpu},
          {"lanes", host.lanes},
          {"compiler", host.compiler},
          {"device", host.device},
          {"driver", host.driver}};
}

Json worst_json(const Worst& worst) {
  return {{"row", worst.row},
          {"col", worst.col},
          {"got_bits", hex(worst.got_bits)},
          {"want_lo_bits", hex(worst.want_lo_bits)},
          {"want_hi_bits", hex(worst.want_hi_bits)},
          {"ulps", worst.ulps}};
}

Json case_json(const RunResult& run, const RunCase& c) {
  const Verdict& v = c.verdict;
  Json out;
  out["id"] = case_id(run, c);
  out["kernel"] = run.kernels[c.kernel].name;
  out["check"] = c.check;
  out["problem"] = run.problems[c.problem].line;
  out["required"] = c.required;
  out["outcome"] = to_string(v.outcome);
  out["reason"] = v.reason;
  if (!v.where.empty()) out["where"] = v.where;
  if (!v.expected_got.empty()) out["expected_got"] = v.expected_got;
  if (!v.why.empty()) out["why"] = v.why;
  out["repro"] = c.repro;
  out["calls"] = c.calls;
  out["seconds"] = c.seconds;
  out["path"] = {{"declared", v.path_declared},
                 {"observed", v.path_observed},
                 {"reason", v.path_reason},
                 {"launches", to_json(v.path_launches)}};
  out["evidence"] = to_json(v.evidence);
  out["worst"] = v.worst ? worst_json(*v.worst) : Json(nullptr);
  out["smallest_fault"] = v.smallest_fault.empty() ? Json(nullptr) : Json(v.smallest_fault);
  out["signal"] = v.signal != 0 ? Json(v.signal) : Json(nullptr);
  return out;
}

}  // namespace

std::string run_json(const RunResult& run, const Environment& host) {
  Json out;
  out["schema"] = "w4check.run/1";
  out["version"] = version();
  out["commit"] = commit();
  out["seed"] = hex(run.seed);
  out["environment"] = environment_json(host);
  out["started"] = run.started;
  out["wall_s"] = run.wall_s;
  out["summary"] = summary(run);
  if (run.search.done) out["search"] = search_json(run.search);
  out["cases"] = Json::array();
  for (const RunCase& c : run.cases) out["cases"].push_back(case_json(run, c));
  return text_of(out) + "\n";
}

std::string list_json(const std::string& name, const std::vector<Evidence>& rows) {
  Json out;
  out[name] = Json::array();
  for (const Evidence& row : rows) out[name].push_back(to_json(row));
  return text_of(out) + "\n";
}

std::string document_json(const Evidence& document) {
  return text_of(to_json(document)) + "\n";
}

std::string evidence_text(const Evidence& evidence, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out = margin;
  for (const char c : text_of(to_json(evidence), 2)) {
    out += c;
    if (c == '\n') out += margin;
  }
  return out + "\n";
}

}  // namespace w4
