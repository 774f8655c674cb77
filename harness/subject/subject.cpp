// SPDX-License-Identifier: Apache-2.0
// The public calls: what is placed where, what is sent, and what the reply says about it.
#include "harness/subject/subject.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "harness/subject/buffers.hpp"
#include "harness/subject/session.hpp"
#include "reference/error.hpp"

namespace w4 {
namespace {

constexpr int illegal_address = 700;        // CUDA_ERROR_ILLEGAL_ADDRESS
constexpr std::uint64_t other_align = 256;  // all buffers but x and y
constexpr std::uint64_t most_bytes = std::uint64_t{4}
                                     << 30;  // of workspace, of packed weights, of y

// A path without a slash: here, or beside this program.
std::string find_plugin(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path found = path;
  if (path.find('/') == std::string::npos && !fs::exists(found, ignored)) {
    const fs::path beside = fs::path(own_folder()) / path;
    if (fs::exists(beside, ignored)) found = beside;
  }
  if (!fs::exists(found, ignored)) fail_input(path, "load", "there is no such file");
  if (fs::is_directory(found, ignored)) fail_input(path, "load", "it is a folder");
  return fs::absolute(found).lexically_normal().string();
}

// A problem that contradicts itself may ask for an alignment that cannot be had.
std::uint64_t align_of(std::uint32_t align) {
  const bool sane = align && align <= page_bytes && (align & (align - 1)) == 0;
  return sane ? align : other_align;
}

}  // namespace

PluginInfo inspect_plugin(const std::string& path, const WorkerLimits& limits) {
  PluginInfo info;
  info.path = find_plugin(path);
  const Arena arena;
  WorkerProcess worker(info.path, limits.memory_bytes, arena.fd());
  const auto said = read_hello(worker, std::max(limits.seconds, shortest_load_seconds));
  if (const auto* cause = std::get_if<std::string>(&said)) fail_input(path, "load", *cause);
  const Hello& hello = std::get<Hello>(said);
  info.vendor = hello.vendor;
  info.version = hello.version;
  info.kernels = hello.kernels;
  info.device = hello.device;
  info.driver = hello.driver;
  info.no_device = hello.no_device;
  info.before_load = hello.before_load;
  info.after_load = hello.after_load;
  return info;
}

struct Subject::Impl {
  Impl(PluginInfo plugin, std::string kernel, WorkerLimits limits)
      : session(std::move(plugin), std::move(kernel), limits) {}

  Session session;
  int calls{};

  // What was bound. The bytes are the judge's copies, to be compared with, and written again after
  // a death.
  WeightBytes weights;
  std::vector<std::byte> blob;
  Buffers sources, packed;
  std::optional<Reply> bound;  // what bind() replied
  w4_problem bound_problem{};
  bool usable{};            // so that run() can be called
  int deaths_written{};     // the count of deaths when the bytes were last written
  std::uint64_t version{};  // how often they were written

  bool asks_too_much(std::uint64_t bytes, const char* of_what, Reply&) const;
  void place_sources(Place);
  bool pack(const AbiProblem&, std::uint64_t bytes, const CallOptions&, Reply&);
  void bind(const AbiProblem&, const CallOptions&, Reply&);
  struct Outputs {
    std::uint64_t y_bytes{}, workspace_bytes{};
  };
  std::optional<Outputs> may_run(const AbiProblem&, Reply&);
  void run(const AbiProblem&, const CallBytes&, const CallOptions&, Outputs, Reply&);
  std::string where_illegal(wire::Request&, const std::vector<const Segment*>&, std::uint64_t end,
                            Buffers& operands, Place);
  std::vector<const Segment*> bound_segments() const;
  std::uint64_t blob_bytes() const {
    return packed.list().empty() ? 0 : packed.list()[0].segment.bytes;
  }
};

Subject::Subject(PluginInfo plugin, std::string kernel, WorkerLimits limits)
    : impl_(std::make_unique<Impl>(std::move(plugin), std::move(kernel), limits)) {}

Subject::~Subject() = default;
const std::string& Subject::kernel() const {
  return impl_->session.kernel();
}
const PluginInfo& Subject::plugin() const {
  return impl_->session.plugin();
}
FloatState Subject::clean_state() const {
  return impl_->session.plugin().before_load;
}
int Subject::calls() const {
  return impl_->calls;
}
int Subject::deaths() const {
  return impl_->session.deaths();
}

Plan Subject::plan(const AbiProblem& problem, Reply* reply) {
  Reply asked;
  const auto plan = impl_->session.ask(problem, asked);
  if (reply) *reply = asked;
  if (plan) return *plan;
  Plan none;
  none.status = W4_INTERNAL;
  none.reason = asked.how;
  return none;
}

bool Subject::Impl::asks_too_much(std::uint64_t bytes, const char* of_what, Reply& reply) const {
  if (bytes <= std::min(most_bytes, session.limits().memory_bytes)) return false;
  reply.status = W4_INTERNAL;
  reply.how = "asks for " + std::to_string(bytes) + " bytes of " + of_what;
  return true;
}

std::vector<const Segment*> Subject::Impl::bound_segments() const {
  std::vector<const Segment*> segments;
  append_segments(segments, sources);
  append_segments(segments, packed);
  return segments;
}

void Subject::Impl::place_sources(Place place) {
  sources = Buffers(0, place);
  const auto one = [&](const char* name, const std::optional<std::vector<std::byte>>& bytes) {
    if (bytes) sources.input(name, *bytes, other_align);
  };
  one("codes", weights.codes);
  one("scale", weights.scale);
  one("zero", weights.zero);
  one("scale2", weights.scale2);
  one("zero2", weights.zero2);
  one("g_idx", weights.g_idx);
  one("bias", weights.bias);
  packed = Buffers(sources.cursor(), place);
}

namespace {

void set_weights(wire::Request& request, const Buffers& sources) {
  request.codes = sources.range("codes");
  request.scale = sources.range("scale");
  request.zero = sources.range("zero");
  request.scale2 = sources.range("scale2");
  request.zero2 = sources.range("zero2");
  request.g_idx = sources.range("g_idx");
  request.bias = sources.range("bias");
}

}  // namespace

// Has the kernel pack the sources, and takes those away from it afterwards. False if that did not
// go well.
bool Subject::Impl::pack(const AbiProblem& problem, std::uint64_t bytes, const CallOptions& options,
                         Reply& reply) {
  packed.output("packed", bytes, other_align, options.poison);
  Arena& arena = session.arena();
  arena.reserve(packed.cursor() + guard_bytes);
  write_buffers(arena, sources);
  write_buffers(arena, packed);
  wire::Request request;
  request.kind = wire::Kind::pack;
  request.weights_version = ++version;
  set_problem(request, problem);
  set_weights(request, sources);
  request.packed = packed.range("packed");
  if (!session.call(request, bound_segments(), packed.cursor() + guard_bytes, reply)) return false;
  inspect_buffers(arena, sources, reply);
  inspect_buffers(arena, packed, reply);
  const auto made = arena.data(packed.list()[0].segment);
  blob.assign(made.begin(), made.end());
  packed.list()[0].bytes = blob;
  for (Buffer& source : sources.list()) source.segment.closed = true;
  return reply.status == W4_OK;
}

void Subject::Impl::bind(const AbiProblem& problem, const CallOptions& options, Reply& reply) {
  const auto plan = session.known_plan(problem, reply);
  if (!plan) return;
  place_sources(options.place);
  if (!plan->ok()) {
    reply.status = plan->status;
    reply.how = plan->reason;
  } else {
    if (asks_too_much(plan->packed_bytes, "packed weights", reply)) return;
    if (asks_too_much(plan->workspace_bytes, "workspace", reply)) return;
    if (plan->packed_bytes && !pack(problem, plan->packed_bytes, options, reply)) return;
  }
  usable = true;
  deaths_written = -1;
}

Reply Subject::bind(const AbiProblem& problem, const WeightBytes& weights,
                    const CallOptions& options) {
  impl_->usable = false;
  impl_->weights = weights;
  impl_->bound_problem = problem.p;
  Reply reply;
  impl_->bind(problem, options, reply);
  impl_->bound = reply;
  return reply;
}

// The sizes of what the call may write; nothing where the reply is known without a call.
std::optional<Subject::Impl::Outputs> Subject::Impl::may_run(const AbiProblem& problem,
                                                             Reply& reply) {
  require(bound.has_value(), "bind() before run()");
  if (!usable) {
    reply = *bound;
    return std::nullopt;
  }
  const auto plan = session.known_plan(problem, reply);
  if (!plan) return std::nullopt;
  // What is declined may have no size at all. run() has to decline it too, and writes nothing into
  // a sound y.
  if (!plan->ok()) return Outputs{y_bytes(bound_problem, most_bytes), 0};
  if (asks_too_much(plan->workspace_bytes, "workspace", reply)) return std::nullopt;
  if (plan->packed_bytes == blob_bytes()) {
    return Outputs{y_bytes(problem.p, most_bytes), plan->workspace_bytes};
  }
  reply.status = W4_INTERNAL;
  reply.how = "asks for " + std::to_string(plan->packed_bytes) +
              " bytes of packed weights here, and for " + std::to_string(blob_bytes()) +
              " when they were bound";
  return std::nullopt;
}

// The device says that an access was illegal, and not where. The same call with inputs that may be
// written tells which kind it was; the verdict stays the first call's.
std::string Subject::Impl::where_illegal(wire::Request& request,
                                         const std::vector<const Segment*>& segments,
                                         std::uint64_t end, Buffers& operands, Place place) {
  constexpr const char* places[] = {
      "buffers in the middle of their mappings, the nearest guard a page or more away",
      "buffers beginning right behind a guard", "buffers ending right before a guard"};
  const std::string where = std::string(" (") + places[static_cast<std::size_t>(place)] + ")";
  for (const Buffers* buffers : {&sources, &packed, &operands})
    write_buffers(session.arena(), *buffers);
  request.weights_version = ++version;
  request.inputs_writable = 1;
  Reply again;
  const bool ends_well = session.call(request, segments, end, again);
  if (!ends_well && again.device_error == illegal_address)
    return ", reading or writing outside its buffers" + where;
  if (!ends_well) return ", in a way that changes from call to call" + where;
  for (const Buffers* buffers : {&sources, &packed, &operands})
    inspect_buffers(session.arena(), *buffers, again);
  if (again.changed.empty()) return ", in a call that went well when it was repeated" + where;
  return ", writing to its input " + again.changed.front() + ", which is read-only" + where;
}

void Subject::Impl::run(const AbiProblem& problem, const CallBytes& bytes,
                        const CallOptions& options, Outputs outputs, Reply& reply) {
  Buffers operands(packed.cursor(), options.place);
  operands.input("x", bytes.x, align_of(problem.p.x_align));
  if (bytes.x_scale) operands.input("x_scale", *bytes.x_scale, other_align);
  if (bytes.x_sum) operands.input("x_sum", *bytes.x_sum, other_align);
  const bool forbidden_y = problem.p.m == 0 && options.y_at_m0;
  if (forbidden_y) {
    w4_problem one_row = problem.p;
    one_row.m = 1;
    outputs.y_bytes = y_bytes(one_row, most_bytes);
  }
  operands.output("y", outputs.y_bytes, align_of(problem.p.y_align), options.poison);
  operands.output("workspace", outputs.workspace_bytes, other_align, options.poison);
  const std::uint64_t end = operands.cursor() + guard_bytes;
  Arena& arena = session.arena();
  arena.reserve(end);
  if (deaths_written != session.deaths()) {
    write_buffers(arena, sources);
    write_buffers(arena, packed);
    deaths_written = session.deaths();
    ++version;
  }
  write_buffers(arena, operands, options.same_workspace ? "workspace" : "");
  wire::Request request;
  request.kind = wire::Kind::run;
  request.weights_version = version;
  set_problem(request, problem);
  if (packed.list().empty()) {
    set_weights(request, sources);
  } else {
    request.codes = packed.range("packed");
  }
  request.x = operands.range("x");
  request.x_scale = operands.range("x_scale");
  request.x_sum = operands.range("x_sum");
  request.y = operands.range("y");
  request.workspace = operands.range("workspace");
  request.one_cpu = options.one_cpu;
  std::vector<const Segment*> segments = bound_segments();
  append_segments(segments, operands);
  if (!session.call(request, segments, end, reply)) {
    if (reply.device_error == illegal_address)
      reply.how += where_illegal(request, segments, end, operands, options.place);
    return;
  }
  inspect_buffers(arena, sources, reply);
  inspect_buffers(arena, packed, reply);
  inspect_buffers(arena, operands, reply);
  const auto y = arena.at(request.y.offset, request.y.bytes);
  inspect_gaps(y, problem.p, options.poison, reply);
  reply.y.assign(y.begin(), y.end());
  const auto written = std::count_if(y.begin(), y.end(),
                                     [&](std::byte b) { return b != std::byte{options.poison}; });
  if (forbidden_y && written > 0) reply.strays.push_back({"in y, though m = 0", 0, written});
}

Reply Subject::run(const AbiProblem& problem, const CallBytes& bytes, const CallOptions& options) {
  ++impl_->calls;
  Reply reply;
  if (const auto outputs = impl_->may_run(problem, reply)) {
    impl_->run(problem, bytes, options, *outputs, reply);
  }
  return reply;
}

}  // namespace w4
