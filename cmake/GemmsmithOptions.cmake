# Build options and the flags that every target of ours gets.
option(GEMMSMITH_BUILD_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(GEMMSMITH_BUILD_EXAMPLES "Build the examples" ${PROJECT_IS_TOP_LEVEL})
option(GEMMSMITH_WERROR "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(GEMMSMITH_BUILD_FUZZERS "Build the fuzz targets (Clang's libFuzzer; see scripts/fuzz.sh)" OFF)
option(GEMMSMITH_LEARNER "Build the learner of gemmsmith train where libtorch is installed" ON)
option(GEMMSMITH_BUILD_TORCH "Build the operators for PyTorch (needs a Python that has torch)" OFF)
set(GEMMSMITH_SANITIZE "" CACHE STRING "Sanitizers for -fsanitize=, for example address,undefined")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_STANDARD 99)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

add_library(gemmsmith_flags INTERFACE)
target_compile_options(gemmsmith_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wconversion>)
# GCC 12 warns wrongly about std::string's own operator+ (GCC bug 105651).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(gemmsmith_flags INTERFACE -Wno-restrict)
endif()
if(GEMMSMITH_WERROR)
  target_compile_options(gemmsmith_flags INTERFACE -Werror)
endif()
if(GEMMSMITH_SANITIZE)
  target_compile_options(gemmsmith_flags INTERFACE -fsanitize=${GEMMSMITH_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(gemmsmith_flags INTERFACE -fsanitize=${GEMMSMITH_SANITIZE})
endif()

# gemmsmith_layer(<folder> SOURCES <files...> [LINK <targets...>])
# One static library per folder of src/. LINK names lower ranks and packages only; the include-layer
# test holds the #includes to the same order.
function(gemmsmith_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(gemmsmith_${name} STATIC ${ARG_SOURCES})
  target_include_directories(gemmsmith_${name} PUBLIC ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(gemmsmith_${name} PUBLIC ${ARG_LINK} PRIVATE gemmsmith_flags)
endfunction()
