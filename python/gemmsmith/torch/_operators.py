"""The operators: shapes for tracing, gradients, autocast, and functions with torch's arguments."""

import torch
import torch.nn.functional as F

from . import _library  # noqa: F401  (defines torch.ops.gemmsmith)

_ops = torch.ops.gemmsmith


@torch.library.register_fake("gemmsmith::mm")
def _(a, b):
    return torch.mm(a, b)


@torch.library.register_fake("gemmsmith::bmm")
def _(a, b):
    return torch.bmm(a, b)


@torch.library.register_fake("gemmsmith::addmm_activation")
def _(bias, a, b, activation):
    return torch.addmm(bias, a, b)


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
for _name in ("mm", "bmm", "addmm_activation"):
    _register_autocast(_autocast, _name)


def mm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """torch.mm, by a plan where one serves."""
    return _ops.mm(a, b)


def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """torch.bmm; a plan may serve a batch of one."""
    return _ops.bmm(a, b)


def addmm(input, a, b, *, beta=1, alpha=1) -> torch.Tensor:
    """torch.addmm. A plan may serve it where no gradient is asked for and input has D's shape."""
    wants_grad = torch.is_grad_enabled() and any(
        isinstance(t, torch.Tensor) and t.requires_grad for t in (input, a, b)
    )
    is_plain = all(type(t) is torch.Tensor for t in (input, a, b))
    if (
        not wants_grad
        and is_plain
        and input.dim() == 2
        and isinstance(beta, (int, float))
        and isinstance(alpha, (int, float))
        and not torch.compiler.is_compiling()
        and not torch.is_autocast_enabled("cuda")
        and input.device == a.device == b.device
        and a.device.type in _device_types
        and input.shape == (a.shape[0], b.shape[-1])
    ):
        served = _ops.try_addmm(input, a, b, float(beta), float(alpha))
        if served.dim() == 2:
            return served
    return torch.addmm(input, a, b, beta=beta, alpha=alpha)


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
