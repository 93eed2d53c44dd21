#include "level.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace flow {

extern const Level level_baseline;
#ifdef __x86_64__
extern const Level level_avx2, level_avx512;
#endif

namespace {

struct Choice {
  const char* name;
  const Level* level;
  bool (*supported)();
};

// Lowest first. Compiled for the x86-64 levels 1, 3 and 4; these features tell them apart on every CPU that was sold,
// and older compilers do not know the levels by name.
const Choice choices[] = {
    {"baseline", &level_baseline, [] { return true; }},
#ifdef __x86_64__
    {"avx2", &level_avx2,
     [] {
       return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
              __builtin_cpu_supports("bmi2");
     }},
    {"avx512", &level_avx512,
     [] {
       return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
              __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
              __builtin_cpu_supports("avx512vl");
     }},
#endif
};
const Choice* chosen = &choices[0];

}  // namespace

const Level& level() { return *chosen->level; }
const char* level_name() { return chosen->name; }

void visit_levels(void (*visit)(void*, const char*), void* context) {
  for (const Choice& choice : choices)
    if (choice.supported()) visit(context, choice.name);
}

void init_level() {
  const char* wanted = std::getenv("FLOW_KERNELS_ISA");
  bool any = !wanted || !*wanted;
  const Choice* found = nullptr;
  std::string names;
  for (const Choice& choice : choices) {
    if (!choice.supported()) continue;
    names += (names.empty() ? "" : ", ") + std::string(choice.name);
    if (any || std::strcmp(choice.name, wanted) == 0) found = &choice;
  }
  if (!found)
    throw std::invalid_argument("FLOW_KERNELS_ISA is '" + std::string(wanted) + "', but this CPU offers " + names +
                                "; name one of those, or unset it to use the last");
  chosen = found;
}

}  // namespace flow
