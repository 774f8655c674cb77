// SPDX-License-Identifier: Apache-2.0
// `w4check layer`: what a checkpoint holds, one of its layers as plain arrays or in another format,
// and back.
#include "harness/checkpoint/convert.hpp"
#include "harness/checkpoint/show.hpp"
#include "harness/fixture/pack.hpp"
#include "harness/fixture/unpack.hpp"
#include "harness/printable.hpp"
#include "harness/report/log.hpp"
#include "tools/w4check/command.hpp"
#include "tools/w4check/session.hpp"
#include "tools/w4check/values.hpp"

namespace w4 {

int layer_show_command(const LayerArgs& args) {
  const LayerReport report =
      show_layers(open_checkpoint(args.path), args.prefix, read_v1_zeros(args.v1_zeros));
  // Beside an error stands nothing else; the table's notes say what the warnings would.
  if (report.errors.empty())
    for (const std::string& line : report.warnings) log_warning(line);
  print(report.text);
  for (const std::string& line : report.errors) log_error(line);
  return report.errors.empty() ? 0 : 2;
}

int layer_unpack_command(const LayerArgs& args) {
  keep_inputs(args.out, {args.path});
  const Unpacked unpacked =
      unpack_layer(args.path, args.prefix, read_v1_zeros(args.v1_zeros), args.out);
  for (const std::string& line : unpacked.warnings) log_warning(line);
  print("layer   " + printable(unpacked.layer.prefix) + "   " + unpacked.layer.format +
        "\nreport: " + args.out + "\n");
  return 0;
}

int layer_convert_command(const LayerArgs& args) {
  keep_inputs(args.out, {args.path});
  const Converted converted =
      convert_layer(args.path, args.prefix, read_v1_zeros(args.v1_zeros), args.to, args.out);
  for (const std::string& line : converted.warnings) log_warning(line);
  print("layer   " + printable(converted.prefix) + "   " + converted.from + " to " + args.to +
        "\nreport: " + args.out + "\n");
  return 0;
}

int layer_pack_command(const LayerArgs& args) {
  keep_inputs(args.out, {args.path});
  const PackedLayer packed = pack_layer(args.path, args.to, args.out);
  for (const std::string& line : packed.warnings) log_warning(line);
  print("layer   " + printable(packed.prefix) + "   " + args.to + "\nreport: " + args.out + "\n");
  return 0;
}

}  // namespace w4
