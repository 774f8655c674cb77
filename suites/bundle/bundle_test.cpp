// SPDX-License-Identifier: Apache-2.0
// Bundles without Python: a real kernel fills one through its worker, and gets the verdicts that it
// gets from a run; missing, misshapen and untouched outputs are named.
#include "harness/bundle/bundle.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>

#include <catch2/catch_test_macros.hpp>

#include "harness/bundle/player.hpp"
#include "harness/bundle/recorder.hpp"
#include "harness/fixture/tensors.hpp"
#include "reference/error.hpp"
#include "suites/support/judge.hpp"
#include "suites/support/temporary_folder.hpp"
#include "suites/support/types.hpp"

namespace {

using namespace w4;
namespace fs = std::filesystem;

BundleOptions options_for(const std::vector<std::string>& lines, const std::string& out) {
  BundleOptions options;
  for (const auto& line : lines)
    options.problems.push_back({parse_problem(line), nullptr, "", "", true});
  options.kernel = "k";
  options.out = out;
  return options;
}

// Copies a bundle with outputs put in by `fill` (false: the case has no y).
using Fill = std::function<bool(const Bundle&, const BundleCase&, std::vector<std::int64_t>& shape,
                                Hdf5Element&, std::vector<std::byte>& y)>;
void fill_bundle(const std::string& from, const std::string& to, const Fill& fill) {
  const auto bundle = read_bundle(from);
  Hdf5Writer file(to);
  for (const auto& [name, attributes] : bundle.file.groups) {
    if (name != "/") file.group(name.substr(1));
    for (const auto& [key, value] : attributes) {
      if (const auto* text = std::get_if<std::string>(&value))
        name == "/" ? file.attribute(key, *text) : file.attribute_of(name, key, *text);
      if (const auto* number = std::get_if<std::int64_t>(&value))
        name == "/" ? file.attribute(key, *number) : file.attribute_of(name, key, *number);
    }
  }
  for (const auto& c : bundle.cases) {
    for (const auto& list :
         {weight_tensors(c.problem, read_weights(bundle.file, c.name, c.problem)),
          call_tensors(c.problem, read_call(bundle.file, c.name, c.problem))})
      for (const auto& tensor : list)
        file.words(c.name.substr(1) + "/" + tensor.name, tensor.element, tensor.shape,
                   tensor.bytes);
    std::vector<std::int64_t> shape{c.problem.m, c.problem.n};
    auto element = element_for(c.problem.y);
    const auto blank = array_of(bundle.file, c.name + "/y").bytes();
    std::vector<std::byte> y(blank.begin(), blank.end());
    if (fill(bundle, c, shape, element, y)) file.words(c.name.substr(1) + "/y", element, shape, y);
  }
  file.commit();
}

// What a kernel of a plugin answers.
Fill answers_of(KernelPort& kernel) {
  return [&kernel](const Bundle& bundle, const BundleCase& c, auto&, auto&, auto& y) {
    const auto abi = to_abi(c.problem);
    REQUIRE(kernel.bind(abi, read_weights(bundle.file, c.name, c.problem)).status == W4_OK);
    const auto reply = kernel.run(abi, read_call(bundle.file, c.name, c.problem),
                                  {Place::middle, c.poison, false});
    REQUIRE(reply.status == W4_OK);
    y = reply.y;
    return true;
  };
}

// The right words, from the oracle.
bool right(const Bundle& bundle, const BundleCase& c, std::vector<std::int64_t>&, Hdf5Element&,
           std::vector<std::byte>& y) {
  const auto words = right_words(c.problem, read_weights(bundle.file, c.name, c.problem),
                                 read_call(bundle.file, c.name, c.problem), Dequant::d5);
  const auto size = static_cast<std::size_t>(bits_of(c.problem.y) / 8);
  for (std::size_t i = 0; i < words.size(); ++i)
    for (std::size_t b = 0; b < size; ++b)
      y[i * size + b] = static_cast<std::byte>(words[i] >> (8 * b));
  return true;
}

constexpr char small[] = "m=2 n=16 k=64 g=32 zero=code";

}  // namespace

TEST_CASE("right outputs of every kind of problem pass") {
  const TemporaryFolder folder;
  for (const char* line : {small, "m=3 n=8 k=64 g=16 zero=8 layout=gptq_v1 x=s8 xg=32 y=f32",
                           "m=1 n=13 k=48 zero=real layout=kpack:02461357 x=bf16 y=bf16",
                           "m=2 n=8 k=33 zero=signed x=s4 y=f32",
                           "m=2 n=9 k=40 g=8 groups=6 zero=add x=f32 y=f32 order=gidx bias=f32",
                           "m=2 n=16 k=64 g=16 zero=code layout=npack:01234567 order=perm",
                           "m=2 n=16 k=256 g=64 zero=code layout=awq_gemm",
                           "m=2 n=16 k=256 g=64 zero=code layout=awq_gemv",
                           "m=2 n=16 k=256 g=64 zero=add layout=awq_gemv_fast",
                           "m=2 n=16 k=256 g=64 zero=code layout=compressed_tensors"}) {
    INFO(line);
    make_bundle(options_for({line}, folder.file("a.h5")));
    fill_bundle(folder.file("a.h5"), folder.file("b.h5"), right);
    const auto judged =
        judge_bundle(folder.file("b.h5"), {}, {"repeatable", "batch_invariant", "row_local"}, {});
    CHECK(judged.faults.empty());
    CHECK(exit_code(judged.run) == 0);
    for (const auto& c : judged.run.cases) {
      INFO(c.check << ": " << c.verdict.reason);
      CHECK(!is_red(c));
    }
  }
}

TEST_CASE("every x, mul and y that go together make a file that can be judged") {
  const TemporaryFolder folder;
  std::size_t count = 0;
  for (const auto& line : lines_of_types("m=1 n=8 k=8")) {
    INFO(line);
    const Problem p = parse_problem(line);
    if (bits_of(p.y) == 16) continue;  // for time: y is not x
    ++count;
    make_bundle(options_for({line}, folder.file("a.h5")));
    const auto bundle = read_bundle(folder.file("a.h5"));
    const bool brought = bits_of(p.mul) <= 8 && p.x == p.mul;
    for (const auto& c : bundle.cases) {
      CHECK(bundle.file.datasets.contains(c.name + "/x_scale") == brought);
      const auto& formula = text_attribute(bundle.file, c.name, "formula");
      CHECK((formula.find("*x_scale[") != std::string::npos) == brought);
      CHECK((formula.find("x is quantised to") != std::string::npos) == (p.x != p.mul));
    }
    fill_bundle(folder.file("a.h5"), folder.file("b.h5"), right);
    CHECK(judge_bundle(folder.file("b.h5"), {}, {}, {}).faults.empty());
  }
  CHECK(count > 15);
}

TEST_CASE("minus one everywhere is an answer of s32, though the blank reads so too") {
  const TemporaryFolder folder;
  make_bundle(options_for({"m=1 n=8 k=16 x=s8 y=s32"}, folder.file("a.h5")));
  fill_bundle(folder.file("a.h5"), folder.file("b.h5"), right);
  const auto bundle = read_bundle(folder.file("b.h5"));
  std::size_t minus_one = 0;
  for (const auto& c : bundle.cases) {
    CHECK(c.y_fault.empty());
    const auto y = array_of(bundle.file, c.name + "/y");
    minus_one += std::ranges::all_of(y.bytes(), [](std::byte b) { return b == std::byte{0xff}; });
  }
  CHECK(minus_one > 0);
  CHECK(error_of([&] {
          judge_bundle(folder.file("a.h5"), {}, {}, {});
        }).find("no output was filled in") != std::string::npos);
}

TEST_CASE("a bundle gives the verdicts of a run") {
  const TemporaryFolder folder;
  const char* line = "m=4 n=32 k=256 g=32 zero=code";
  for (const char* name : {"mutant.none", "mutant.zero_off_by_one", "mutant.f16_accumulator",
                           "mutant.n_tile_not_written", "mutant.group_off_by_one"}) {
    Subject subject(inspect_plugin(plugin_path("mutants")), name, {});
    const Plan plan = subject.plan(parse_problem(line));
    auto options = options_for({line}, folder.file("a.h5"));
    options.contract = plan.contract;
    make_bundle(options);
    fill_bundle(folder.file("a.h5"), folder.file("b.h5"), answers_of(subject));
    const auto judged =
        judge_bundle(folder.file("b.h5"), {}, {"repeatable", "batch_invariant", "row_local"}, {});
    CHECK(judged.run.cases.size() > 15);
    for (const auto& c : judged.run.cases) {
      const auto direct = judge("mutants", name, c.check, line);
      // A run may ask for y=f32, where an order shows; a file holds the problems that it was made
      // of.
      const bool wider =
          c.check == "effect.repeat" || c.check == "effect.batch" || c.check == "contract.bits";
      INFO(name << " " << c.check << ": " << c.verdict.reason << " | " << direct.reason);
      if (!wider) CHECK(c.verdict.outcome == direct.outcome);
      if (!wider) CHECK(kind_of(c.verdict) == kind_of(direct));
      CHECK(c.verdict.outcome != Outcome::not_run);
      CHECK(c.verdict.outcome != Outcome::harness_error);
    }
  }
}

TEST_CASE("one word everywhere is vacuous in a bundle as in a run: no other draw is asked of it") {
  const TemporaryFolder folder;
  make_bundle(options_for({small}, folder.file("a.h5")));
  fill_bundle(folder.file("a.h5"), folder.file("b.h5"),
              [](auto&, auto&, auto&, auto&, std::vector<std::byte>& y) {
                std::ranges::fill(y, std::byte{0x3c});
                return true;
              });
  const auto judged = judge_bundle(folder.file("b.h5"), {"effect.repeat", "effect.batch"},
                                   {"repeatable", "batch_invariant"}, {});
  REQUIRE(judged.run.cases.size() == 2);
  for (const auto& c : judged.run.cases) CHECK(c.verdict.outcome == Outcome::vacuous);
}

TEST_CASE("the file holds no expected word: every y is the poison") {
  const TemporaryFolder folder;
  make_bundle(options_for({small}, folder.file("a.h5")));
  const auto bundle = read_bundle(folder.file("a.h5"));
  CHECK(bundle.cases.size() > 20);
  for (const auto& c : bundle.cases) CHECK(c.fault_kind == "not_written");
  CHECK(error_of([&] {
          judge_bundle(folder.file("a.h5"), {}, {}, {});
        }).starts_with(folder.file("a.h5") + ": judge: no output was filled in"));
}

TEST_CASE("the same options make the same bytes") {
  const TemporaryFolder folder;
  for (const char* name : {"a.h5", "b.h5"}) make_bundle(options_for({small}, folder.file(name)));
  const auto a = read_foreign(folder.file("a.h5")), b = read_foreign(folder.file("b.h5"));
  REQUIRE(a.datasets.size() == b.datasets.size());
  for (const auto& [name, array] : a.datasets) CHECK(*array.data == *b.datasets.at(name).data);
}

TEST_CASE("missing, misshapen and untouched outputs are named") {
  const TemporaryFolder folder;
  make_bundle(options_for({small}, folder.file("a.h5")));
  const auto spoiled = [&](const Fill& spoil) {
    fill_bundle(
        folder.file("a.h5"), folder.file("b.h5"),
        [&](const Bundle& bundle, const BundleCase& c, auto& shape, auto& element, auto& y) {
          right(bundle, c, shape, element, y);
          return c.name == "/cases/00003" ? spoil(bundle, c, shape, element, y) : true;
        });
    return judge_bundle(folder.file("b.h5"), {}, {}, {});
  };
  struct Row {
    Fill spoil;
    std::string fault, kind;
  };
  const Row rows[] = {{[](auto&, auto&, auto&, auto&, auto&) { return false; },
                       "/cases/00003/y is missing", "missing"},
                      {[](auto&, auto&, auto& shape, auto&, auto&) {
                         std::swap(shape[0], shape[1]);
                         return true;
                       },
                       "/cases/00003/y is float16 [16, ", "misshapen"},
                      {[](auto&, auto&, auto&, auto& element, auto&) {
                         element = Hdf5Element::u16;
                         return true;
                       },
                       "/cases/00003/y is uint16 ", "misshapen"},
                      {[](const Bundle& bundle, const BundleCase& c, auto&, auto&, auto& y) {
                         const auto blank = array_of(bundle.file, c.name + "/y").bytes();
                         y.assign(blank.begin(), blank.end());
                         return true;
                       },
                       "/cases/00003/y was never written", "not_written"}};
  for (const auto& row : rows) {
    const auto judged = spoiled(row.spoil);
    REQUIRE(judged.faults.size() == 1);
    INFO(judged.faults[0]);
    CHECK(judged.faults[0].starts_with(row.fault));
    CHECK(exit_code(judged.run) == 1);
    std::size_t red = 0;
    for (const auto& c : judged.run.cases) {
      if (!is_red(c)) continue;
      ++red;
      CHECK(kind_of(c.verdict) == row.kind);
      CHECK(c.verdict.reason == judged.faults[0]);
    }
    CHECK(red >= 1);
  }
}

TEST_CASE("operands that were changed are refused with the case's name") {
  const TemporaryFolder folder;
  make_bundle(options_for({small}, folder.file("a.h5")));
  const auto bundle = read_bundle(folder.file("a.h5"));
  Hdf5Writer file(folder.file("b.h5"));
  for (const auto& [key, value] : bundle.file.groups.at("/"))
    file.attribute(key, std::get<std::string>(value));
  file.group("problems/00000");
  for (const auto& [key, value] : bundle.file.groups.at("/problems/00000"))
    file.attribute_of("problems/00000", key, std::get<std::string>(value));
  const auto& c = bundle.cases.front();
  const auto name = c.name.substr(1);
  file.group(name);
  for (const auto& [key, value] : bundle.file.groups.at(c.name))
    std::holds_alternative<std::string>(value)
        ? file.attribute_of(name, key, std::get<std::string>(value))
        : file.attribute_of(name, key, std::get<std::int64_t>(value));
  for (auto tensor : weight_tensors(c.problem, read_weights(bundle.file, c.name, c.problem))) {
    if (tensor.name == "scale") tensor.bytes[5] ^= std::byte{1};
    file.words(name + "/" + tensor.name, tensor.element, tensor.shape, tensor.bytes);
  }
  for (const auto& tensor : call_tensors(c.problem, read_call(bundle.file, c.name, c.problem)))
    file.words(name + "/" + tensor.name, tensor.element, tensor.shape, tensor.bytes);
  file.commit();
  CHECK(error_of([&] {
          read_bundle(folder.file("b.h5"));
        }).starts_with(folder.file("b.h5") + ": read: the operands of " + c.name));
}

TEST_CASE("each tensor of each case is held against its key, those that cases share too") {
  const TemporaryFolder folder;
  make_bundle(options_for({"m=2 n=9 k=40 g=8 groups=6 zero=add x=f32 y=f32 order=gidx bias=f32"},
                          folder.file("a.h5")));
  const auto file = read_foreign(folder.file("a.h5"));
  const auto last = read_bundle(file).cases.back().name;
  for (const char* tensor : {"codes", "scale", "zero", "g_idx", "bias", "x"}) {
    auto changed = file;
    auto& array = changed.datasets.at(last + "/" + tensor);
    auto bytes = *array.data;
    bytes[0] ^= std::byte{1};
    array.data = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
    INFO(tensor);
    CHECK(error_of([&] {
            read_bundle(changed);
          }).starts_with(folder.file("a.h5") + ": read: the operands of " + last));
  }
}

TEST_CASE("what is asked cannot be edited: checks, contract, claims, the list of problems") {
  const TemporaryFolder folder;
  auto options = options_for({small, "m=3 n=16 k=64 g=32 zero=code"}, folder.file("a.h5"));
  options.contract = "dequant=D1";
  make_bundle(options);
  const auto file = read_foreign(folder.file("a.h5"));
  CHECK_NOTHROW(read_bundle(file));
  const std::string begin = file.path + ": read: ";
  const std::string end = " not what they were when " +
                          std::get<std::string>(file.groups.at("/").at("generator")) +
                          " made the file";
  const auto refusal = [&](const std::function<void(ForeignFile&)>& edit) {
    auto changed = file;
    edit(changed);
    const auto error = error_of([&] { read_bundle(changed); });
    INFO(error);
    REQUIRE((error.starts_with(begin) && error.ends_with(end)));
    return error.substr(begin.size(), error.size() - begin.size() - end.size());
  };
  const auto set = [](const char* object, const char* name, const char* value) {
    return [=](ForeignFile& f) { f.groups.at(object)[name] = std::string(value); };
  };
  CHECK(refusal(set("/problems/00001", "checks", "exact.zero")) ==
        "the problem and the checks of /problems/00001 (m=3 n=16 k=64 g=32 zero=code) are");
  CHECK(refusal(set("/problems/00000", "problem", "m=1 n=16 k=64 g=32 zero=code")) ==
        "the problem and the checks of /problems/00000 (m=1 n=16 k=64 g=32 zero=code) are");
  const std::string whole = "the contract, the claims or the list of problems are";
  CHECK(refusal(set("/", "contract", "")) == whole);
  CHECK(refusal(set("/", "claims", "")) == whole);
  CHECK(refusal([](ForeignFile& f) { f.groups.erase("/problems/00001"); }) == whole);
}

TEST_CASE("a kernel's name out of a file is fit for a terminal") {
  const TemporaryFolder folder;
  auto options = options_for({small}, folder.file("a.h5"));
  options.kernel = "a\nverdict: pass\x1b[31m";
  make_bundle(options);
  CHECK(read_bundle(folder.file("a.h5")).kernel == "a\\x0averdict: pass\\x1b[31m");
}

TEST_CASE("a judgement says how many of the checks the file holds for each problem") {
  const TemporaryFolder folder;
  make_bundle(options_for({small}, folder.file("a.h5")));
  fill_bundle(folder.file("a.h5"), folder.file("b.h5"), right);
  const auto judged = judge_bundle(folder.file("b.h5"), {"exact.zero"}, {}, {});
  REQUIRE(judged.held.size() == 1);
  CHECK(judged.held[0].problem == small);
  CHECK(judged.held[0].held == read_bundle(folder.file("b.h5")).checks[0].size());
  CHECK(judged.held[0].held > 10);
  CHECK(judged.held[0].of == checks().size());
}

TEST_CASE("what a bundle says of itself is refused in one line where it cannot be") {
  const TemporaryFolder folder;
  make_bundle(options_for({small}, folder.file("a.h5")));
  const auto file = read_foreign(folder.file("a.h5"));
  const auto refusal = [&](const std::string& object, const std::string& attribute,
                           const std::string& value) {
    auto changed = file;
    changed.groups.at(object)[attribute] = value;
    const auto error = error_of([&] { read_bundle(changed); });
    const auto begin = file.path + ": read: ";
    CHECK(error.starts_with(begin));
    return error.substr(std::min(error.size(), begin.size()));
  };
  CHECK(refusal("/", "claims", "always").starts_with("attribute claims of /: unknown claim"));
  CHECK(refusal("/", "schema", "w4check.bundle/2").starts_with("schema is"));
  CHECK(refusal("/problems/00000", "problem", "m=2 n=16 k=64 data=layer:a#b") ==
        "attribute problem of /problems/00000 is not of generated data");
  CHECK(refusal("/cases/00001", "problem", "m=2 n=16 k=64 xs=70") ==
        "attribute problem of /cases/00001 has strides");
  CHECK(refusal("/cases/00001", "problem", "m=2 n=16 k=64") ==
        "/cases/00001 has a problem that is not below /problems");
}

TEST_CASE("problems that a file cannot hold are refused") {
  const TemporaryFolder folder;
  CHECK(error_of([&] {
          make_bundle(options_for({"m=2 n=8 k=32 xs=40"}, folder.file("a.h5")));
        }).find("no xs= or ys=") != std::string::npos);
  CHECK(!fs::exists(folder.file("a.h5")));
}

TEST_CASE("scales and zeros have the shape that their layout gives them") {
  const TemporaryFolder folder;
  struct Row {
    const char *line, *scale, *zero;
  };
  // awq_gemv pads the groups to whole words of zeros, eight to a word.
  for (const Row& row :
       {Row{"m=1 n=16 k=256 g=64 zero=code", "float16 [4, 16]", "uint8 [4, 16]"},
        Row{"m=1 n=16 k=256 g=64 zero=code layout=gptq_v2", "float16 [4, 16]", "uint32 [4, 2]"},
        Row{"m=1 n=16 k=256 g=64 zero=code layout=awq_gemv", "float16 [16, 16]", "uint32 [16, 2]"},
        Row{"m=1 n=16 k=256 g=64 zero=add layout=awq_gemv_fast", "float16 [16, 16]",
            "float16 [16, 16]"},
        Row{"m=1 n=16 k=256 g=64 zero=code layout=compressed_tensors", "float16 [16, 4]",
            "uint32 [2, 4]"}}) {
    INFO(row.line);
    make_bundle(options_for({row.line}, folder.file("a.h5")));
    const auto file = read_foreign(folder.file("a.h5"));
    std::set<std::string> scales, zeros;
    for (const auto& [name, array] : file.datasets) {
      if (name.ends_with("/scale")) scales.insert(describe(array));
      if (name.ends_with("/zero")) zeros.insert(describe(array));
    }
    CHECK(scales == std::set<std::string>{row.scale});
    CHECK(zeros == std::set<std::string>{row.zero});
  }
}
