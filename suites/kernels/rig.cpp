// SPDX-License-Identifier: Apache-2.0
#include "suites/kernels/rig.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <optional>
#include <stdexcept>

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace w4 {
namespace {

std::uint32_t hash(std::uint32_t tensor, std::int64_t index) {
  std::uint64_t h =
      static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15u + tensor * 0xd1b54a32d192ed03u;
  h ^= h >> 29;
  h *= 0xbf58476d1ce4e5b9u;
  return static_cast<std::uint32_t>(h >> 32);
}

bool starts(const std::string& text, const char* with) {
  return text.rfind(with, 0) == 0;
}
bool is_gptq(const Case& c) {
  return starts(c.layout, "gptq");
}
// Integer zeros in nibbles; the others keep a byte each.
bool has_nibble_zeros(const Case& c) {
  return is_gptq(c) || c.layout == "awq_gemm" || c.layout == "awq_gemv" ||
         c.layout == "compressed_tensors";
}

// Nibble that holds element e.
int nibble_of(const Case& c, std::int64_t element) {
  std::string order = "01234567";
  if (c.layout == "awq_gemm") order = "02461357";
  if (starts(c.layout, "kpack") || starts(c.layout, "npack")) order = c.layout.substr(6);
  return static_cast<int>(order.find(static_cast<char>('0' + element)));
}

// Groups a column has room for in AWQ's GEMV forms: 8 a word, the words a multiple of 4, 2 or 1.
std::int64_t gemv_groups(const Case& c) {
  std::int64_t words = (c.p.groups + 7) / 8;
  while (c.p.group < 128 && words % (c.p.group == 64 ? 2 : 4) != 0) ++words;
  return 8 * words;
}

std::size_t at(std::int64_t i) {
  return static_cast<std::size_t>(i);
}

void put_word(std::vector<std::byte>& bytes, std::int64_t word, int nibble, int value) {
  const std::size_t byte = at(word * 4 + nibble / 2);
  bytes[byte] |= static_cast<std::byte>((value & 15) << (nibble % 2 * 4));
}

struct Place {
  std::int64_t word;  // of 32 bits
  int nibble;
};

Place place_of(const Case& c, std::int64_t row, std::int64_t column) {
  const std::int64_t n = c.p.n, k = c.p.k;
  if (starts(c.layout, "npack") || c.layout == "awq_gemm") {
    return {row * ((n + 7) / 8) + column / 8, nibble_of(c, column % 8)};
  }
  if (c.layout == "awq_gemv" || c.layout == "compressed_tensors") {
    return {column * ((k + 7) / 8) + row / 8, nibble_of(c, row % 8)};
  }
  if (c.layout == "awq_gemv_fast") {
    const std::int64_t half =
        column / 4 * k + row / 64 * 64 + column % 4 * 16 + row % 64 / 32 * 8 + row % 8;
    return {half / 2, static_cast<int>(half % 2 * 4 + row % 32 / 8)};
  }
  return {row / 8 * n + column, nibble_of(c, row % 8)};
}

std::vector<std::byte> codes_bytes(const Case& c) {
  const std::int64_t n = c.p.n, k = c.p.k;
  if (c.layout == "codes") {
    std::vector<std::byte> bytes;
    for (const int code : c.codes) bytes.push_back(static_cast<std::byte>(code));
    return bytes;
  }
  const Place last = place_of(c, k - 1, n - 1);
  std::vector<std::byte> bytes(at((last.word + 1) * 4));
  for (std::int64_t row = 0; row < k; ++row) {
    for (std::int64_t column = 0; column < n; ++column) {
      const Place place = place_of(c, row, column);
      put_word(bytes, place.word, place.nibble, c.codes[at(row * n + column)]);
    }
  }
  return bytes;
}

std::vector<std::byte> words_of(std::uint32_t type, const std::vector<double>& values) {
  const std::size_t width = at(width_of(type));
  std::vector<std::byte> bytes(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint32_t word = encode(type, values[i]);
    std::memcpy(bytes.data() + i * width, &word, width);
  }
  return bytes;
}

// Element of the stored scales where that of (group, column) lies.
std::int64_t scale_place(const Case& c, std::int64_t group, std::int64_t column) {
  if (c.layout == "compressed_tensors") return column * c.p.groups + group;
  if (c.layout == "awq_gemv") return column * gemv_groups(c) + group;
  return group * c.p.n + column;
}

// Scales, or zeros kept like them; NaN in what pads them.
std::vector<std::byte> table_bytes(const Case& c, std::uint32_t type,
                                   const std::vector<double>& values) {
  std::vector<double> stored(values.size(), std::nan(""));
  if (starts(c.layout, "awq_gemv")) stored.resize(at(gemv_groups(c) * c.p.n), std::nan(""));
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(values.size()); ++i) {
    stored[at(scale_place(c, i / c.p.n, i % c.p.n))] = values[at(i)];
  }
  return words_of(type, stored);
}

Place zero_place(const Case& c, std::int64_t group, std::int64_t column) {
  if (c.layout == "awq_gemv") {
    return {column * gemv_groups(c) / 8 + group / 8, static_cast<int>(group % 8)};
  }
  if (c.layout == "compressed_tensors") {
    return {column / 8 * c.p.groups + group, static_cast<int>(column % 8)};
  }
  return {group * (c.p.n / 8) + column / 8, nibble_of(c, column % 8)};
}

std::optional<std::vector<std::byte>> zero_bytes(const Case& c) {
  if (c.p.zero >= W4_ZERO_REAL) return table_bytes(c, c.p.zero_type, c.zeros);
  const bool centred = c.p.zero == W4_ZERO_8;
  const bool stored = c.p.zero >= W4_ZERO_CODE ||
                      (centred && has_nibble_zeros(c) && c.layout != "compressed_tensors");
  if (!stored) return std::nullopt;
  const int less = c.p.zero == W4_ZERO_CODE_M1 || c.layout == "gptq_v1" ? 1 : 0;
  std::vector<std::byte> bytes(c.zeros.size());
  if (has_nibble_zeros(c)) {
    std::int64_t words = c.p.groups * c.p.n / 8;
    if (c.layout == "awq_gemv") words = c.p.n * gemv_groups(c) / 8;
    if (c.layout == "compressed_tensors") words = (c.p.n + 7) / 8 * c.p.groups;
    bytes.assign(at(words * 4), std::byte{0});
  }
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(c.zeros.size()); ++i) {
    const int value = static_cast<int>(c.zeros[at(i)]) - less;
    if (has_nibble_zeros(c)) {
      const Place place = zero_place(c, i / c.p.n, i % c.p.n);
      put_word(bytes, place.word, place.nibble, value);
    } else {
      bytes[at(i)] = static_cast<std::byte>(value);
    }
  }
  return bytes;
}

std::vector<std::byte> x_bytes(const Case& c) {
  const w4_problem& p = c.p;
  const std::int64_t elements = p.m == 0 ? 0 : (p.m - 1) * p.x_stride + p.k;
  const bool nibbles = p.x_type == W4_S4;
  const std::size_t width = at(width_of(p.x_type));
  std::vector<std::byte> bytes(nibbles ? at((elements + 1) / 2) : at(elements) * width,
                               nibbles ? std::byte{0} : std::byte{0xff});  // NaN between the rows
  for (std::int64_t m = 0; m < p.m; ++m) {
    for (std::int64_t k = 0; k < p.k; ++k) {
      const std::int64_t i = m * p.x_stride + k;
      const std::uint32_t word = encode(p.x_type, c.x[at(m * p.k + k)]);
      if (nibbles) {
        bytes[at(i / 2)] |= static_cast<std::byte>(word << (i % 2 * 4));
      } else {
        std::memcpy(bytes.data() + at(i) * width, &word, width);
      }
    }
  }
  return bytes;
}

// A tensor in guarded memory, as the ABI takes it.
class Tensor {
 public:
  explicit Tensor(const std::vector<std::byte>& bytes, std::size_t align = 1)
      : memory_(bytes.size(), align) {
    if (!bytes.empty()) std::memcpy(memory_.data(), bytes.data(), bytes.size());
  }
  w4_in in() const { return {memory_.data(), memory_.size()}; }

 private:
  Guarded memory_;
};

Result read_y(const Case& c, const Guarded& y, Result result) {
  const w4_problem& p = c.p;
  const std::int64_t width = width_of(p.y_type);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(y.size()) / width; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, static_cast<std::byte*>(y.data()) + i * width, at(width));
    if (i % p.y_stride < p.n) {
      result.words.push_back(word);
      result.y.push_back(decode(p.y_type, word));
    } else if (word != (width == 4 ? 0xffffffffu : 0xffffu)) {
      result.gaps_untouched = false;
    }
  }
  return result;
}

}  // namespace

const w4_plugin& load_plugin(const std::string& name) {
  static std::map<std::string, const w4_plugin*> loaded;
  const w4_plugin*& plugin = loaded[name];
  if (plugin != nullptr) return *plugin;
  const std::string path = std::string(W4_BINARY_DIR) + "/libw4_" + name + ".so";
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(dlerror());
  const auto entry =
      reinterpret_cast<decltype(&w4_plugin_entry)>(dlsym(library, "w4_plugin_entry"));
  if (entry == nullptr) throw std::runtime_error(path + ": no w4_plugin_entry");
  if (entry(W4_ABI_VERSION + 1) != nullptr) throw std::runtime_error(path + ": serves any version");
  plugin = entry(W4_ABI_VERSION);
  if (plugin == nullptr) throw std::runtime_error(path + ": does not serve this version");
  return *plugin;
}

const w4_kernel& find_kernel(const std::string& plugin, const std::string& name) {
  const w4_plugin& library = load_plugin(plugin);
  for (std::uint32_t i = 0; i < library.kernel_count; ++i) {
    if (name == library.kernels[i]->name) return *library.kernels[i];
  }
  throw std::runtime_error("no kernel " + name);
}

Guarded::Guarded(std::size_t bytes, std::size_t align, std::uint8_t fill) : size_(bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t body = (bytes + align + page - 1) / page * page;
  mapped_ = body + 2 * page;
  pages_ = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages_ == MAP_FAILED) throw std::runtime_error("mmap");
  auto* first = static_cast<std::byte*>(pages_) + page;
  if (mprotect(first, body, PROT_READ | PROT_WRITE) != 0) throw std::runtime_error("mprotect");
  const std::size_t end = reinterpret_cast<std::size_t>(first) + body;
  data_ = reinterpret_cast<void*>((end - bytes) / align * align);
  std::memset(data_, fill, bytes);
}

Guarded::~Guarded() {
  munmap(pages_, mapped_);
}

Case make_case(const std::string& layout, std::uint32_t zero, std::uint32_t type, Sizes s) {
  Case c;
  c.layout = layout;
  const bool integers = type == W4_S8 || type == W4_S4;
  w4_problem& p = c.p;
  p.struct_bytes = sizeof p;
  p.m = s.m, p.n = s.n, p.k = s.k, p.group = s.group;
  p.groups = (s.k + s.group - 1) / s.group;
  p.x_group = s.k, p.x_stride = s.k + 3, p.y_stride = s.n + 5;
  p.x_type = p.mul_type = type;
  p.y_type = W4_F32;
  p.scale_type = integers ? static_cast<std::uint32_t>(W4_F16) : type;
  p.zero = zero;
  p.zero_type = W4_U8;
  if (has_nibble_zeros(c)) p.zero_type = W4_U4;
  if (zero >= W4_ZERO_REAL) p.zero_type = p.scale_type;
  p.x_align = p.y_align = 4;
  const std::int64_t per_group = p.groups * s.n;
  for (std::int64_t i = 0; i < s.k * s.n; ++i) {
    const int code = static_cast<int>(hash(1, i) % 16);
    c.codes.push_back(zero == W4_ZERO_SIGNED ? code - 8 : code);
  }
  for (std::int64_t i = 0; i < per_group; ++i) {
    c.scales.push_back(std::ldexp(1, -static_cast<int>((i + i / s.n) % 4)));
    const int z = static_cast<int>(hash(2, i) % 16);
    switch (zero) {
      case W4_ZERO_SIGNED:
        c.zeros.push_back(0);
        break;
      case W4_ZERO_8:
        c.zeros.push_back(8);
        break;
      case W4_ZERO_CODE:
        c.zeros.push_back(z);
        break;
      case W4_ZERO_CODE_M1:
        c.zeros.push_back(z + 1);
        break;
      default:
        c.zeros.push_back((z - 4) * 0.5);
        break;
    }
  }
  for (std::int64_t i = 0; i < s.m * s.k; ++i) c.x.push_back(static_cast<int>(hash(3, i) % 16) - 8);
  return c;
}

std::vector<double> plain_product(const Case& c) {
  const w4_problem& p = c.p;
  std::vector<double> y;
  for (std::int64_t m = 0; m < p.m; ++m) {
    for (std::int64_t n = 0; n < p.n; ++n) {
      double sum = c.bias.empty() ? 0 : c.bias[at(n)];
      for (std::int64_t k = 0; k < p.k; ++k) {
        const std::int64_t g = c.g_idx.empty() ? k / p.group : c.g_idx[at(k)];
        const double q = c.codes[at(k * p.n + n)], s = c.scales[at(g * p.n + n)],
                     z = c.zeros[at(g * p.n + n)];
        double w = (q - z) * s;
        if (p.zero == W4_ZERO_ADD) w = q * s + z;
        if (p.zero == W4_ZERO_ADD_8) w = (q - 8) * s + z;
        const std::int64_t x_groups = (p.k + p.x_group - 1) / p.x_group;
        const double x_scale = c.x_scale.empty() ? 1 : c.x_scale[at(m * x_groups + k / p.x_group)];
        sum += x_scale * c.x[at(m * p.k + k)] * w;
      }
      y.push_back(sum);
    }
  }
  return y;
}

Result run_case(const w4_kernel& kernel, const Case& c) {
  Result result;
  w4_problem p = c.p;
  p.layout = c.layout.c_str();
  w4_plan plan{};
  plan.struct_bytes = sizeof plan;
  result.plan = kernel.plan(&kernel, &p, &plan);
  result.reason = plan.reason;
  if (result.plan != W4_OK) return result;
  result.path = plan.path;
  result.packed_bytes = plan.packed_bytes;

  const Tensor codes(codes_bytes(c)), scale(table_bytes(c, p.scale_type, c.scales), 2);
  const auto zeros = zero_bytes(c);
  const Tensor zero(zeros.value_or(std::vector<std::byte>{}));
  std::vector<std::byte> index(c.g_idx.size() * 4);
  if (!index.empty()) std::memcpy(index.data(), c.g_idx.data(), index.size());
  const Tensor g_idx(index), bias(c.bias.empty() ? index : words_of(p.bias_type, c.bias));
  w4_weight weight{};
  weight.struct_bytes = sizeof weight;
  weight.codes = codes.in();
  weight.scale = scale.in();
  if (zeros) weight.zero = zero.in();
  if (!c.g_idx.empty()) weight.g_idx = g_idx.in();
  if (!c.bias.empty()) weight.bias = bias.in();

  const Guarded blob(plan.packed_bytes, 64);
  if (plan.packed_bytes > 0) {
    const w4_status packed = kernel.pack(&kernel, &p, &weight, {blob.data(), blob.size()}, nullptr);
    if (packed != W4_OK) return result.run = packed, result;
    weight = w4_weight{};
    weight.struct_bytes = sizeof weight;
    weight.codes = {blob.data(), blob.size()};
  }
  const Tensor x(x_bytes(c)), x_scale(words_of(W4_F32, c.x_scale));
  const std::int64_t elements = p.m == 0 ? 0 : (p.m - 1) * p.y_stride + p.n;
  const Guarded y(at(elements * width_of(p.y_type))), workspace(plan.workspace_bytes, 64);
  w4_call call{};
  call.struct_bytes = sizeof call;
  call.problem = &p;
  call.weight = &weight;
  call.x = x.in();
  if (!c.x_scale.empty()) call.x_scale = x_scale.in();
  call.y = {y.data(), y.size()};
  call.workspace = {workspace.data(), workspace.size()};
  result.run = kernel.run(&kernel, &call);
  result.ran = call.ran == nullptr ? "" : call.ran;
  return read_y(c, y, std::move(result));
}

}  // namespace w4
