"""What neither a plan nor cuBLASLt by our hand may touch has the same bits with and without gemmsmith:
torch.linalg through cuSOLVER, convolutions through cuDNN. 16-bit products have the same bits where all sums
are exact, and are as near to FP64 as torch's own elsewhere."""

import random

import torch

import block

# Sizes of the grid that the plan tables are made on.
GRID = (64, 128, 256, 512, 1024, 2048, 4096)


# That no table has plans for.
OTHERS = [(130, 130, 70), (70, 130, 130), (197, 768, 768), (1, 1000, 333), (33, 17, 20000)]


def planned_shapes():
    chosen = random.Random(3)
    shapes = [(64, 64, 64), (64, 4096, 4096), (256, 64, 2048), (1024, 4096, 1024)]
    while len(shapes) < 32:
        shapes.append(tuple(chosen.choice(GRID) for _ in range(3)))
    return shapes


def whole(generator, *size, dtype=torch.float16):
    return torch.randint(-1, 2, size, generator=generator, device="cuda").to(dtype)


def untouched(results):
    torch.manual_seed(11)
    a = torch.randn(96, 96, dtype=torch.float64, device="cuda")
    big = torch.randn(700, 500, dtype=torch.float64, device="cuda")
    for dtype in (torch.float32, torch.float64):
        m, b = a.to(dtype), big.to(dtype)
        s = m @ m.t() + 96 * torch.eye(96, dtype=dtype, device="cuda")
        for name, value in {
            "svd": torch.linalg.svd(b)[1],
            "svd u": torch.linalg.svd(m)[0],
            "qr": torch.linalg.qr(b)[0],
            "lu": torch.linalg.lu(b)[2],
            "eigh": torch.linalg.eigh(s)[1],
            "inv": torch.linalg.inv(s),
            "solve": torch.linalg.solve(s, m),
            "cholesky": torch.linalg.cholesky(s),
            "mm": b.t() @ b,
        }.items():
            results[f"same/{name} {dtype}"] = value
    image = torch.randn(4, 32, 28, 28, device="cuda")
    kernel = torch.randn(64, 32, 3, 3, device="cuda")
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        for channels_last in (False, True):
            order = torch.channels_last if channels_last else torch.contiguous_format
            x = image.detach().to(dtype, memory_format=order, copy=True).requires_grad_()
            y = torch.nn.functional.conv2d(x, kernel.to(dtype), padding=1)
            y.sum().backward()
            results[f"same/conv {dtype} {channels_last}"] = y.detach()
            results[f"same/conv gradient {dtype} {channels_last}"] = x.grad
    f16 = whole(torch.Generator(device="cuda").manual_seed(4), 130, 70)
    results["same/mm 130x130x70"] = f16 @ f16.t()
    results["same/mm 70x70x130"] = f16.t() @ f16
    results["same/bmm"] = torch.bmm(f16.expand(3, 130, 70), f16.t().expand(3, 70, 130))
    results["same/addmm with bias"] = torch.addmm(f16[0], f16, f16.t()[:, :70])
    results["same/linear with bias"] = torch.nn.functional.linear(f16, f16, f16.sum(1))
    with torch.autocast("cuda"):
        results["same/autocast linear"] = torch.nn.functional.linear(f16.float(), f16.float())
    results["same/bf16 mm"] = f16.bfloat16() @ f16.bfloat16().t()


def planned(results, errors):
    generator = torch.Generator(device="cuda").manual_seed(5)
    for m, n, k in planned_shapes() + OTHERS:
        a, b = whole(generator, m, k), whole(generator, n, k)
        results[f"same/whole {m}x{n}x{k}"] = a @ b.t()
        a = torch.randn(m, k, generator=generator, device="cuda", dtype=torch.float16)
        b = torch.randn(n, k, generator=generator, device="cuda", dtype=torch.float16)
        errors[f"{m}x{n}x{k}"] = block.error_of(a @ b.t(), a.double() @ b.double().t())


def planned_sums(results):
    """Batches, sums and f32 results, which a table may have plans for: exact, so of the same bits."""
    generator = torch.Generator(device="cuda").manual_seed(6)
    for m, n, k in planned_shapes()[:8]:
        a, b = whole(generator, 3, m, k), whole(generator, 3, n, k).mT
        c, bias = whole(generator, 3, m, n), whole(generator, n)
        for name, value in {
            "bmm": torch.bmm(a, b),
            "bmm, shared": torch.bmm(a, b[:1].expand(b.shape)),
            "bmm, interleaved": torch.bmm(a.transpose(0, 1).contiguous().transpose(0, 1), b),
            "bmm, f32": torch.bmm(a, b, out_dtype=torch.float32),
            "mm, f32": torch.mm(a[0], b[0], out_dtype=torch.float32),
            "baddbmm": torch.baddbmm(c, a, b, beta=2),
            "addmm": torch.addmm(c[0], a[0], b[0]),
            "linear with bias": torch.nn.functional.linear(a[0], b[0].t(), bias),
        }.items():
            results[f"same/{name} {m}x{n}x{k}"] = value


def kernels_of_plans():
    """How many launches of plan tables' kernels, which are called gemm, the profiler saw; none where it
    does not work."""
    from torch.profiler import ProfilerActivity, profile

    pairs = [
        (
            torch.ones(m, k, device="cuda", dtype=torch.float16),
            torch.ones(n, k, device="cuda", dtype=torch.float16),
        )
        for m, n, k in planned_shapes()
    ]
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as seen:
        for a, b in pairs:
            a @ b.t()
        torch.cuda.synchronize()
    names = [event.name for event in seen.events()]
    return {"gemm": names.count("gemm"), "all": len(names)}


def worker(options):
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    counts = None
    if options.routed:
        import gemmsmith.torch

        gemmsmith.torch.enable()
    results, errors = {}, {}
    untouched(results)
    planned(results, errors)
    planned_sums(results)
    if options.routed:
        counts = gemmsmith.torch.counts()
    try:
        kernels = kernels_of_plans()
    except (AssertionError, RuntimeError) as error:  # CUPTI may be refused
        kernels = {"unavailable": str(error)}
    return {
        "results": {name: value.cpu() for name, value in results.items()},
        "errors": errors,
        "counts": counts,
        "kernels": kernels,
    }
