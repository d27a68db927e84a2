# libingot_runtime.so: what a program that uses compiled models links with (include/ingot/ingot.h),
# and what an installation brings so that such a program finds it: headers, pkg-config,
# find_package(ingot).

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(INGOT_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/ingot)

# The library exports the functions of ingot.h and nothing else, and needs no C++ library: programs
# in C have none.
function(ingot_runtime_library)
  # An archive's members come only where something refers to them, so the C functions are named as
  # the library's own sources.
  file(GLOB functions CONFIGURE_DEPENDS src/host/c_*.cpp)
  add_library(ingot_runtime_shared SHARED ${functions})
  set_source_files_properties(src/host/c_versions.cpp PROPERTIES COMPILE_DEFINITIONS INGOT_VERSION="${PROJECT_VERSION}")
  target_link_libraries(ingot_runtime_shared PRIVATE ingot_runtime -static-libstdc++ -static-libgcc)
  find_library(INGOT_STATIC_ZLIB libz.a)
  if(INGOT_STATIC_ZLIB)  # else the shared one is needed where packages are opened
    target_link_libraries(ingot_runtime_shared PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,${INGOT_STATIC_ZLIB}>)
  endif()
  set(exports ${PROJECT_SOURCE_DIR}/cmake/runtime_library.map)
  target_link_options(ingot_runtime_shared PRIVATE LINKER:--version-script=${exports} LINKER:--exclude-libs,ALL)
  set_target_properties(ingot_runtime_shared PROPERTIES OUTPUT_NAME ingot_runtime EXPORT_NAME runtime VERSION ${PROJECT_VERSION}
                        SOVERSION ${PROJECT_VERSION_MAJOR} LINK_DEPENDS ${exports} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  set_source_files_properties(src/host/host_stub.cpp PROPERTIES COMPILE_DEFINITIONS INGOT_SOVERSION="${PROJECT_VERSION_MAJOR}")
  target_include_directories(ingot_runtime_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

  # libingot_host.so: the host functions and the operators behind them, for models that AOTInductor
  # made. The runtime loads it when it opens the first of them. Its own source refers to all of
  # them.
  add_library(ingot_host_shared SHARED src/host/torch/host_tensors.cpp)
  target_link_libraries(ingot_host_shared PRIVATE ingot_runner ingot_setup)
  set(host_exports ${PROJECT_SOURCE_DIR}/cmake/host_library.map)
  target_link_options(ingot_host_shared PRIVATE LINKER:--version-script=${host_exports} LINKER:--gc-sections)
  set_target_properties(ingot_host_shared PROPERTIES OUTPUT_NAME ingot_host VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
                        LINK_DEPENDS ${host_exports} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  install(TARGETS ingot_host_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)

  install(TARGETS ingot_runtime_shared EXPORT ingot-runtime LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT runtime)
  # session.hpp and error.hpp need no more than ingot.h does.
  foreach(header IN ITEMS ingot.h abi.h dlpack.h aoti.h aoti_host.h model.h session.hpp error.hpp)
    foreach(component IN ITEMS runtime compiler)
      install(FILES include/ingot/${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ingot COMPONENT ${component})
    endforeach()
  endforeach()

  install(EXPORT ingot-runtime NAMESPACE ingot:: DESTINATION ${INGOT_PACKAGE_DIR} COMPONENT runtime)
  # The package's own files come with either component.
  file(RELATIVE_PATH INGOT_PREFIX_FROM_PACKAGE /${INGOT_PACKAGE_DIR} /)
  configure_file(cmake/ingot-config.cmake.in ${PROJECT_BINARY_DIR}/ingot-config.cmake @ONLY)
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/ingot-config-version.cmake COMPATIBILITY SameMinorVersion)
  foreach(component IN ITEMS runtime compiler)
    install(FILES ${PROJECT_BINARY_DIR}/ingot-config.cmake ${PROJECT_BINARY_DIR}/ingot-config-version.cmake
            DESTINATION ${INGOT_PACKAGE_DIR} COMPONENT ${component})
  endforeach()

  # The prefix is the file's own place, so that an installation may be moved.
  configure_file(cmake/ingot.pc.in ${PROJECT_BINARY_DIR}/ingot.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ingot.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT runtime)

  # Both examples, built against an installation in a folder of its own, and run on a model. Not
  # with a sanitizer, whose runtime the programs of users do not have.
  if(INGOT_SANITIZE)
    return()
  endif()
  add_test(NAME install/examples
           COMMAND ${PROJECT_SOURCE_DIR}/scripts/test_install.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${CMAKE_INSTALL_LIBDIR})
endfunction()
