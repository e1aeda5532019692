# Tests of the room `server`.
relucent_test(server_tests LABELS unit property threads server
              SOURCES server/access_log_unit.cpp
                      server/answer_property.cpp
                      server/parser_unit.cpp
                      server/queue_unit.cpp
                      server/requests_unit.cpp
                      server/service_threads_property.cpp
                      server/trace_unit.cpp
              LIBRARIES relucent_server)

relucent_test(server_memory_tests LABELS fault server SOURCES server/memory_fault.cpp support/failing_memory.cpp
  LIBRARIES relucent_server)

# The real server over the bundled checkpoint and the demo collection. By hand: --fuzz 100000.
if(TARGET relucent_program)
  foreach(name serve serve_attacks serve_faults fields indexes updates shards recipes replicas page traces surroundings
               openapi operations)
    # The last two also run schemathesis and Helm where RELUCENT_PYTHON has them.
    set(python python3)
    if(name MATCHES "openapi|operations")
      set(python ${RELUCENT_PYTHON})
    endif()
    add_test(NAME server_${name}
             COMMAND ${python} ${CMAKE_CURRENT_SOURCE_DIR}/server/${name}_test.py $<TARGET_FILE:relucent_program>
             WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    # With sanitizers hostile requests alone: what the others compute is checked there without a server.
    set(labels cli fault server)
    if(NOT name STREQUAL serve_faults)
      list(APPEND labels heavy)
    endif()
    set_tests_properties(server_${name} PROPERTIES LABELS "${labels}" TIMEOUT 900 SKIP_RETURN_CODE 77)
    relucent_without_gpu(server_${name} "cli")
    if(RELUCENT_SANITIZE)
      set_tests_properties(server_${name} PROPERTIES TIMEOUT 2400)
    endif()
  endforeach()

  # A sample; ./test.sh --long load runs an hour.
  add_test(NAME server_soak
           COMMAND python3 ${CMAKE_CURRENT_SOURCE_DIR}/server/soak.py $<TARGET_FILE:relucent_program> --seed 1
                   --minutes 0.1 --replicas 2 --queries 3 --hostile-every 10 --reload-every 1 --kill-every 2
                   --calibration 1
           WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(server_soak PROPERTIES LABELS "fault;server;heavy" TIMEOUT 600)
  relucent_without_gpu(server_soak "cli")
endif()
