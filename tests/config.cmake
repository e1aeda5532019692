# Tests of the room `config`.
relucent_test(config_tests LABELS unit fault config
              SOURCES unit/config_documentation.cpp
                      unit/config_profiles.cpp
                      unit/config_values.cpp
                      fault/config_mistakes.cpp
              LIBRARIES relucent_config)
