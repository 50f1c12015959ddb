#include "serving.h"

#include "blas/server.h"

namespace gemmsmith::python {

bool serve(blas::GemmCall& call) {
  blas::Server* const server = blas::Server::of_process(call.stream);
  return server != nullptr && server->serve(call);
}

bool multiply(const blas::GemmCall& call) {
  blas::Server* const server = blas::Server::of_process(call.stream);
  return server != nullptr && server->multiply(call);
}

}  // namespace gemmsmith::python
