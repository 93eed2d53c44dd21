// The table of one level. Compiled once for each instruction set, with FLOW_LEVEL the table's name.
#include "level.h"

#include "level/activation.h"
#include "level/loss.h"
#include "level/norm.h"
#include "level/optimizer.h"
#include "level/softmax.h"

namespace flow {

extern const Level FLOW_LEVEL;
const Level FLOW_LEVEL = {
    layer_norm_forward_rows,    layer_norm_backward_add_rows, sum_rows_in_order,
    cross_entropy_forward_rows, cross_entropy_backward_rows,  adamw_span,
    gelu_forward_span,          gelu_backward_span,           gelu_tanh_forward_span,
    gelu_tanh_backward_span,    softmax_forward_rows,         softmax_backward_rows,
};

}  // namespace flow
