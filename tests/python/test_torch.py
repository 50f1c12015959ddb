"""gemmsmith.torch without a GPU: the operators' file is also built for the CPU, where a fake driver's
device memory is the host's, so that plans, fallbacks, gradients and torch.compile run whole.

Run by ctest, or: GEMMSMITH_TEST_CPU_OPS=... GEMMSMITH_PLANS=... python -m pytest test_torch.py
"""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch")

import gemmsmith.torch as gt  # noqa: E402
from gemmsmith.torch import _captures, _inductor, _library, _operators, _routing  # noqa: E402

torch.ops.load_library(os.environ["GEMMSMITH_TEST_CPU_OPS"])
# Compiled code that an earlier run left would not pass through here.
torch.compiler.config.force_disable_caches = True


class OnCpu:
    """The counters and the switch of the operators that were built for the CPU."""

    def __init__(self):
        import ctypes

        self.library = _library.declare(ctypes.CDLL(os.environ["GEMMSMITH_TEST_CPU_OPS"]))

    def counts(self):
        return (
            self.library.gemmsmith_torch_served(),
            self.library.gemmsmith_torch_by_library(),
            self.library.gemmsmith_torch_passed(),
        )


cpu = OnCpu()


@pytest.fixture(autouse=True)
def on_cpu(monkeypatch):
    monkeypatch.setattr(_operators, "_device_types", {"cpu"})
    monkeypatch.setattr(_inductor, "device_types", {"cpu"})
    monkeypatch.setattr(_inductor, "library", cpu.library)


@pytest.fixture
def routed():
    cpu.library.gemmsmith_torch_set_routing(1)
    yield
    cpu.library.gemmsmith_torch_set_routing(0)


class FakeGraph:
    """Stands in for torch.cuda.CUDAGraph, which needs a GPU."""

    def __init__(self, refuses=False):
        self.refuses = refuses

    def capture_begin(self, pool=None, capture_error_mode="global"):
        if self.refuses:
            raise RuntimeError("the stream captures already")

    def capture_end(self):
        pass


@pytest.fixture
def captures(monkeypatch):
    """What install() tells, in order."""
    told = []
    monkeypatch.setattr(torch.cuda, "CUDAGraph", FakeGraph)
    plain = (FakeGraph.capture_begin, FakeGraph.capture_end)
    _captures.install(lambda: told.append("first"), lambda: told.append("last"))
    yield told
    _captures.remove()
    assert (FakeGraph.capture_begin, FakeGraph.capture_end) == plain


def test_captures_are_told_of_once(captures):
    one, two = FakeGraph(), FakeGraph()
    one.capture_begin()
    two.capture_begin(pool=(0, 1), capture_error_mode="relaxed")
    one.capture_end()
    assert captures == ["first"]
    two.capture_end()
    assert captures == ["first", "last"]
    one.capture_begin()
    one.capture_end()
    assert captures == ["first", "last"] * 2


def test_a_capture_that_does_not_begin_is_over(captures):
    with pytest.raises(RuntimeError, match="captures already"):
        FakeGraph(refuses=True).capture_begin()
    assert captures == ["first", "last"]


def test_the_end_of_a_capture_that_was_not_seen_is_nothing(captures):
    FakeGraph().capture_end()
    assert captures == []


def test_sums_are_routed_while_a_graph_is_captured_and_else_torchs(monkeypatch):
    monkeypatch.setattr(torch.cuda, "CUDAGraph", FakeGraph)
    monkeypatch.setattr(_routing, "route_sums", lambda key, planned, route=_routing.route_sums: route("CPU", planned))
    monkeypatch.setattr(_routing, "library", cpu.library)
    c, a, b = whole(64, 64), whole(64, 64, seed=1), whole(64, 64, seed=2).t()
    with gt.enable():
        _, served, others = served_by_plan(lambda: torch.addmm(c, a, b, beta=3, alpha=2))
        assert (served, others) == (0, 0)  # torch's own, which is not counted
        graph = FakeGraph()
        graph.capture_begin()
        result, served, _ = served_by_plan(lambda: torch.addmm(c, a, b, beta=3, alpha=2))
        graph.capture_end()
        assert served == 1
        assert torch.equal(result, (3 * c.double() + 2 * (a.double() @ b.double())).half())
        _, served, others = served_by_plan(lambda: torch.addmm(c, a, b, beta=3, alpha=2))
        assert (served, others) == (0, 0)


@pytest.fixture
def routed_sums():
    _routing.route_sums("CPU", cpu.library.gemmsmith_torch_planned_sums())
    yield
    _routing.unroute_sums()


def whole(*size, dtype=torch.float16, seed=0):
    """Small whole numbers: sums are exact in every type."""
    generator = torch.Generator().manual_seed(seed + 1)
    return torch.randint(-2, 3, size, generator=generator).to(dtype)


def expected_mm(a, b):
    return (a.double() @ b.double()).to(a.dtype)


def served_by_plan(function):
    """The result, how many products plans served in it, and how many cuBLASLt or torch did."""
    before = cpu.counts()
    result = function()
    after = cpu.counts()
    return result, after[0] - before[0], sum(after[1:]) - sum(before[1:])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_planned_product_is_served_and_exact(dtype):
    a, b = whole(64, 64, dtype=dtype), whole(64, 64, dtype=dtype, seed=1).t()
    result, served, passed = served_by_plan(lambda: gt.mm(a, b))
    assert (served, passed) == (1, 0)
    assert torch.equal(result, expected_mm(a, b))


# A9: the stride of a dimension of size 1 means nothing. A2: no contiguous dimension.
def layouts():
    big = whole(200, 200)
    yield "other layout", whole(64, 64), whole(64, 64)
    yield "unplanned size", whole(64, 48), whole(48, 64)
    yield "padded", big[:64, :64], whole(64, 64).t()
    yield "offset by one", big.flatten()[1:].as_strided((64, 64), (64, 1)), whole(64, 64).t()
    yield "strided both ways", whole(128, 128)[::2, ::2], whole(64, 64)
    yield "expanded", whole(1, 64).expand(64, 64), whole(64, 64).t()
    yield "all ones", torch.ones(1, dtype=torch.float16).expand(64, 64), whole(64, 64).t()
    # E4: windows that overlap in memory, and rows further apart than they are long.
    yield "overlapping", whole(5000).as_strided((64, 64), (7, 1)), whole(64, 64).t()
    yield "odd rows", whole(5000).as_strided((64, 64), (65, 1)), whole(64, 64).t()
    yield "vector", whole(1, 64), whole(64, 64)
    yield "column", whole(64, 64), whole(64, 1)
    yield "one row, odd stride", whole(64).as_strided((1, 64), (12345, 1)), whole(64, 64)
    yield "one row, stride 0", whole(64).as_strided((1, 64), (0, 1)), whole(64, 64)
    yield "one column, strides 1", whole(64).as_strided((64, 1), (1, 1)), whole(1, 64)
    yield "single", whole(1, 1), whole(1, 1)
    yield "no k", whole(8, 0), whole(0, 8)
    yield "no rows", whole(0, 8), whole(8, 8)
    yield "float", whole(64, 64).float(), whole(64, 64).float()
    yield "double", whole(64, 64).double(), whole(64, 64).double()
    yield "int", whole(8, 8).int(), whole(8, 8).int()
    yield "complex", whole(8, 8).to(torch.complex64), whole(8, 8).to(torch.complex64)
    yield "conjugated", torch.randn(8, 8, dtype=torch.complex64).conj(), whole(8, 8).to(
        torch.complex64
    )


@pytest.mark.parametrize("name, a, b", list(layouts()), ids=[case[0] for case in layouts()])
def test_routed_products_equal_torchs(routed, name, a, b):
    product = torch.mm(a, b)
    cpu.library.gemmsmith_torch_set_routing(0)
    plain = torch.mm(a, b)
    assert torch.equal(product, plain)
    assert (product.dtype, product.stride()) == (plain.dtype, plain.stride())


# E4: attention's heads lie between each other's rows, and a batch stride may be smaller than a matrix.
def test_routed_batches_of_interleaved_heads_equal_torchs(routed):
    tokens, heads = 32, 12
    q, k = (whole(tokens, heads * 64, seed=s).view(tokens, heads, 64).transpose(0, 1) for s in (0, 1))
    windows = whole(7 * 1971 + 255 * 769 + 64).as_strided((8, 256, 64), (1971, 769, 1))
    three = whole(64, 3 * 64, seed=2).view(64, 3, 64).transpose(0, 1)
    pairs = [(q, k.transpose(1, 2)), (k[:1], q[:1].transpose(1, 2)), (windows, windows.mT)]
    for a, b in [*pairs, (three, three.mT)]:
        product = torch.bmm(a, b)
        cpu.library.gemmsmith_torch_set_routing(0)
        plain = torch.bmm(a, b)
        cpu.library.gemmsmith_torch_set_routing(1)
        assert torch.equal(product, plain)
        assert product.stride() == plain.stride()


# G2: cuBLASLt's configurations of a table may reduce in 16 bits, which torch's switch can forbid: they
# are not served here.
def test_only_our_own_kernels_are_served():
    a, b = whole(96, 96), whole(96, 96, seed=1).t()
    result, served, passed = served_by_plan(lambda: gt.mm(a, b))
    assert (served, passed) == (0, 1)
    assert torch.equal(result, expected_mm(a, b))


# What no plan serves: short products cost the host less by cuBLASLt's own door, long ones stay torch's.
@pytest.mark.parametrize("name, product", [
    ("mm", lambda: torch.mm(whole(96, 80), whole(72, 80, seed=1).t())),
    ("bmm", lambda: torch.bmm(whole(3, 96, 80), whole(3, 80, 72, seed=1))),
    ("bfloat16", lambda: torch.mm(whole(96, 80, dtype=torch.bfloat16), whole(80, 72, dtype=torch.bfloat16))),
])
def test_short_products_without_a_plan_go_to_cublaslt(routed, name, product):
    before = cpu.counts()
    result = product()
    assert [after - b for after, b in zip(cpu.counts(), before)] == [0, 1, 0]
    cpu.library.gemmsmith_torch_set_routing(0)
    plain = product()
    assert torch.equal(result, plain) and result.stride() == plain.stride()


@pytest.mark.skipif(not hasattr(torch._C, "_cuda_tunableop_enable"), reason="this torch has no CUDA")
def test_products_that_torch_tunes_itself_reach_it(routed):
    torch.cuda.tunable.enable(True)
    try:
        before = cpu.counts()
        torch.mm(whole(96, 80), whole(80, 72, seed=1))
        torch.mm(whole(64, 64), whole(64, 64, seed=1).t())  # planned
        assert [after - b for after, b in zip(cpu.counts(), before)] == [1, 0, 1]
    finally:
        torch.cuda.tunable.enable(False)


def test_long_products_without_a_plan_stay_torchs(routed):
    vector, matrix = whole(1, 65536), whole(65536, 1600, seed=1)
    before = cpu.counts()
    torch.mm(vector, matrix)
    assert [after - b for after, b in zip(cpu.counts(), before)] == [0, 0, 1]


def test_f32_products_are_torchs(routed):
    before = cpu.counts()
    torch.mm(whole(8, 8).float(), whole(8, 8).float())
    assert [after - b for after, b in zip(cpu.counts(), before)] == [0, 0, 1]


def errors():
    yield torch.mm, (whole(2, 3), whole(4, 5))
    yield torch.mm, (whole(0, 3), whole(4, 5))
    yield torch.mm, (whole(2), whole(2, 2))
    yield torch.mm, (whole(2, 2, 2), whole(2, 2))
    yield torch.mm, (whole(2, 2), whole(2, 2).float())
    yield torch.mm, (whole(2, 2), whole(2, 2).bfloat16())
    yield torch.bmm, (whole(2, 2), whole(2, 2))
    yield torch.bmm, (whole(1, 2, 3), whole(1, 2, 3))
    yield torch.bmm, (whole(1, 2, 3), whole(2, 3, 2))
    yield torch.bmm, (whole(1, 2, 3), whole(1, 3, 2).float())


# B6: the same errors, in the same order, as without.
@pytest.mark.parametrize("function, arguments", list(errors()))
def test_routed_errors_are_torchs(routed, function, arguments):
    with pytest.raises(RuntimeError) as ours:
        function(*arguments)
    cpu.library.gemmsmith_torch_set_routing(0)
    with pytest.raises(RuntimeError) as theirs:
        function(*arguments)
    # bmm checks types inside torch's operator: the ABI before 2.12 does not hand on its words, and its
    # form with `out` has others.
    if function is torch.mm or not any(word in str(theirs.value) for word in ("dtype", "scalar type")):
        assert str(ours.value) == str(theirs.value)


@pytest.mark.filterwarnings("ignore:ComplexHalf")
@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "bfloat16", "complex32", "complex64", "complex128"]
    + ["int8", "uint8", "int16", "int32", "int64", "bool"]
)
def test_mixed_types_are_refused_in_torchs_words(routed, dtype):
    pairs = [(whole(2, 3), whole(3, 2).to(getattr(torch, dtype)))]
    pairs += [(b.t(), a.t()) for a, b in pairs]
    pairs += [(a[:0], b) for a, b in pairs]
    ours = [outcome(lambda: torch.mm(a, b)) for a, b in pairs]
    cpu.library.gemmsmith_torch_set_routing(0)
    assert ours == [outcome(lambda: torch.mm(a, b)) for a, b in pairs]


def shapes_of_matmul():
    sides = [(64,), (64, 64), (1, 64, 64), (3, 64, 64), (2, 1, 64, 64), (0, 64, 64)]
    for left in sides:
        for right in sides:
            yield left, right


# E2: every pair of dimensions that matmul broadcasts.
@pytest.mark.parametrize("left, right", list(shapes_of_matmul()))
def test_routed_matmul_broadcasts_as_torchs(routed, left, right):
    a, b = whole(*left), whole(*right, seed=1)

    def result():
        try:
            return torch.matmul(a, b)
        except RuntimeError as error:
            return str(error)

    product = result()
    cpu.library.gemmsmith_torch_set_routing(0)
    plain = result()
    if isinstance(plain, str):
        assert product == plain
    else:
        assert torch.equal(product, plain)


def test_routed_products_are_served_in_matmul_linear_and_gradients(routed):
    x = whole(64, 64).requires_grad_()
    weight = whole(64, 64, seed=1).requires_grad_()
    y, served, passed = served_by_plan(lambda: torch.nn.functional.linear(x, weight))
    assert (served, passed) == (1, 0)
    assert torch.equal(y, expected_mm(x.detach(), weight.detach().t()))
    grad = whole(64, 64, seed=2)
    _, served, passed = served_by_plan(lambda: y.backward(grad))
    assert served + passed == 2  # both gradients came through here
    assert torch.equal(x.grad, expected_mm(grad, weight.detach()))
    assert torch.equal(weight.grad, expected_mm(grad.t(), x.detach()))


# E1: the gradient of a sum is expanded.
def test_the_gradient_of_a_sum(routed):
    x = whole(64, 64).requires_grad_()
    w = whole(64, 64, seed=1).requires_grad_()
    torch.mm(x, w).sum().backward()
    ones = torch.ones(64, 64, dtype=torch.float16)
    assert torch.equal(x.grad, expected_mm(ones, w.detach().t()))
    assert torch.equal(w.grad, expected_mm(x.detach().t(), ones))


def test_a_batch_of_one_is_served(routed):
    a, b = whole(1, 64, 64), whole(1, 64, 64, seed=1).transpose(1, 2)
    product, served, passed = served_by_plan(lambda: torch.bmm(a, b))
    assert (served, passed) == (1, 0)
    assert torch.equal(product[0], expected_mm(a[0], b[0]))
    assert product.shape == (1, 64, 64)


# A plan is for a number of products, and serves shared operands and interleaved ones.
@pytest.mark.parametrize("shared", [None, "a", "b"])
def test_a_batch_is_served_by_a_plan_for_it(routed, shared):
    a, b = whole(3, 64, 64), whole(3, 64, 64, seed=1)
    if shared == "a":
        a = a[:1].expand(3, 64, 64)
    if shared == "b":
        b = b[:1].expand(3, 64, 64)
    product, served, passed = served_by_plan(lambda: torch.bmm(a, b.mT))
    assert (served, passed) == (1, 0)
    assert torch.equal(product, expected_mm(a, b.mT))
    assert product.is_contiguous()
    _, served, passed = served_by_plan(lambda: torch.bmm(whole(4, 64, 64), whole(4, 64, 64).mT))
    assert (served, passed) == (0, 1)


def test_a_batch_keeps_gradients(routed):
    a, b = whole(3, 64, 64).requires_grad_(), whole(3, 64, 64, seed=1).requires_grad_()
    grad = whole(3, 64, 64, seed=2)
    torch.bmm(a, b.mT).backward(grad)
    assert torch.equal(a.grad, expected_mm(grad, b.detach()))
    assert torch.equal(b.grad, expected_mm(grad.mT, a.detach()))


@pytest.fixture
def torchs_f32():
    """torch has products with out_dtype for CUDA only: a stand-in for them on the CPU."""
    library = torch.library.Library("aten", "IMPL")

    def kernel(a, b, out_dtype, *, out):
        if out_dtype not in (a.dtype, torch.float32):
            raise RuntimeError("out_dtype must be the same as input dtype or fp32")
        # No product of torch's, which would be counted.
        return out.copy_((a.double().unsqueeze(-1) * b.double().unsqueeze(-3)).sum(-2))

    library.impl("mm.dtype_out", kernel, "CPU")
    library.impl("bmm.dtype_out", kernel, "CPU")
    yield
    library._destroy()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_f32_results_are_served_by_plans_of_their_own(routed, torchs_f32, dtype):
    # Sums that neither type can hold.
    a, b = whole(64, 64, dtype=dtype) * 128, whole(64, 64, dtype=dtype, seed=1).t() * 64
    exact = (a.double() @ b.double()).float()
    for function in (torch.mm, gt.mm):
        product, served, passed = served_by_plan(lambda: function(a, b, out_dtype=torch.float32))
        assert (served, passed) == (1, 0)
        assert product.dtype == torch.float32 and torch.equal(product, exact)
        # As torch, whose sums are rounded to the type that is asked for.
        product, served, passed = served_by_plan(lambda: function(a, b, out_dtype=dtype))
        assert (served, passed) == (1, 0)
        assert product.dtype == dtype and torch.equal(product, expected_mm(a, b))
        odd = a[:48]
        product, served, passed = served_by_plan(lambda: function(odd, b, out_dtype=torch.float32))
        assert (served, passed) == (0, 1)
        assert torch.equal(product, exact[:48])


def test_f32_results_of_batches(routed, torchs_f32):
    a, b = whole(3, 64, 64) * 128, whole(3, 64, 64, seed=1).mT * 64
    exact = (a.double() @ b.double()).float()
    for function in (torch.bmm, gt.bmm):
        for batch, plans in ((3, 1), (2, 0)):
            product, served, passed = served_by_plan(
                lambda: function(a[:batch], b[:batch], out_dtype=torch.float32)
            )
            assert (served, passed) == (plans, 1 - plans)
            assert torch.equal(product, exact[:batch])


def test_other_out_dtypes_are_torchs_to_refuse(routed, torchs_f32):
    a = whole(64, 64)
    for dtype in (torch.bfloat16, torch.float64, torch.int8):
        with pytest.raises(RuntimeError):
            torch.mm(a, a.t(), out_dtype=dtype)
    with pytest.raises(RuntimeError):
        torch.mm(a, whole(3, 3), out_dtype=torch.float32)
    with pytest.raises(RuntimeError):
        torch.mm(a, a[0], out_dtype=torch.float32)


def test_out_is_untouched_by_routing(routed):
    out = torch.full((64, 64), float("nan"), dtype=torch.float16)
    a, b = whole(64, 64), whole(64, 64, seed=1).t()
    assert torch.mm(a, b, out=out) is out
    assert torch.equal(out, expected_mm(a, b))
    # A7, E7: an output with strides of its own.
    wide = torch.zeros(64, 128, dtype=torch.float16)
    view = wide[:, ::2]
    torch.mm(a, b, out=view)
    assert torch.equal(view, expected_mm(a, b)) and not wide[:, 1::2].any()


def test_addmm_is_served_where_input_has_its_shape():
    c, a, b = whole(64, 64, seed=3), whole(64, 64), whole(64, 64, seed=1).t()
    result, served, _ = served_by_plan(lambda: gt.addmm(c, a, b, beta=3, alpha=2))
    assert served == 1
    expected = (3 * c.double() + 2 * (a.double() @ b.double())).half()
    assert torch.equal(result, expected)


# F3, F4, C2: every shape that input may be broadcast from is torch's own.
@pytest.mark.parametrize("shape", [(64,), (1, 64), (64, 1), (1, 1), ()])
def test_addmm_broadcasts_as_torchs(shape):
    c, a, b = whole(*shape, seed=3), whole(64, 64), whole(64, 64, seed=1).t()
    assert torch.equal(gt.addmm(c, a, b), torch.addmm(c, a, b))
    expanded = c.expand(64, 64)
    assert torch.equal(gt.addmm(expanded, a, b), torch.addmm(expanded, a, b))


def test_addmm_ignores_input_with_beta_of_zero():
    c = torch.full((64, 64), float("nan"), dtype=torch.float16)
    a, b = whole(64, 64), whole(64, 64, seed=1).t()
    assert torch.equal(gt.addmm(c, a, b, beta=0), expected_mm(a, b))


@pytest.mark.parametrize("shape", [(64, 64), (64,), (1, 64), (64, 1), ()])
def test_addmm_keeps_gradients(shape):
    ours = [t.requires_grad_() for t in (whole(*shape, seed=3), whole(64, 64), whole(64, 64, seed=1))]
    theirs = [t.detach().clone().requires_grad_() for t in ours]
    gt.addmm(*ours, beta=3, alpha=2).sum().backward()
    torch.addmm(*theirs, beta=3, alpha=2).sum().backward()
    for own, other in zip(ours, theirs):
        assert torch.equal(own.grad, other.grad)


# C1: neither NaNs nor a plan for products with C: with beta = 0, input is only asked for its shape.
@pytest.mark.parametrize("shape", [(64, 64), (64,), (1, 1), ()])
def test_addmm_without_beta_is_a_plain_product(shape):
    c = torch.full(shape, float("nan"), dtype=torch.float16)
    a, b = whole(64, 64), whole(64, 64, seed=1).t()
    result, served, _ = served_by_plan(lambda: gt.addmm(c, a, b, beta=0))
    assert served == 1
    assert torch.equal(result, expected_mm(a, b))


# C3: torch does not let NaNs through a factor of 0, and no plan may.
@pytest.mark.parametrize("beta", [0, 1])
def test_addmm_without_alpha_is_torchs(beta):
    c, b = whole(64, 64, seed=3), whole(64, 64, seed=1).t()
    a = torch.full((64, 64), float("nan"), dtype=torch.float16)
    own, served, _ = served_by_plan(lambda: gt.addmm(c, a, b, beta=beta, alpha=0))
    theirs = torch.addmm(c, a, b, beta=beta, alpha=0)
    assert served == 0
    assert torch.equal(own.nan_to_num(), theirs.nan_to_num())


# E6: an output that is an input, or a part of one, is torch's to judge.
@pytest.fixture
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


# What torch writes over its own operands depends on the order in which its threads come.
def test_addmm_into_its_own_input_is_torchs(routed_sums, one_thread):
    def outcomes():
        def fresh():
            return whole(64, 64, seed=3), whole(64, 64), whole(64, 64, seed=1)

        for call in (
            lambda c, t, w: torch.addmm(c, t, w, out=c),
            lambda c, t, w: torch.addmm(c, t, w, out=t),
            lambda c, t, w: c.addmm_(t, w.t()),
            lambda c, t, w: torch.addmm(c, t, w, out=w.t()),
        ):
            yield outcome(lambda: call(*fresh()))

    ours = list(outcomes())
    _routing.unroute_sums()
    for own, plain in zip(ours, outcomes()):
        assert_same_outcome(own, plain)


def addmm_cases():
    a, b = whole(64, 64), whole(64, 64, seed=1).t()
    yield (whole(64, 64, seed=3), a, b), {}
    yield (whole(64, 64, seed=3), a, b), {"beta": 3, "alpha": 2}
    yield (whole(64, seed=3), a, b), {}
    yield (torch.full((64,), float("nan"), dtype=torch.float16), a, b), {"beta": 0}
    yield (whole(64, 64, seed=3).float(), a.float(), b.float()), {"beta": 0.5}
    yield (whole(64, 64, seed=3).int(), a.int(), b.int()), {"beta": 2}
    yield (whole(3, 4), whole(3, 0), whole(0, 4)), {"beta": 2}
    yield (whole(0, 4), whole(0, 3), whole(3, 4)), {}
    # B6: refused, each for its own reason, and with several reasons for torch's first.
    yield (whole(64, 64).float(), a, b), {}
    yield (whole(64, 64), a, b.float()), {}
    yield (whole(64, 64), a.float(), b), {}
    yield (whole(64, 64), a[0], b), {}
    yield (whole(64, 64), a, b[None]), {}
    yield (whole(4, 4), whole(4, 3), whole(4, 4)), {}
    yield (whole(3), a, b), {}
    yield (whole(2, 64, 64), a, b), {}
    yield (whole(3).float(), whole(4, 3), whole(4, 4)), {}
    yield (whole(64, 64).int(), a.int(), b.int()), {"beta": 0.5}


def outcome(function):
    try:
        return function()
    except (RuntimeError, IndexError) as error:
        return f"{type(error).__name__}: {error}"


def assert_same_outcome(ours, theirs):
    if isinstance(theirs, str):
        assert ours == theirs
    else:
        assert torch.equal(ours, theirs)
        assert (ours.dtype, ours.stride()) == (theirs.dtype, theirs.stride())


@pytest.mark.parametrize("arguments, scalars", list(addmm_cases()))
def test_addmm_by_itself_and_routed_is_torchs(routed_sums, arguments, scalars):
    routed_result = outcome(lambda: torch.addmm(*arguments, **scalars))
    own = outcome(lambda: gt.addmm(*arguments, **scalars))
    _routing.unroute_sums()
    plain = outcome(lambda: torch.addmm(*arguments, **scalars))
    assert_same_outcome(routed_result, plain)
    assert_same_outcome(own, plain)


def test_a_routed_addmm_is_served_in_linear_and_keeps_gradients(routed_sums):
    c, a, b = whole(64, 64, seed=3), whole(64, 64), whole(64, 64, seed=1).t()
    _, served, _ = served_by_plan(lambda: torch.addmm(c, a, b, beta=3, alpha=2))
    assert served == 1
    layer = torch.nn.Linear(64, 64).half()
    x = whole(64, 64).requires_grad_()
    _, served, passed = served_by_plan(lambda: layer(x))
    assert (served, passed) == (0, 1)  # the table has no kernel with epilogues for it
    torch.addmm(c, x, b).sum().backward()
    assert torch.equal(x.grad, expected_mm(torch.ones(64, 64).half(), b.t()))


# The bias is added in f32, before the sum is rounded.
def test_a_bias_is_served_by_a_kernel_with_epilogues(routed_sums):
    x, weight, bias = whole(2, 64, 64), whole(128, 64, seed=1), whole(128, seed=2)
    exact = (x.double() @ weight.double().t() + bias.double()).half()
    for function in (torch.nn.functional.linear, gt.linear):
        y, served, passed = served_by_plan(lambda: function(x, weight, bias))
        assert (served, passed) == (1, 0)
        assert torch.equal(y, exact)
    flat = x.view(128, 64)
    for function in (torch.addmm, gt.addmm):
        y, served, passed = served_by_plan(lambda: function(bias, flat, weight.t()))
        assert (served, passed) == (1, 0)
        assert torch.equal(y, exact.view(128, 128))
    # What a bias is not: scaled, strided, of each row.
    for other, scalars in (
        (bias, {"beta": 2}),
        (whole(256, seed=2)[::2], {}),
        (whole(128, 1, seed=2), {}),
    ):
        y, served, passed = served_by_plan(lambda: torch.addmm(other, flat, weight.t(), **scalars))
        assert (served, passed) == (0, 1)
        expected = scalars.get("beta", 1) * other.double() + flat.double() @ weight.double().t()
        assert torch.equal(y, expected.half())


@pytest.mark.parametrize("activation", ["relu", "gelu_tanh"])
def test_activations_are_served_by_a_kernel_with_epilogues(activation):
    x, weight, bias = whole(128, 64), whole(128, 64, seed=1), whole(128, seed=2)
    y, served, passed = served_by_plan(lambda: gt.linear(x, weight, bias, activation))
    assert (served, passed) == (1, 0)
    reference = activation_reference(x, weight, bias, activation)
    assert torch.allclose(y.double(), reference, rtol=2**-10, atol=2**-10)


def test_gradients_through_a_bias_that_a_plan_serves(routed_sums):
    x = whole(128, 64).requires_grad_()
    weight = whole(128, 64, seed=1).requires_grad_()
    bias = whole(128, seed=2).requires_grad_()
    grad = whole(128, 128, seed=4)
    torch.nn.functional.linear(x, weight, bias).backward(grad)
    assert torch.equal(x.grad, expected_mm(grad, weight.detach()))
    assert torch.equal(weight.grad, expected_mm(grad.t(), x.detach()))
    assert torch.equal(bias.grad, grad.sum(0))


def test_sums_are_routed_only_where_a_plan_could_gain(tmp_path):
    assert cpu.library.gemmsmith_torch_planned_sums() == 3
    script = "import gemmsmith.torch._library as l; print(l.library.gemmsmith_torch_planned_sums())"
    for plans in ("", str(tmp_path / "missing.plans")):
        environment = {**os.environ, "GEMMSMITH_PLANS": plans, "XDG_DATA_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
        assert done.stdout == "0\n", done.stderr


def baddbmm_cases():
    a, b = whole(1, 64, 64), whole(1, 64, 64, seed=1).transpose(1, 2)
    yield (whole(1, 64, 64, seed=3), a, b), {}, 1
    yield (torch.full((1, 64, 64), float("nan"), dtype=torch.float16), a, b), {"beta": 0}, 1
    yield (whole(64, seed=3), a, b), {}, 0
    yield (whole(2, 64, 64), a.expand(2, 64, 64), b.expand(2, 64, 64)), {}, 0
    a, b = whole(3, 64, 64), whole(3, 64, 64, seed=1).mT
    yield (whole(3, 64, 64, seed=3), a, b), {"beta": 3, "alpha": 2}, 1
    yield (whole(1, 64, 64, seed=3).expand(3, 64, 64), a, b), {}, 1
    yield (whole(64, 3, 64, seed=3).transpose(0, 1), a, b), {}, 1
    yield (torch.full((), float("nan"), dtype=torch.float16), a, b), {"beta": 0}, 1
    yield (whole(1, 64, 64, seed=3), a, b), {}, 0
    yield (whole(64, seed=3), a, b), {}, 0
    yield (whole(64, 1, seed=3), a, b), {}, 0
    yield (whole(3, 64, 64, seed=3), a, b), {"alpha": 0}, 0
    yield (whole(0, 4, 4), whole(0, 4, 3), whole(0, 3, 4)), {}, 0
    # B6: refused, each for its own reason.
    yield (whole(1, 64, 64), a, b[0]), {}, 0
    yield (whole(2, 64, 64), a, b), {}, 0
    yield (whole(3, 64, 64), a, b[:2]), {}, 0
    yield (whole(3, 64, 64).float(), a, b), {}, 0
    yield (whole(3, 64, 64), a.float(), b), {}, 0
    yield (whole(1, 4, 4), whole(1, 4, 3), whole(1, 4, 4)), {}, 0


@pytest.mark.parametrize("arguments, scalars, plans", list(baddbmm_cases()))
def test_baddbmm_by_itself_and_routed_is_torchs(routed_sums, arguments, scalars, plans):
    own, served, _ = served_by_plan(lambda: outcome(lambda: gt.baddbmm(*arguments, **scalars)))
    assert served == plans
    routed_result, served, _ = served_by_plan(
        lambda: outcome(lambda: torch.baddbmm(*arguments, **scalars))
    )
    assert served == plans
    _routing.unroute_sums()
    plain = outcome(lambda: torch.baddbmm(*arguments, **scalars))
    assert_same_outcome(own, plain)
    assert_same_outcome(routed_result, plain)


@pytest.mark.parametrize("shape", [(3, 64, 64), (64,), (3, 1, 64), ()])
def test_baddbmm_keeps_gradients(shape):
    ours = [
        t.requires_grad_()
        for t in (whole(*shape, seed=3), whole(3, 64, 64), whole(3, 64, 64, seed=1))
    ]
    theirs = [t.detach().clone().requires_grad_() for t in ours]
    gt.baddbmm(*ours, beta=3, alpha=2).sum().backward()
    torch.baddbmm(*theirs, beta=3, alpha=2).sum().backward()
    for own, other in zip(ours, theirs):
        assert torch.equal(own.grad, other.grad)


def activation_reference(x, weight, bias, activation):
    y = x.double() @ weight.double().t() + (0 if bias is None else bias.double())
    if activation == "relu":
        y = y.relu()
    elif activation == "gelu_tanh":
        y = torch.nn.functional.gelu(y, approximate="tanh")
    elif activation == "gelu":
        y = torch.nn.functional.gelu(y)
    elif activation == "silu":
        y = torch.nn.functional.silu(y)
    return y


# F2: a bias that is a slice; F5: sizes where a bias along the wrong side fits as well.
@pytest.mark.parametrize("activation", ["none", "relu", "gelu_tanh", "gelu", "silu"])
@pytest.mark.parametrize("offset", [0, 1, 3])
@pytest.mark.parametrize("with_bias", [True, False])
def test_linear_with_activation(activation, offset, with_bias):
    x, weight = whole(2, 12, 32), whole(24, 32, seed=1)
    bias = whole(30, seed=2)[offset : offset + 24] if with_bias else None
    y = gt.linear(x, weight, bias, activation)
    reference = activation_reference(x, weight, bias, activation)
    assert y.shape == (2, 12, 24)
    assert torch.allclose(y.double(), reference, rtol=2**-9, atol=2**-9)


def test_a_bias_is_fused():
    x, weight, bias = whole(12, 32), whole(24, 32, seed=1), whole(24, seed=2)
    for activation in ("none", "relu", "gelu_tanh"):
        _, served, passed = served_by_plan(lambda: gt.linear(x, weight, bias, activation))
        assert (served, passed) == (1, 0)


# F7: the two GELUs are two names; each as torch's at the points where they differ.
def test_the_two_gelus_are_not_swapped():
    points = torch.tensor(
        [-float("inf"), -10, -3, -0.75, 0, 0.75, 3, 10, float("inf"), float("nan")],
        dtype=torch.float16,
    )
    x = torch.zeros(4, 8, dtype=torch.float16)
    weight = torch.zeros(len(points), 8, dtype=torch.float16)
    for ours, theirs in (("gelu", "none"), ("gelu_tanh", "tanh")):
        y = gt.linear(x, weight, points, ours)
        expected = torch.nn.functional.gelu(points.float(), approximate=theirs).half()
        finite = expected.isfinite()
        assert torch.allclose(y[0][finite].float(), expected[finite].float(), atol=5e-4)


def test_an_unknown_activation_is_named():
    with pytest.raises(ValueError, match="activation 'tanh': expected one of none, relu"):
        gt.linear(whole(2, 2), whole(2, 2), None, "tanh")


@pytest.mark.parametrize("activation", ["none", "relu", "gelu_tanh"])
def test_gradients_of_the_fused_linear(activation):
    x = torch.randn(16, 32, dtype=torch.float16).requires_grad_()
    weight = torch.randn(24, 32, dtype=torch.float16).requires_grad_()
    bias = torch.randn(24, dtype=torch.float16).requires_grad_()
    grad = torch.randn(16, 24, dtype=torch.float16)
    gt.linear(x, weight, bias, activation).backward(grad)
    reference = [t.detach().double().requires_grad_() for t in (x, weight, bias)]
    activation_reference(*reference, activation).backward(grad.double())
    for ours, theirs in zip((x, weight, bias), reference):
        scale = theirs.grad.abs().max()
        assert (ours.grad.double() - theirs.grad).abs().max() <= scale * 2**-8


# Q1: schema, shapes for tracing, autograd registration.
@pytest.mark.parametrize("requires_grad", [False, True])
def test_opcheck(requires_grad):
    def tensor(*size, seed=0):
        return whole(*size, seed=seed).requires_grad_(requires_grad)

    torch.library.opcheck(torch.ops.gemmsmith.mm.default, (tensor(64, 64), tensor(64, 64, seed=1)))
    torch.library.opcheck(
        torch.ops.gemmsmith.bmm.default, (tensor(1, 8, 8), tensor(1, 8, 8, seed=1))
    )
    torch.library.opcheck(
        torch.ops.gemmsmith.addmm_activation.default,
        (tensor(8, seed=2), tensor(4, 8), tensor(8, 8, seed=1), "relu"),
    )
    torch.library.opcheck(
        torch.ops.gemmsmith.addmm.default,
        (tensor(64, 64, seed=2), tensor(64, 64), tensor(64, 64, seed=1), 3.0, 2.0),
    )
    torch.library.opcheck(
        torch.ops.gemmsmith.baddbmm.default,
        (tensor(2, 8, 8, seed=2), tensor(2, 8, 8), tensor(2, 8, 8, seed=1), 3.0, 2.0),
    )
    if not requires_grad:
        a, b = whole(64, 64), whole(64, 64, seed=1).t()
        torch.library.opcheck(torch.ops.gemmsmith._mm_dtype.default, (a, b, torch.float32))


def test_vmap_func_grad_and_inference_mode(routed):
    a, b = whole(3, 64, 64), whole(64, 64, seed=1)
    assert torch.equal(torch.vmap(torch.mm, (0, None))(a, b), torch.matmul(a, b))
    gradient = torch.func.grad(lambda m: torch.mm(m, b).sum())(a[0])
    assert torch.equal(gradient, expected_mm(torch.ones_like(b), b.t()))
    with torch.inference_mode():
        assert torch.equal(torch.mm(a[0], b), expected_mm(a[0], b))


def test_double_backward_of_the_operators():
    # In f32, which no plan has: the formulas are composed of operators that have gradients.
    a = torch.randn(4, 5, dtype=torch.float64, requires_grad=True)
    b = torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(gt.mm, (a, b))
    assert torch.autograd.gradgradcheck(gt.mm, (a, b))
    for shape in ((4, 3), (3,), (4, 1), ()):
        c = torch.randn(shape, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(lambda *t: torch.ops.gemmsmith.addmm(*t, 3.0, 2.0), (c, a, b))


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 64)
        self.down = torch.nn.Linear(64, 64, bias=False)

    def forward(self, x):
        return self.down(torch.relu(self.up(x)))


def test_compile_has_no_graph_break_and_uses_the_operators():
    block = Block().half()
    with torch.no_grad():
        for parameter in block.parameters():
            parameter.copy_(whole(*parameter.shape))
    x = whole(64, 64, seed=5)
    expected = block(x)
    _inductor.install()
    try:
        compiled = torch.compile(block, fullgraph=True)
        with torch.no_grad():
            result, served, _ = served_by_plan(lambda: compiled(x))
        assert torch.equal(result, expected)
        assert served >= 2  # the fused product, and the one without bias
        y = compiled(x)
        y.sum().backward()
        assert block.up.weight.grad is not None
    finally:
        _inductor.remove()
        torch._dynamo.reset()


def compiled_counts(function, *arguments):
    """The result of the compiled function, and how many products plans and torch served in it."""
    _inductor.install()
    try:
        compiled = torch.compile(function, fullgraph=True, dynamic=False)
        with torch.no_grad():
            return served_by_plan(lambda: compiled(*arguments))
    finally:
        _inductor.remove()
        torch._dynamo.reset()


# A product that no plan serves stays torch's own call, which costs the host less.
def test_compile_leaves_alone_what_no_plan_serves():
    x, w = whole(64, 48), whole(48, 64, seed=1)
    batch = whole(2, 64, 64)
    result, served, passed = compiled_counts(lambda x, w: torch.mm(x, w), x, w)
    assert (served, passed) == (0, 0) and torch.equal(result, expected_mm(x, w))
    result, served, passed = compiled_counts(lambda b: torch.bmm(b, b), batch)
    assert (served, passed) == (0, 0) and torch.equal(result, torch.bmm(batch, batch))


def test_compile_serves_addmm_with_an_input_of_its_shape():
    c, a, b = whole(64, 64, seed=3), whole(64, 64), whole(64, 64, seed=1)
    result, served, passed = compiled_counts(
        lambda c, a, b: torch.addmm(c, a, b.t(), beta=3, alpha=2), c, a, b
    )
    assert (served, passed) == (1, 0)
    assert torch.equal(result, torch.addmm(c, a, b.t(), beta=3, alpha=2))


def test_compile_serves_batches_and_sums_of_them():
    a, b, c = whole(3, 64, 64), whole(3, 64, 64, seed=1), whole(3, 64, 64, seed=3)
    result, served, passed = compiled_counts(lambda a, b: torch.bmm(a, b.mT), a, b)
    assert (served, passed) == (1, 0) and torch.equal(result, expected_mm(a, b.mT))
    result, served, passed = compiled_counts(
        lambda c, a, b: torch.baddbmm(c, a, b.mT, beta=3, alpha=2), c, a, b
    )
    assert (served, passed) == (1, 0)
    assert torch.equal(result, torch.baddbmm(c, a, b.mT, beta=3, alpha=2))


def test_compile_serves_f32_results(torchs_f32):
    a, b = whole(64, 64) * 128, whole(64, 64, seed=1) * 64
    result, served, passed = compiled_counts(
        lambda a, b: torch.mm(a, b.t(), out_dtype=torch.float32), a, b
    )
    assert (served, passed) == (1, 0)
    assert torch.equal(result, (a.double() @ b.t().double()).float())


# A kernel with epilogues takes the bias, and the activation that alone uses the sum.
@pytest.mark.parametrize("after", [lambda y: y.view(-1), torch.relu, torch.sin])
def test_compile_gives_a_bias_to_a_kernel_with_epilogues(after):
    bias, a, b = whole(128, seed=3), whole(128, 64), whole(128, 64, seed=1)
    function = lambda bias, a, b: after(torch.addmm(bias, a, b.t()))  # noqa: E731
    result, served, passed = compiled_counts(function, bias, a, b)
    assert (served, passed) == (1, 0)
    assert torch.allclose(result.float(), function(bias, a, b).float(), atol=2e-3)


# The plan of the table saves 1.25 us: less than a pass over D costs, more than adding the bias within a
# pass that is there anyway.
@pytest.mark.parametrize("after, plans", [(torch.sin, 1), (lambda y: y.view(-1), 0)])
def test_compile_adds_a_bias_afterwards_where_that_pays(after, plans):
    bias, a, b = whole(64, seed=3), whole(64, 64), whole(64, 64, seed=1)
    function = lambda bias, a, b: after(torch.addmm(bias, a, b.t()))  # noqa: E731
    result, served, passed = compiled_counts(function, bias, a, b)
    assert (served, passed) == (plans, 0)
    assert torch.allclose(result.float(), function(bias, a, b).float(), atol=2e-3)


def test_compiled_code_is_kept_apart_by_plans(tmp_path, monkeypatch):
    before = cpu.library.gemmsmith_torch_plans_identity()
    assert cpu.library.gemmsmith_torch_plans_identity() == before
    other = tmp_path / "other.plans"
    other.write_bytes(b"other")
    monkeypatch.setenv("GEMMSMITH_PLANS", str(other))
    changed = cpu.library.gemmsmith_torch_plans_identity()
    assert changed != before
    other.write_bytes(b"another")
    assert cpu.library.gemmsmith_torch_plans_identity() not in (before, changed)


def test_compile_with_dynamic_shapes_and_slices():
    def function(x, w):
        return torch.mm(x[1:], w)

    _inductor.install()
    try:
        compiled = torch.compile(function, fullgraph=True, dynamic=True)
        w = whole(64, 64, seed=1)
        for rows in (3, 65, 18):
            x = whole(rows, 64)
            assert torch.equal(compiled(x, w), expected_mm(x[1:], w))  # Q4: sliced inputs
    finally:
        _inductor.remove()
        torch._dynamo.reset()


def test_enable_nests_and_gives_everything_back():
    import torch._inductor.config as config

    before = config.post_grad_custom_pre_pass
    assert not gt.is_enabled()
    with gt.enable():
        with gt.enable():
            assert gt.is_enabled()
        assert gt.is_enabled()
        assert torch.equal(torch.mm(whole(8, 8), whole(8, 8)), expected_mm(whole(8, 8), whole(8, 8)))
    assert not gt.is_enabled()
    assert config.post_grad_custom_pre_pass is before
    gt.disable()  # once too often does nothing
    assert set(gt.counts()) == {"served", "cublaslt", "torch"}


# Q2, Q3, N10: importing starts nothing, so that workers may fork and devices be chosen afterwards.
def test_import_starts_nothing():
    script = """
import os
import torch, gemmsmith.torch
assert not torch.cuda.is_initialized()
gemmsmith.torch.enable()
assert not torch.cuda.is_initialized()
os.environ["CUDA_VISIBLE_DEVICES"] = "0"
pid = os.fork()
if pid == 0:
    os._exit(0 if torch.equal(torch.ones(2, 2) @ torch.ones(2, 2), torch.full((2, 2), 2.)) else 1)
assert os.waitpid(pid, 0)[1] == 0
print("fine")
"""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GEMMSMITH_LIBCUDA")}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "fine\n", done.stderr
    assert done.returncode == 0


def test_a_data_loader_after_products():
    gt.mm(whole(64, 64), whole(64, 64).t())
    data = torch.utils.data.TensorDataset(torch.arange(16.0))
    loader = torch.utils.data.DataLoader(data, batch_size=4, num_workers=2)
    assert sum(batch[0].sum().item() for batch in loader) == 120


# J9: however the process ends after products, it ends well.
@pytest.mark.parametrize("ending", ["pass", "os._exit(0)", "import sys; sys.exit(0)"])
@pytest.mark.parametrize("thread", [False, True])
def test_a_process_ends_cleanly_after_products(ending, thread):
    script = f"""
import os, threading
import torch, gemmsmith.torch
torch.ops.load_library(os.environ["GEMMSMITH_TEST_CPU_OPS"])
def work():
    a = torch.ones(64, 64).half()
    assert torch.equal(torch.ops.gemmsmith.mm(a, a.t()), torch.full((64, 64), 64.0).half())
if {thread}:
    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
else:
    work()
{ending}
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# Q6: what is not a plain dense tensor is torch's.
def test_other_tensors_are_torchs(routed):
    dense = whole(8, 8).float()
    sparse = dense.to_sparse()
    assert torch.equal(torch.mm(sparse, dense), torch.mm(dense, dense))
    meta = torch.mm(torch.empty(4, 5, device="meta"), torch.empty(5, 6, device="meta"))
    assert meta.shape == (4, 6)

    class Named(torch.Tensor):
        pass

    named = whole(8, 8).as_subclass(Named)
    assert isinstance(torch.mm(named, named), Named)
    assert torch.equal(torch.mm(torch._neg_view(dense), dense), -torch.mm(dense, dense))
