"""Under torch.compile products become calls of torch's own kernels that no dispatcher sees. A pass
over the graph puts gemmsmith's operators there, and fuses a ReLU or tanh-GELU into the product with
bias before it."""

import hashlib
import pathlib

import torch

aten = torch.ops.aten

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


def _fuse(graph, node) -> bool:
    """addmm(bias, a, b) and the activation that alone uses it."""
    bias, a, b = node.args[:3]
    user = _only_user(node)
    activation = _activation_of(user)
    if (
        activation is None
        or node.kwargs.get("beta", 1) != 1
        or node.kwargs.get("alpha", 1) != 1
        or not _is_covered(bias, a, b)
        or bias.meta["val"].dim() != 1
    ):
        return False
    with graph.inserting_before(user):
        fused = graph.call_function(
            torch.ops.gemmsmith.addmm_activation.default, (bias, a, b, activation)
        )
    fused.meta.update(user.meta)
    user.replace_all_uses_with(fused)
    graph.erase_node(user)
    graph.erase_node(node)
    return True


_PRODUCTS = {
    aten.mm.default: torch.ops.gemmsmith.mm.default,
    aten.bmm.default: torch.ops.gemmsmith.bmm.default,
}


def rewrite(graph: torch.fx.Graph) -> int:
    """The number of nodes that were replaced."""
    replaced = 0
    for node in list(graph.nodes):
        if node.op != "call_function":
            continue
        if node.target is aten.addmm.default:
            replaced += _fuse(graph, node)
        elif node.target in _PRODUCTS and not node.kwargs and _is_covered(*node.args):
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

        # Compiled code is cached by this: another text of the pass is another pass.
        def uuid(self):
            own = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()
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
