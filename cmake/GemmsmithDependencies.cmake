# Finds the packages of docs/dependencies.md. Header-only forms of fmt and spdlog are used because
# the distributions ship no static libraries of them, and the program is meant to be carried.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tl-expected REQUIRED)

# A static library is preferred: the program is copied to GPU machines that lack the packages.
function(gemmsmith_find_static target header library)
  find_path(${target}_INCLUDE_DIR ${header} REQUIRED)
  find_library(${target}_LIBRARY NAMES lib${library}.a ${library} REQUIRED)
  add_library(gemmsmith_dep::${target} UNKNOWN IMPORTED)
  set_target_properties(gemmsmith_dep::${target} PROPERTIES
    IMPORTED_LOCATION ${${target}_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${${target}_INCLUDE_DIR})
endfunction()
gemmsmith_find_static(sqlite sqlite3.h sqlite3)
gemmsmith_find_static(sqlitecpp SQLiteCpp/SQLiteCpp.h SQLiteCpp)
gemmsmith_find_static(zstd zstd.h zstd)
set_property(TARGET gemmsmith_dep::sqlitecpp APPEND PROPERTY INTERFACE_LINK_LIBRARIES
             gemmsmith_dep::sqlite Threads::Threads ${CMAKE_DL_LIBS})
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
add_library(gemmsmith_dep::headers INTERFACE IMPORTED)
set_target_properties(gemmsmith_dep::headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${XXHASH_INCLUDE_DIR};${TOMLPLUSPLUS_INCLUDE_DIR}")

# Header-only; its own warnings are not ours.
find_path(EIGEN3_INCLUDE_DIR Eigen/Core PATH_SUFFIXES eigen3 REQUIRED)
add_library(gemmsmith_dep::eigen INTERFACE IMPORTED)
set_target_properties(gemmsmith_dep::eigen PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES ${EIGEN3_INCLUDE_DIR})

# CUDA: headers only. Libraries are found at run time. The toolkit's own folder, or a PyPI wheel's.
find_path(GEMMSMITH_CUDA_INCLUDE_DIR cuda.h
  HINTS ENV CUDA_HOME ENV CUDA_PATH ${PROJECT_SOURCE_DIR}/.deps/cuda /usr/local/cuda
  PATH_SUFFIXES include REQUIRED)
find_path(GEMMSMITH_CUBLAS_INCLUDE_DIR cublasLt.h
  HINTS ${GEMMSMITH_CUDA_INCLUDE_DIR} ENV CUDA_HOME ${PROJECT_SOURCE_DIR}/.deps/cuda /usr/local/cuda
  PATH_SUFFIXES include REQUIRED)
find_path(GEMMSMITH_NVRTC_INCLUDE_DIR nvrtc.h
  HINTS ${GEMMSMITH_CUDA_INCLUDE_DIR} ENV CUDA_HOME ${PROJECT_SOURCE_DIR}/.deps/cuda /usr/local/cuda
  PATH_SUFFIXES include REQUIRED)
# In a full toolkit CUPTI has a folder of its own.
find_path(GEMMSMITH_CUPTI_INCLUDE_DIR cupti_range_profiler.h
  HINTS ${GEMMSMITH_CUDA_INCLUDE_DIR} ENV CUDA_HOME ${PROJECT_SOURCE_DIR}/.deps/cuda /usr/local/cuda
  PATH_SUFFIXES include extras/CUPTI/include ../extras/CUPTI/include REQUIRED)
add_library(gemmsmith_dep::cuda_headers INTERFACE IMPORTED)
set(gemmsmith_cuda_dirs ${GEMMSMITH_CUDA_INCLUDE_DIR} ${GEMMSMITH_CUBLAS_INCLUDE_DIR} ${GEMMSMITH_NVRTC_INCLUDE_DIR}
    ${GEMMSMITH_CUPTI_INCLUDE_DIR})
list(REMOVE_DUPLICATES gemmsmith_cuda_dirs)
set_target_properties(gemmsmith_dep::cuda_headers PROPERTIES
  INTERFACE_INCLUDE_DIRECTORIES "${gemmsmith_cuda_dirs}")

if(GEMMSMITH_BUILD_TESTS)
  find_package(GTest REQUIRED)
  find_library(RAPIDCHECK_LIBRARY NAMES librapidcheck.a rapidcheck REQUIRED)
  find_path(RAPIDCHECK_INCLUDE_DIR rapidcheck/gtest.h REQUIRED)
  add_library(gemmsmith_dep::rapidcheck UNKNOWN IMPORTED)
  set_target_properties(gemmsmith_dep::rapidcheck PROPERTIES
    IMPORTED_LOCATION ${RAPIDCHECK_LIBRARY}
    INTERFACE_INCLUDE_DIRECTORIES ${RAPIDCHECK_INCLUDE_DIR})
endif()
