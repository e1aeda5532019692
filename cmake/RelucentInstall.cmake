# What `cmake --install` lays down: library, headers, program, bundled model, profiles, demo collection, CMake package,
# pkg-config file, licence, documentation, manual page and completions.
include(CMakePackageConfigHelpers)

set(data ${CMAKE_INSTALL_DATADIR}/relucent)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/Relucent)

# Everything that must be built before; demo.sh builds it. The CUDA module, which takes longer, is installed if it was
# built.
add_custom_target(relucent_installed DEPENDS relucent)
if(RELUCENT_TOOLS)
  add_dependencies(relucent_installed relucent_program)
endif()
install(CODE "
  if(NOT EXISTS \"$<TARGET_FILE:relucent>\")
    message(FATAL_ERROR \"$<TARGET_FILE:relucent> has not been built. Build what is installed first:\\n\"
            \"  cmake --build ${PROJECT_BINARY_DIR} --target relucent_installed\")
  endif()")
install(TARGETS relucent relucent_lucenepp EXPORT RelucentTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET relucent_cuda)
  install(TARGETS relucent_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
endif()
if(RELUCENT_TOOLS)
  install(TARGETS relucent_program RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  if(NOT CMAKE_CROSSCOMPILING)
    install(FILES ${PROJECT_BINARY_DIR}/share/man/man1/relucent.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    foreach(folder bash-completion/completions zsh/site-functions fish/vendor_completions.d)
      install(DIRECTORY ${PROJECT_BINARY_DIR}/share/${folder}/ DESTINATION ${CMAKE_INSTALL_DATADIR}/${folder})
    endforeach()
  endif()
endif()
foreach(room base kernels model config plugin)
  install(DIRECTORY ${room}/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
endforeach()
install(DIRECTORY model/relucent-minilm-l6-w4 DESTINATION ${data}/model)
install(DIRECTORY config/ DESTINATION ${data}/config FILES_MATCHING PATTERN "*.toml" PATTERN "include" EXCLUDE)
install(DIRECTORY index_tools/demo/ DESTINATION ${data}/demo)
# Laid out as in the sources, so that the pages find each other.
set(documentation ${CMAKE_INSTALL_DATADIR}/doc/relucent)
install(FILES LICENSE NOTICE README.md CHANGELOG.md CONTRIBUTING.md packages.txt DESTINATION ${documentation})
foreach(folder index_tools/demo model/relucent-minilm-l6-w4)
  install(FILES ${folder}/README.md DESTINATION ${documentation}/${folder})
endforeach()
install(DIRECTORY docs DESTINATION ${documentation} PATTERN "*.dox" EXCLUDE)

install(EXPORT RelucentTargets NAMESPACE Relucent:: DESTINATION ${package})
# With it, Relucent_DIR may also name the build folder.
export(EXPORT RelucentTargets NAMESPACE Relucent:: FILE ${PROJECT_BINARY_DIR}/RelucentTargets.cmake)
configure_package_config_file(cmake/RelucentConfig.cmake.in RelucentConfig.cmake INSTALL_DESTINATION ${package})
write_basic_package_version_file(RelucentConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RelucentConfig.cmake ${PROJECT_BINARY_DIR}/RelucentConfigVersion.cmake
        DESTINATION ${package})

# Relative, so that an installed tree may be moved.
file(RELATIVE_PATH RELUCENT_PREFIX_FROM_PKGCONFIG /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
set(RELUCENT_PKGCONFIG_RPATH "-Wl,-rpath,\${libdir} ")
if(CMAKE_SKIP_INSTALL_RPATH)  # as distributions do, whose libraries the linker finds anyway
  set(RELUCENT_PKGCONFIG_RPATH "")
endif()
configure_file(cmake/relucent.pc.in relucent.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/relucent.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
