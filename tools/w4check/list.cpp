// SPDX-License-Identifier: Apache-2.0
// `w4check list`: what there is to choose from.
#include "harness/check.hpp"
#include "harness/fault/report.hpp"
#include "harness/report/json.hpp"
#include "harness/report/text.hpp"
#include "harness/report/words.hpp"
#include "harness/table_text.hpp"
#include "reference/error.hpp"
#include "reference/layout/layout.hpp"
#include "tools/w4check/command.hpp"
#include "tools/w4check/session.hpp"

namespace w4 {

namespace {

struct Listing {
  std::vector<std::vector<std::string>> table;
  std::vector<Evidence> rows;
};

Listing list_kernels(const ListArgs& args) {
  Listing out{{{"kernel", "device", "plugin", "by"}}, {}};
  for (const LoadedPlugin& plugin : load_plugins(args.plugins, WorkerLimits{})) {
    const PluginInfo& info = *plugin.info;
    const std::string file = info.path.substr(info.path.rfind('/') + 1);
    for (const auto& kernel : info.kernels) {
      const std::string device = kernel.device == W4_HOST ? "host" : "cuda";
      out.table.push_back({kernel.name, device, file, info.vendor + " " + info.version});
      out.rows.emplace_back(Evidence::Object{{"id", kernel.name},
                                             {"device", device},
                                             {"plugin", file},
                                             {"vendor", info.vendor},
                                             {"version", info.version}});
    }
  }
  return out;
}

std::string_view name_of(Scope scope) {
  switch (scope) {
    case Scope::problem:
      return "problem";
    case Scope::geometry:
      return "geometry";
    case Scope::kernel:
      return "kernel";
  }
  return "";
}

Listing list_checks() {
  Listing out{{{"check", "once per", "sees"}}, {}};
  for (const Check& check : checks()) {
    out.table.push_back(
        {std::string(check.id), std::string(name_of(check.scope)), std::string(check.sees)});
    out.rows.emplace_back(Evidence::Object{{"id", check.id},
                                           {"device", "any"},
                                           {"scope", name_of(check.scope)},
                                           {"sees", check.sees},
                                           {"blind_to", check.blind_to}});
  }
  return out;
}

Listing list_layouts() {
  Listing out{{{"layout", "zero forms", "what"}}, {}};
  for (const std::string& name : layout_names()) {
    const Layout layout = *find_layout(name);
    std::vector<std::string> zeros;
    Evidence::List forms;
    for (auto z = static_cast<unsigned>(Zero::signed_codes);
         z <= static_cast<unsigned>(Zero::add_8); ++z) {
      if (!layout_stores(layout, static_cast<Zero>(z))) continue;
      zeros.emplace_back(to_string(static_cast<Zero>(z)));
      forms.emplace_back(zeros.back());
    }
    out.table.push_back({name, join(zeros, " "), layout_summary(name)});
    out.rows.emplace_back(Evidence::Object{{"id", name},
                                           {"device", "any"},
                                           {"zero", std::move(forms)},
                                           {"summary", layout_summary(name)}});
  }
  return out;
}

Listing list_faults() {
  Listing out{{{"fault", "class", "copies", "expected check", "what"}}, {}};
  for (const Fault& fault : faults()) {
    out.table.push_back({std::string(fault.id), std::string(fault.family),
                         fault.report.empty() ? "-" : std::string(fault.report),
                         std::string(fault.check), std::string(fault.what)});
    out.rows.push_back(fault_row(fault));
  }
  return out;
}

Listing listing_of(const ListArgs& args) {
  if (args.what == "kernels") return list_kernels(args);
  if (args.what == "checks") return list_checks();
  if (args.what == "faults") return list_faults();
  if (args.what == "layouts") return list_layouts();
  const std::vector<std::string_view> known{"kernels", "checks", "faults", "layouts"};
  fail_input("w4check list", "arguments",
             "\"" + args.what + "\" is none of kernels, checks, faults, layouts; nearest is " +
                 nearest_word(args.what, known));
}

}  // namespace

int list_command(const ListArgs& args) {
  const ReportFiles files = open_reports(args.json, "");
  const Listing listing = listing_of(args);
  if (files.json != nullptr) files.json->commit(list_json(args.what, listing.rows));
  print(table_text(listing.table));
  if (files.json != nullptr) print("report: " + files.json->path() + "\n");
  return 0;
}

}  // namespace w4
