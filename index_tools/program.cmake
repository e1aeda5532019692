# The program `relucent`.
add_executable(relucent_program program/main.cpp)
relucent_target(relucent_program)
set_target_properties(relucent_program PROPERTIES OUTPUT_NAME relucent)
target_link_libraries(relucent_program PRIVATE relucent_index_tools)
