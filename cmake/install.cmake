# `cmake --install` puts the library, its public headers (lact/lact.h and what it includes), the program and a CMake package
# in place, so that a project can say find_package(lact) and link to lact::lact.
include(CMakePackageConfigHelpers)
set(LACT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/lact)

install(TARGETS lact EXPORT lactTargets)
install(TARGETS lact_program)
include(public_headers)
lact_public_headers(LACT_PUBLIC_HEADERS ${PROJECT_SOURCE_DIR})
foreach(header ${LACT_PUBLIC_HEADERS})
  get_filename_component(folder ${header} DIRECTORY)
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/${folder})
endforeach()
install(DIRECTORY configs/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lact/configs FILES_MATCHING PATTERN "*.json")
install(DIRECTORY bench/peers/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lact/peers FILES_MATCHING PATTERN "*.py")
install(DIRECTORY weights/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lact/weights OPTIONAL FILES_MATCHING
  PATTERN "*.json" PATTERN "*.safetensors" PATTERN "*.model")
# The numbers that `lact golden` checks.
install(DIRECTORY tests/golden/ DESTINATION ${CMAKE_INSTALL_DATADIR}/lact/golden FILES_MATCHING
  PATTERN "*.json" PATTERN "*.safetensors" PATTERN "*.pt" PATTERN "*.ply")
install(EXPORT lactTargets NAMESPACE lact:: DESTINATION ${LACT_CMAKE_DIR})
configure_package_config_file(cmake/lactConfig.cmake.in ${CMAKE_BINARY_DIR}/lactConfig.cmake
  INSTALL_DESTINATION ${LACT_CMAKE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/lactConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/lactConfig.cmake ${CMAKE_BINARY_DIR}/lactConfigVersion.cmake cmake/dependencies.cmake
  DESTINATION ${LACT_CMAKE_DIR})
