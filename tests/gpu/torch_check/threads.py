"""Eight threads, a stream each, 10 000 products that are exact in whole numbers; every fiftieth is
captured into a graph of the thread's own and replayed, while the others go on."""

import threading

import torch

THREADS = 8
CALLS = 1250
SHAPES = ((64, 64, 64), (128, 256, 512), (70, 50, 90), (256, 64, 2048))


class Worker(threading.Thread):
    # torch lets one capture begin at a time; products of other threads go on meanwhile.
    capturing = threading.Lock()

    def __init__(self, number):
        super().__init__()
        self.number, self.failure = number, None

    def run(self):
        try:
            self.multiply()
        except Exception as error:  # a thread's exception would be lost
            self.failure = repr(error)

    def multiply(self):
        stream = torch.cuda.Stream()
        generator = torch.Generator().manual_seed(self.number)
        m, n, k = SHAPES[self.number % len(SHAPES)]
        with torch.cuda.stream(stream):
            a, b = (
                torch.randint(-1, 2, size, generator=generator).half().cuda()
                for size in ((m, k), (n, k))
            )
            expected = (a.double() @ b.double().t()).half()
            wrong = torch.zeros((), dtype=torch.int64, device="cuda")
            for call in range(CALLS):
                result = self.captured(a, b) if call % 50 == 49 else a @ b.t()
                wrong += (result != expected).sum()
            stream.synchronize()
        if int(wrong) != 0:
            self.failure = f"{int(wrong)} wrong elements of {m}x{n}x{k}"

    def captured(self, a, b):
        graph = torch.cuda.CUDAGraph()
        with Worker.capturing:
            graph.capture_begin(capture_error_mode="thread_local")
            result = a @ b.t()
            graph.capture_end()
        graph.replay()
        copy = result.clone()
        torch.cuda.current_stream().synchronize()  # before the graph and its memory go
        return copy


def worker(options):
    counts = None
    if options.routed:
        import gemmsmith.torch

        gemmsmith.torch.enable()
    # What is made at a first call is made outside of captures.
    warm = torch.ones(64, 64, device="cuda", dtype=torch.float16)
    torch.mm(warm, warm.t())
    torch.cuda.synchronize()
    workers = [Worker(number) for number in range(THREADS)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    if options.routed:
        counts = gemmsmith.torch.counts()
    return {
        "calls": THREADS * CALLS,
        "failures": {str(each.number): each.failure for each in workers if each.failure},
        "counts": counts,
    }
