# What inputs cost as they grow. The program replaces malloc, which sanitizers do as well.
if(RELUCENT_SANITIZE)
  return()
endif()
relucent_test(cost_growth LABELS property index_tools
              SOURCES growth/allocations.cpp
                      growth/corpora_growth.cpp
                      growth/evaluation_growth.cpp
                      growth/formats_growth.cpp
                      growth/growth_test.cpp
                      growth/index_growth.cpp
                      growth/instructions.cpp
                      growth/server_growth.cpp
                      growth/tokenizer_growth.cpp
              LIBRARIES relucent_commands LibArchive::LibArchive nlohmann_json::nlohmann_json)
# ./test.sh --long growth repeats the cases at larger sizes, ./test.sh --long differential what these compare with
# further seeds.
add_custom_target(differential_programs DEPENDS kernels_random_plans first_stage_paths first_stage_bm25 index_segments)
