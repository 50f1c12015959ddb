"""Tells when CUDA graphs are being captured: what costs the host time there costs no replay any."""

import threading

import torch

_lock = threading.Lock()
_capturing = 0
_originals = None


def install(on_first, on_last) -> None:
    """Has on_first called before a capture begins where none is going on, and on_last when the last one has
    ended. Captures that are going on already are not seen. on_first must not raise."""
    global _originals
    graph = torch.cuda.CUDAGraph
    begin, end = graph.capture_begin, graph.capture_end
    is_seen = set()  # ids of graphs whose capture began here

    def leave(graph):
        global _capturing
        with _lock:
            if id(graph) not in is_seen:
                return
            is_seen.discard(id(graph))
            _capturing -= 1
            if _capturing == 0:
                on_last()

    def capture_begin(self, *arguments, **named):
        global _capturing
        with _lock:
            if _capturing == 0:
                on_first()
            _capturing += 1
            is_seen.add(id(self))
        try:
            return begin(self, *arguments, **named)
        except BaseException:
            leave(self)
            raise

    def capture_end(self):
        try:
            return end(self)
        finally:
            leave(self)

    _originals = (begin, end)
    graph.capture_begin, graph.capture_end = capture_begin, capture_end


def remove() -> None:
    """Undoes install(). A capture that is going on ends without on_last."""
    global _originals, _capturing
    if _originals is None:
        return
    torch.cuda.CUDAGraph.capture_begin, torch.cuda.CUDAGraph.capture_end = _originals
    _originals = None
    _capturing = 0
