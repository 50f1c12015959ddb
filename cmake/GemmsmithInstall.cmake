# What `cmake --install` lays down: the program, the library that people link, its headers, and the
# files by which CMake and pkg-config find them. `gemmsmith_product` builds what that needs: all but
# the learner, which is installed where it was built.
include(CMakePackageConfigHelpers)

add_custom_target(gemmsmith_product)
foreach(target IN ITEMS gemmsmith gemmsmith_shared gemmsmith_preload)
  if(TARGET ${target})
    add_dependencies(gemmsmith_product ${target})
  endif()
endforeach()

if(TARGET gemmsmith)
  install(TARGETS gemmsmith RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
# Found from the installed program and libraries: src/base/paths.h.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/data/plans DESTINATION ${CMAKE_INSTALL_DATADIR}/gemmsmith
        FILES_MATCHING PATTERN "*.plans")
if(TARGET gemmsmith_learner)
  install(TARGETS gemmsmith_learner LIBRARY DESTINATION lib/gemmsmith OPTIONAL)
endif()

if(TARGET gemmsmith_shared)
  install(TARGETS gemmsmith_shared EXPORT gemmsmithTargets
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gemmsmith
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

  if(TARGET gemmsmith_preload)
    install(TARGETS gemmsmith_preload LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  endif()

  set(gemmsmith_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/gemmsmith)
  install(EXPORT gemmsmithTargets NAMESPACE gemmsmith:: DESTINATION ${gemmsmith_package_dir})
  configure_package_config_file(
    ${PROJECT_SOURCE_DIR}/cmake/gemmsmithConfig.cmake.in
    ${PROJECT_BINARY_DIR}/package/gemmsmithConfig.cmake
    INSTALL_DESTINATION ${gemmsmith_package_dir} NO_SET_AND_CHECK_MACRO)
  # Before 1.0 a minor version may break the ABI.
  write_basic_package_version_file(
    ${PROJECT_BINARY_DIR}/package/gemmsmithConfigVersion.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/package/gemmsmithConfig.cmake
                ${PROJECT_BINARY_DIR}/package/gemmsmithConfigVersion.cmake
          DESTINATION ${gemmsmith_package_dir})

  configure_file(${PROJECT_SOURCE_DIR}/cmake/gemmsmith.pc.in
                 ${PROJECT_BINARY_DIR}/package/gemmsmith.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/package/gemmsmith.pc
          DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endif()
