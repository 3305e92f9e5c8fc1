"""Changes of the gradients of control operators, which the library makes itself."""


def disambiguate_grad_if_op_output(grad_op, idx, new_grad_output):
    """Renames output `idx` of the gradient of an If in place, also in the nets of its branches."""
    old, new = grad_op.output[idx], str(new_grad_output)
    for argument in grad_op.arg:
        if argument.name in ("then_net", "else_net"):
            for op in argument.n.op:
                op.output[:] = [new if blob == old else blob for blob in op.output]
            outputs = argument.n.external_output
            outputs[:] = [new if blob == old else blob for blob in outputs]
    grad_op.output[idx] = new
