// worker.h -- the process that touches the GPU. It takes requests from the socket on file
// descriptor `--fd`, measures with CudaBench and tells each step, so that the tuner knows which
// candidate is to blame when it dies.
//
// Requests: {"op":"hello","device":N}, answered without touching the GPU;
// {"op":"open","device":N,"settings":{},"run":"","harness":bytes,"reference":bytes,"pack":bytes}
// then the three cubins; {"op":"kernel","hash":"","bytes":N} then the cubin; {"op":"baselines"|
// "vendor_configs"|"screen"|"finals"|"accuracy"|"serve","problem":{},...}. Replies:
// {"begin":[i,...]}, {"need":[hash]}, {"result":i,"rows":[]}, {"alive":true}, and one of
// {"done":{}} or {"error":{}} to end each request.
#pragma once

namespace gemmsmith {

// `gemmsmith worker --fd N`: serves until the socket closes. Returns the exit code: 0, or 3 where
// the GPU's context was lost.
int worker_main(int argc, char** argv);

constexpr int kWorkerExitLost = 3;

}  // namespace gemmsmith
