// workspaces.h -- the workspace that a program gave each cuBLAS handle, which cuBLAS has no way to
// ask for. As there, setting the stream takes it back. Reading takes no lock; a handle whose place
// is taken has none, and plans that need a workspace are then left to cuBLAS.
#pragma once

#include <cublas_api.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace gemmsmith::blas {

class Workspaces {
 public:
  static Workspaces& of_process();

  struct Workspace {
    void* data = nullptr;
    std::size_t bytes = 0;
  };
  void set(cublasHandle_t handle, Workspace workspace);
  void forget(cublasHandle_t handle) { set(handle, {}); }
  Workspace of(cublasHandle_t handle) const;

 private:
  // cuBLAS's rule: a handle's settings are not changed while another thread uses it. The sequence
  // number only keeps a reader from mixing two handles that share a place.
  struct Place {
    std::atomic<std::uint64_t> sequence{0};  // odd while it is written
    std::atomic<cublasHandle_t> handle{nullptr};
    std::atomic<void*> data{nullptr};
    std::atomic<std::size_t> bytes{0};
  };
  const Place& place_of(cublasHandle_t handle) const;

  std::array<Place, 256> places_;
};

}  // namespace gemmsmith::blas
