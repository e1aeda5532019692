# Tests of the second stage in the room `plugin`.
relucent_test(rescoring_combine_tests LABELS unit property plugin
              SOURCES unit/rescoring_combine.cpp
                      property/rescoring_combine.cpp
              LIBRARIES relucent_plugin)
