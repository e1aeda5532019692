# Tests of the room `base`.
relucent_test(base_tests LABELS unit fault base
              SOURCES base/file_test.cpp base/text_test.cpp base/utf8_test.cpp
              LIBRARIES relucent_base)
