# cmake -DNM=<nm> -DLIBRARY=<libgemmsmith.so> -DGOLDEN=<file> -P exported_symbols.cmake
# The shared library's exports are exactly the golden list: a symbol more is a promise nobody made, a
# symbol less breaks programs.
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE output
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[^\n]+" lines "${output}")
set(symbols "")
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^[0-9a-f]+ " "" line "${line}")
  list(APPEND symbols "${line}")
endforeach()
list(SORT symbols)
list(JOIN symbols "\n" actual)
file(READ ${GOLDEN} expected)
string(STRIP "${expected}" expected)
if(NOT actual STREQUAL expected)
  message(FATAL_ERROR "exports of ${LIBRARY}:\n${actual}\nexpected (${GOLDEN}):\n${expected}")
endif()
