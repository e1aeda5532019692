# Tests of the room `config`.
relucent_test(config_tests LABELS unit fault config
              SOURCES config/documentation_unit.cpp
                      config/profiles_unit.cpp
                      config/schema_unit.cpp
                      config/stages_unit.cpp
                      config/values_unit.cpp
                      config/mistakes_fault.cpp
              LIBRARIES relucent_config)
