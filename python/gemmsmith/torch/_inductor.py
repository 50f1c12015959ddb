"""Under torch.compile products become calls of torch's own kernels that no dispatcher sees. A pass
over the graph puts gemmsmith's operators there, where a plan serves, and fuses a ReLU or tanh-GELU into
the product with bias before it."""

import contextlib
import ctypes
import hashlib
import pathlib
from typing import NamedTuple

import torch

from . import _operators  # noqa: F401  (defines torch.ops.gemmsmith)
from ._library import ACTIVATIONS, BIAS, AskedProduct, library

aten = torch.ops.aten
ops = torch.ops.gemmsmith

# Tests add the CPU, where a fake driver's device memory is the host's.
device_types = {"cuda"}
_previous = None
_installed = None


def _is_covered(*nodes) -> bool:
    values = [node.meta.get("val") if isinstance(node, torch.fx.Node) else None for node in nodes]
    return all(
        isinstance(value, torch.Tensor)
        and value.device.type in device_types
        and value.dtype in (torch.float16, torch.bfloat16)
        and value.dtype == values[0].dtype
        for value in values
    )


def _only_user(node):
    return next(iter(node.users)) if len(node.users) == 1 else None


def _activation_of(node):
    if node is None or node.op != "call_function":
        return None
    if node.target is aten.relu.default:
        return "relu"
    if node.target is aten.gelu.default and node.kwargs.get("approximate") == "tanh":
        return "gelu_tanh"
    return None


class Forecast(NamedTuple):
    """What a plan would make of a product."""

    us: float
    speedup: float  # over tuned cuBLASLt, as measured when the plan was made

    def saved_us(self) -> float:
        return self.us * (self.speedup - 1)


_UNKNOWN = object()


def _forecast(a, b, beta: float = 0.0, epilogue: int = 0, out_dtype=None):
    """A Forecast; None where no plan serves the product; _UNKNOWN where that cannot be told, as with
    sizes that are symbols, or before the program has used its GPU."""
    a, b = (node.meta["val"] for node in (a, b))
    numbers = [*a.shape, *b.shape, *a.stride(), *b.stride()]
    if not all(isinstance(number, int) for number in numbers):
        return _UNKNOWN
    if out_dtype not in (None, a.dtype, torch.float32):
        return None
    strides = ctypes.c_int64 * 3
    asked = AskedProduct(
        is_bfloat16=a.dtype == torch.bfloat16,
        f32_output=out_dtype == torch.float32,
        batch=a.shape[0] if a.dim() == 3 else 1,
        m=a.shape[-2],
        n=b.shape[-1],
        k=a.shape[-1],
        a_strides=strides(*a.stride()) if a.dim() == 3 else strides(0, *a.stride()),
        b_strides=strides(*b.stride()) if b.dim() == 3 else strides(0, *b.stride()),
        epilogue=epilogue,
    )
    figures = (ctypes.c_double * 2)()
    with contextlib.ExitStack() as stack:
        if a.device.type == "cuda":
            if not torch.cuda.is_initialized():
                return _UNKNOWN
            stack.enter_context(torch.cuda.device(a.device))
        answer = library.gemmsmith_torch_forecast(asked, beta, figures)
    if answer < 0:
        return _UNKNOWN
    return Forecast(*figures) if answer else None


def _fuse(graph, node, activation: str) -> None:
    """addmm(bias, a, b), with the activation that alone uses it."""
    last = node if activation == "none" else _only_user(node)
    with graph.inserting_before(last):
        fused = graph.call_function(
            ops._addmm_activation.default, (*node.args[:3], activation)
        )
    fused.meta.update(last.meta)
    last.replace_all_uses_with(fused)
    graph.erase_node(last)
    if last is not node:
        graph.erase_node(node)


# A pass over D of its own costs a launch, and D read and written at about the speed of memory.
_PASS_US = 1.5
_PASS_BYTES_A_US = 4e6


def _is_pointwise(node) -> bool:
    return isinstance(node.target, torch._ops.OpOverload) and torch.Tag.pointwise in node.target.tags


def _cost_of_adding_us(node) -> float:
    """What adding the bias after the product costs: nothing where pointwise work on D follows anyway, and
    Inductor would take the addition there itself."""
    if _activation_of(_only_user(node)) is None and all(map(_is_pointwise, node.users)):
        return 0.0
    d = node.meta["val"]
    return _PASS_US + 2 * d.numel() * d.element_size() / _PASS_BYTES_A_US


def _add_bias_after(graph, node) -> None:
    bias, a, b = node.args[:3]
    with graph.inserting_before(node):
        product = graph.call_function(ops._mm.default, (a, b))
        product.meta.update(node.meta)
        total = graph.call_function(aten.add.Tensor, (product, bias))
        total.meta.update(node.meta)
    node.replace_all_uses_with(total)
    graph.erase_node(node)


def _rewrite_biased(graph, node) -> bool:
    """addmm of a vector."""
    a, b = node.args[1:3]
    activation = _activation_of(_only_user(node)) or "none"
    if isinstance(_forecast(a, b, epilogue=ACTIVATIONS[activation] | BIAS), Forecast):
        _fuse(graph, node, activation)
        return True
    plan = _forecast(a, b)
    if isinstance(plan, Forecast) and plan.saved_us() > _cost_of_adding_us(node):
        _add_bias_after(graph, node)
        return True
    if activation == "none":
        return False
    _fuse(graph, node, activation)
    return True


# Sums with an input of the result's shape.
_SUMS = {
    aten.addmm.default: ops._addmm.default,
    aten.baddbmm.default: ops._baddbmm.default,
}


def _rewrite_sum(graph, node) -> bool:
    input, a, b = node.args[:3]
    beta, alpha = (float(node.kwargs.get(name, 1)) for name in ("beta", "alpha"))
    if not _is_covered(input, a, b):
        return False
    shape = input.meta["val"].shape
    if node.target is aten.addmm.default and len(shape) == 1 and beta == alpha == 1:
        return _rewrite_biased(graph, node)
    if shape != node.meta["val"].shape or not isinstance(_forecast(a, b, beta), Forecast):
        return False
    with graph.inserting_before(node):
        planned = graph.call_function(_SUMS[node.target], (input, a, b, beta, alpha))
    planned.meta.update(node.meta)
    node.replace_all_uses_with(planned)
    graph.erase_node(node)
    return True


_PRODUCTS = {
    aten.mm.default: ops._mm.default,
    aten.bmm.default: ops._bmm.default,
    aten.mm.dtype: ops._mm_dtype.default,
    aten.bmm.dtype: ops._bmm_dtype.default,
}


def rewrite(graph: torch.fx.Graph) -> int:
    """The number of nodes that were replaced. Where it is known that no plan serves a product, torch's own
    call stays, which costs the host less."""
    replaced = 0
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target in _SUMS:
            replaced += _rewrite_sum(graph, node)
        elif node.target in _PRODUCTS and not node.kwargs and _is_covered(*node.args[:2]):
            if _forecast(*node.args[:2], out_dtype=(*node.args, None)[2]) is not None:
                node.target = _PRODUCTS[node.target]
                replaced += 1
    return replaced


def _base():
    from torch._inductor.custom_graph_pass import CustomGraphPass

    class Pass(CustomGraphPass):
        def __init__(self, before):
            self.before = before

        def __call__(self, graph):
            if self.before is not None:
                self.before(graph)
            rewrite(graph)

        # Compiled code is cached by this: another text of the pass, or other plans, is another pass.
        def uuid(self):
            text = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()
            own = f"{text} {library.gemmsmith_torch_plans_identity()}"
            before = getattr(self.before, "uuid", None)
            return own if before is None else (own, before())

    return Pass


def install() -> None:
    """Before what is compiled from now on; a pass that the program had runs first."""
    global _previous, _installed
    import torch._inductor.config as config

    _previous = config.post_grad_custom_pre_pass
    _installed = _base()(_previous)
    config.post_grad_custom_pre_pass = _installed


def remove() -> None:
    global _installed
    import torch._inductor.config as config

    if config.post_grad_custom_pre_pass is _installed:
        config.post_grad_custom_pre_pass = _previous
    _installed = None
