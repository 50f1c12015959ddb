"""The operators: shapes for tracing, gradients, autocast, and functions with torch's arguments."""

import torch
import torch.nn.functional as F

from . import _library  # noqa: F401  (defines torch.ops.gemmsmith)

_ops = torch.ops.gemmsmith


def _fake_addmm(input, a, b, beta, alpha):
    return torch.addmm(input, a, b, beta=beta, alpha=alpha)


def _fake_baddbmm(input, a, b, beta, alpha):
    return torch.baddbmm(input, a, b, beta=beta, alpha=alpha)


def _fake_addmm_activation(bias, a, b, activation):
    return torch.addmm(bias, a, b)


# Those that begin with _ are the same for compiled graphs, without gradients and autocast.
for _prefix in ("gemmsmith::", "gemmsmith::_"):
    torch.library.register_fake(_prefix + "mm", torch.mm)
    torch.library.register_fake(_prefix + "bmm", torch.bmm)
    torch.library.register_fake(_prefix + "addmm", _fake_addmm)
    torch.library.register_fake(_prefix + "baddbmm", _fake_baddbmm)
    torch.library.register_fake(_prefix + "addmm_activation", _fake_addmm_activation)

torch.library.register_fake("gemmsmith::_mm_dtype", lambda a, b, dtype: torch.mm(a, b).to(dtype))
torch.library.register_fake("gemmsmith::_bmm_dtype", lambda a, b, dtype: torch.bmm(a, b).to(dtype))


def _save_two(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


# Gradients are products again, by the same operators.
def _mm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad_a = _ops.mm(grad, b.t()) if ctx.needs_input_grad[0] else None
    grad_b = _ops.mm(a.t(), grad) if ctx.needs_input_grad[1] else None
    return grad_a, grad_b


def _bmm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad_a = _ops.bmm(grad, b.transpose(1, 2)) if ctx.needs_input_grad[0] else None
    grad_b = _ops.bmm(a.transpose(1, 2), grad) if ctx.needs_input_grad[1] else None
    return grad_a, grad_b


torch.library.register_autograd("gemmsmith::mm", _mm_backward, setup_context=_save_two)
torch.library.register_autograd("gemmsmith::bmm", _bmm_backward, setup_context=_save_two)


def _save_addmm(ctx, inputs, output):
    input, a, b, ctx.beta, ctx.alpha = inputs
    ctx.input_shape = input.shape
    ctx.save_for_backward(a, b)


def _addmm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad_input = grad_a = grad_b = None
    if ctx.needs_input_grad[0]:
        grad_input = (grad * ctx.beta).sum_to_size(ctx.input_shape)
    if ctx.needs_input_grad[1]:
        grad_a = _ops.mm(grad, b.t()) * ctx.alpha
    if ctx.needs_input_grad[2]:
        grad_b = _ops.mm(a.t(), grad) * ctx.alpha
    return grad_input, grad_a, grad_b, None, None


torch.library.register_autograd(
    "gemmsmith::addmm", _addmm_backward, setup_context=_save_addmm
)


def _baddbmm_backward(ctx, grad):
    a, b = ctx.saved_tensors
    grad_input = grad_a = grad_b = None
    if ctx.needs_input_grad[0]:
        grad_input = (grad * ctx.beta).sum_to_size(ctx.input_shape)
    if ctx.needs_input_grad[1]:
        grad_a = _ops.bmm(grad, b.transpose(1, 2)) * ctx.alpha
    if ctx.needs_input_grad[2]:
        grad_b = _ops.bmm(a.transpose(1, 2), grad) * ctx.alpha
    return grad_input, grad_a, grad_b, None, None


torch.library.register_autograd(
    "gemmsmith::baddbmm", _baddbmm_backward, setup_context=_save_addmm
)


def _save_activation(ctx, inputs, output):
    bias, a, b, ctx.activation = inputs
    # ReLU's gradient is seen in its output; GELU's needs its input, which is computed again.
    ctx.save_for_backward(bias, a, b, output if ctx.activation == "relu" else None)


def _activation_backward(ctx, grad):
    bias, a, b, output = ctx.saved_tensors
    if ctx.activation == "relu":
        grad = grad * (output > 0)
    elif ctx.activation == "gelu_tanh":
        before = torch.addmm(bias, a, b)
        grad = torch.ops.aten.gelu_backward(grad, before, approximate="tanh")
    grad_bias = grad.sum(0) if ctx.needs_input_grad[0] else None
    grad_a = _ops.mm(grad, b.t()) if ctx.needs_input_grad[1] else None
    grad_b = _ops.mm(a.t(), grad) if ctx.needs_input_grad[2] else None
    return grad_bias, grad_a, grad_b, None


torch.library.register_autograd(
    "gemmsmith::addmm_activation", _activation_backward, setup_context=_save_activation
)


# Under autocast, as torch's own products: everything to the autocast type, then without autocast.
def _cast(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point() and value.is_cuda:
        return value.to(torch.get_autocast_dtype("cuda"))
    return value


def _register_autocast(library, name):
    op = getattr(_ops, name).default

    def kernel(*args):
        with torch._C._ExcludeDispatchKeyGuard(
            torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCUDA)
        ):
            return op(*(_cast(arg) for arg in args))

    library.impl(name, kernel, "AutocastCUDA")


_autocast = torch.library.Library("gemmsmith", "FRAGMENT")
for _name in ("mm", "bmm", "addmm", "baddbmm", "addmm_activation"):
    _register_autocast(_autocast, _name)


def mm(a: torch.Tensor, b: torch.Tensor, out_dtype=None) -> torch.Tensor:
    """torch.mm, by a plan where one serves. An out_dtype of f32 has plans of its own."""
    if out_dtype is None:
        return _ops.mm(a, b)
    if _needs_gradients(a, b):
        return torch.mm(a, b, out_dtype=out_dtype)
    return _ops._mm_dtype(a, b, out_dtype)


def bmm(a: torch.Tensor, b: torch.Tensor, out_dtype=None) -> torch.Tensor:
    """torch.bmm, by a plan for that number of products where one serves; out_dtype as in mm."""
    if out_dtype is None:
        return _ops.bmm(a, b)
    if _needs_gradients(a, b):
        return torch.bmm(a, b, out_dtype=out_dtype)
    return _ops._bmm_dtype(a, b, out_dtype)


def _needs_gradients(*tensors) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def _is_plain(input, a, b, beta, alpha, dim) -> bool:
    return (
        isinstance(beta, (int, float))
        and isinstance(alpha, (int, float))
        and a.dtype in (torch.float16, torch.bfloat16)
        and input.dtype == a.dtype == b.dtype
        and input.device == a.device == b.device
        and a.device.type in _device_types
        and a.dim() == dim
        and b.dim() == dim
        and a.shape[:-2] == b.shape[:-2]
        and a.shape[-1] == b.shape[-2]
        and _broadcasts(input.shape, (*a.shape[:-1], b.shape[-1]))
    )


def is_plain_addmm(input, a, b, beta, alpha) -> bool:
    """Whether gemmsmith's addmm may compute it: what torch would refuse, or compute otherwise, is left to
    torch and its words."""
    return _is_plain(input, a, b, beta, alpha, 2)


def is_plain_baddbmm(input, a, b, beta, alpha) -> bool:
    """The same of baddbmm."""
    return _is_plain(input, a, b, beta, alpha, 3)


def _broadcasts(shape, to) -> bool:
    return len(shape) <= len(to) and all(
        size in (1, wanted) for size, wanted in zip(reversed(shape), reversed(to))
    )


def addmm(input, a, b, *, beta=1, alpha=1) -> torch.Tensor:
    """torch.addmm. A plan may serve it where input has D's shape, where it is one vector, by a kernel with
    epilogues, or where beta is 0."""
    if is_plain_addmm(input, a, b, beta, alpha):
        return _ops.addmm(input, a, b, float(beta), float(alpha))
    return torch.addmm(input, a, b, beta=beta, alpha=alpha)


def baddbmm(input, a, b, *, beta=1, alpha=1) -> torch.Tensor:
    """torch.baddbmm. A plan may serve it where input has D's shape, or where beta is 0."""
    if is_plain_baddbmm(input, a, b, beta, alpha):
        return _ops.baddbmm(input, a, b, float(beta), float(alpha))
    return torch.baddbmm(input, a, b, beta=beta, alpha=alpha)


# Tests add the CPU, where a fake driver's device memory is the host's.
_device_types = {"cuda"}


def addmm_activation(bias, a, b, activation: str = "none") -> torch.Tensor:
    """activation(a b + bias) in one launch: "none", "relu" or "gelu_tanh"."""
    return _ops.addmm_activation(bias, a, b, activation)


_AFTERWARDS = {
    "gelu": F.gelu,  # the exact one: cuBLASLt's epilogue is the tanh form
    "silu": F.silu,
}


def linear(x, weight, bias=None, activation: str = "none") -> torch.Tensor:
    """activation(torch.nn.functional.linear(x, weight, bias)).

    Activations: none, relu, gelu_tanh (fused where there is a bias), gelu, silu (afterwards).
    """
    if activation in _AFTERWARDS:
        return _AFTERWARDS[activation](F.linear(x, weight, bias))
    if activation not in ("none", "relu", "gelu_tanh"):
        known = ", ".join(["none", "relu", "gelu_tanh", *_AFTERWARDS])
        raise ValueError(f"activation {activation!r}: expected one of {known}")
    if bias is None or bias.dim() != 1 or weight.dim() != 2 or x.dim() < 2:
        y = F.linear(x, weight, bias)
        if activation == "relu":
            return F.relu(y)
        return F.gelu(y, approximate="tanh") if activation == "gelu_tanh" else y
    flat = x.reshape(-1, x.shape[-1])
    y = _ops.addmm_activation(bias, flat, weight.t(), activation)
    return y.reshape(*x.shape[:-1], weight.shape[0])
