// The table of one level. Compiled once for each instruction set, with FLOW_LEVEL the table's name.
#include "level.h"

#include "level/norm.h"

namespace flow {

extern const Level FLOW_LEVEL;
const Level FLOW_LEVEL = {
    layer_norm_forward_rows,
    layer_norm_backward_add_rows,
    sum_rows_in_order,
};

}  // namespace flow
