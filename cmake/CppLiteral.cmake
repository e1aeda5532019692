# relucent_cpp_literal(FILE VARIABLE): the bytes of a file between the quotes of C++ string literals, for scripts that
# write a source. As bytes, no text in them means anything to CMake or C++. VARIABLE_SIZE: how many.
function(relucent_cpp_literal file variable)
  file(READ ${file} bytes HEX)
  string(REGEX REPLACE "(..)" "\\\\x\\1" text "${bytes}")
  set(byte "(\\\\x..)?")
  string(REGEX MATCHALL "\\\\x..${byte}${byte}${byte}${byte}${byte}${byte}${byte}" lines "${text}")
  string(LENGTH "${bytes}" digits)
  math(EXPR size "${digits} / 2")
  string(REPLACE ";" "\"\n    \"" literal "${lines}")
  set(${variable} "${literal}" PARENT_SCOPE)
  set(${variable}_SIZE ${size} PARENT_SCOPE)
endfunction()
