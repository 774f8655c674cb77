// SPDX-License-Identifier: Apache-2.0
// The program on real layers.
#include <catch2/catch_test_macros.hpp>

#include "harness/fixture/hdf5_file.hpp"
#include "suites/run/program.hpp"

namespace w4 {

namespace {
const std::string actorder = W4_FIXTURES "/layers/minilm-l2-gptq-actorder";
const std::string symmetric = W4_FIXTURES "/layers/minilm-l2-gptq-sym";
const std::string query = "encoder.layer.2.attention.self.query";
}  // namespace

TEST_CASE("layer run: kernels are judged on a real layer, and one that declines says why") {
  const Ran ran = w4check({"run", "--layer", actorder, "--prefix", query, "--batch", "1,8",
                           "--check", "address.*,exact.onehot", "--kernel", "cpu.s*"});
  INFO(ran.out);
  CHECK(ran.code == 0);
  CHECK(ran.err.empty());
  CHECK(holds(ran.out, "layer   " + query + "   gptq_v1, K 384, N 384, group 128"));
  CHECK(holds(ran.out, "\ncpu.scalar      1,8   loop   4/4       1/1     pass"));
  CHECK(holds(ran.out, "unsupported: act-order"));
}

TEST_CASE("layer run: without a prefix every layer has its table") {
  const Ran ran = w4check({"run", "--layer", symmetric, "--batch", "1", "--check", "exact.zero"});
  INFO(ran.out);
  CHECK(ran.code == 0);
  CHECK(holds(ran.out, "layer   " + query));
  CHECK(holds(ran.out, "layer   encoder.layer.2.output.dense"));
}

TEST_CASE("layer run: what was read otherwise than it is stored is said") {
  const Ran ran = w4check({"run", "--layer", actorder, "--prefix", query, "--batch", "1", "--check",
                           "address.zero", "--v1-zeros", "D2", "--kernel", "cpu.scalar"});
  INFO(ran.out);
  CHECK(ran.code == 0);
  CHECK(holds(ran.out, "zeros read as D2 and packed as gptq_v2"));
}

TEST_CASE("layer run: a failure on a layer replays from its line alone") {
  const Ran ran =
      w4check({"run", "--plugin", "libw4_mutants.so", "--kernel", "mutant.g_idx_ignored", "--layer",
               actorder, "--prefix", query, "--batch", "1", "--check", "address.scale"});
  INFO(ran.out);
  CHECK(ran.code == 1);
  const auto begin = ran.out.find("kernel=mutant.g_idx_ignored");
  REQUIRE(begin != std::string::npos);
  const std::string repro = ran.out.substr(begin, ran.out.find('"', begin) - begin);
  CHECK(holds(repro, "data=layer:" + actorder + "#" + query));
  const Ran again = w4check({"replay", repro});
  CHECK(again.code == 1);
  CHECK(holds(again.out, repro));
}

TEST_CASE("layer run: show and unpack") {
  const Ran show = w4check({"layer", "show", symmetric});
  CHECK(show.code == 0);
  CHECK(holds(show.out, query));
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "layer.h5").string();
  const Ran unpack = w4check({"layer", "unpack", symmetric, "--prefix", query, "-o", out});
  INFO(unpack.err);
  if (unpack.code == 2 && holds(unpack.err, "HDF5")) SKIP("this build has no HDF5");
  CHECK(unpack.code == 0);
  CHECK(unpack.out.ends_with("report: " + out + "\n"));
  CHECK(read_file(out).starts_with("\x89HDF"));
}

TEST_CASE("layer run: convert writes a layer in another format, or says why it cannot") {
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "layer.safetensors").string();
  const Ran good = w4check(
      {"layer", "convert", symmetric, "--prefix", query, "--to", "compressed_tensors", "-o", out});
  INFO(good.err);
  CHECK(good.code == 0);
  CHECK(good.out == "layer   " + query + "   gptq_v1 to compressed_tensors\nreport: " + out + "\n");
  const Ran show = w4check({"layer", "show", out});
  CHECK(holds(show.out, "compressed-tensors"));
  CHECK(show.err.empty());
  const Ran refused =
      w4check({"layer", "convert", actorder, "--prefix", query, "--to", "awq_gemm", "-o", out});
  CHECK(refused.code == 2);
  CHECK(holds(refused.err, "convert: layout awq_gemm has no g_idx: act-order cannot be stored"));
  CHECK(w4check({"layer", "convert", symmetric, "-o", out}).code == 2);
}

TEST_CASE("layer run: pack undoes unpack") {
  const TemporaryFolder folder;
  const std::string plain = (folder.path() / "layer.h5").string(),
                    out = (folder.path() / "layer.safetensors").string();
  const Ran unpack = w4check({"layer", "unpack", symmetric, "--prefix", query, "-o", plain});
  if (unpack.code == 2 && holds(unpack.err, "HDF5")) SKIP("this build has no HDF5");
  const Ran pack = w4check({"layer", "pack", plain, "--to", "gptq_v2", "-o", out});
  INFO(pack.err);
  CHECK(pack.code == 0);
  CHECK(holds(w4check({"layer", "show", out}).out, "gptq v2"));
}

TEST_CASE("layer run: a name out of a file is escaped wherever it is printed") {
  if (!hdf5_available()) SKIP("this build has no HDF5");
  const TemporaryFolder folder;
  const std::string plain = (folder.path() / "in.h5").string(),
                    out = (folder.path() / "out.safetensors").string(),
                    again = (folder.path() / "again.safetensors").string(),
                    back = (folder.path() / "back.h5").string();
  {
    Hdf5Writer file(plain);
    const std::int64_t full[] = {64, 8}, per_group[] = {2, 8};
    file.array("codes", full, std::vector<std::uint8_t>(64 * 8, 5));
    file.array("scales", per_group, std::vector<float>(2 * 8, 0.5F));
    file.attribute("prefix", std::string("a\nverdict: pass\x1b[31m"));
    file.commit();
  }
  for (const auto& words :
       {std::vector<std::string>{"layer", "pack", plain, "--to", "gptq_v2", "-o", out},
        {"layer", "show", out},
        {"layer", "unpack", out, "-o", back},
        {"layer", "convert", out, "--to", "compressed_tensors", "-o", again},
        {"run", "--layer", out, "--batch", "1", "--kernel", "cpu.scalar", "--check",
         "exact.zero"}}) {
    const Ran ran = w4check(words);
    INFO(words[1] << '\n' << ran.out << ran.err);
    CHECK(ran.code == 0);
    CHECK(holds(ran.out, "a\\x0averdict: pass\\x1b[31m"));
    CHECK_FALSE(holds(ran.out + ran.err, "\x1b"));
    CHECK_FALSE(holds("\n" + ran.out + "\n" + ran.err, "\nverdict: pass\\x1b"));
  }
}

TEST_CASE("layer run: golden show, verify and diff print what a file says of itself escaped") {
  const TemporaryFolder folder;
  const std::string a = (folder.path() / "a.h5").string(), b = (folder.path() / "b.h5").string();
  for (const auto& [path, commit] : {std::pair{a, "x\nverdict: pass\x1b[31m"}, std::pair{b, "y"}}) {
    const Ran made =
        w4check({"golden", "record", "--problem", "m=1 n=8 k=16", "--commit", commit, "-o", path});
    if (made.code == 2 && holds(made.err, "HDF5")) SKIP("this build has no HDF5");
    REQUIRE(made.code == 0);
  }
  for (const auto& words : {std::vector<std::string>{"golden", "show", a},
                            {"golden", "verify", a},
                            {"golden", "diff", a, b}}) {
    const Ran ran = w4check(words);
    INFO(ran.out << ran.err);
    CHECK(ran.code == 0);
    CHECK((words[1] == "verify" || holds(ran.out, "x\\x0averdict: pass\\x1b[31m")));
    CHECK_FALSE(holds(ran.out, "\x1b"));
  }
}

}  // namespace w4
