# The program `relucent`.
add_executable(relucent_program program/main.cpp)
relucent_target(relucent_program)
set_target_properties(relucent_program PROPERTIES OUTPUT_NAME relucent)
target_link_libraries(relucent_program PRIVATE relucent_index_tools)

# The manual page is what the program says of itself.
if(NOT CMAKE_CROSSCOMPILING)
  set(man_page ${PROJECT_BINARY_DIR}/share/man/man1/relucent.1)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/man/man1)
  add_custom_command(TARGET relucent_program POST_BUILD COMMAND relucent_program --man > ${man_page}
                     BYPRODUCTS ${man_page} VERBATIM)
endif()
