# cmake -DOUT=<file.cpp> -DROOT=<kernels folder> -DFILES=<a|b|c> -P EmbedKernels.cmake
# Writes a C++ file that holds each kernel text as a raw string: the binary carries its sources.
string(REPLACE "|" ";" FILES "${FILES}")
set(entries "")
foreach(file IN LISTS FILES)
  file(READ ${ROOT}/${file} text)
  # 12000-character pieces: C++ only promises 65536 characters in a literal, and adjacent raw
  # strings concatenate after translation, so pieces keep each token small; CMake's ';' survives
  # because the text is written with file(APPEND), never as a list.
  string(LENGTH "${text}" length)
  set(offset 0)
  set(pieces "")
  while(offset LESS length)
    string(SUBSTRING "${text}" ${offset} 12000 piece)
    string(APPEND pieces "R\"gemmsmith(${piece})gemmsmith\"\n")
    math(EXPR offset "${offset} + 12000")
  endwhile()
  string(APPEND entries "    {\"${file}\", ${pieces}},\n")
endforeach()
file(WRITE ${OUT}.tmp "// Generated from kernels/ by cmake/EmbedKernels.cmake.\n"
  "#include \"compile/embedded_kernels.h\"\n\n"
  "namespace gemmsmith::compile {\n"
  "const std::vector<KernelText>& embedded_kernels() {\n"
  "  static const std::vector<KernelText> texts = {\n${entries}  };\n"
  "  return texts;\n}\n}  // namespace gemmsmith::compile\n")
file(COPY_FILE ${OUT}.tmp ${OUT} ONLY_IF_DIFFERENT)
