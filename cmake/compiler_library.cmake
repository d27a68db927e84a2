# libingot: all of Ingot for C++ programs, as a shared library and as an archive, and what an
# installation brings so that such a program finds it: the component `compiler` of
# find_package(ingot), and pkg-config. The C interface of libingot_runtime.so is in it.

# ingot_add_archives(LIST TARGET): appends the archives that the static library TARGET needs and is,
# those of LLVM among them, each once.
function(ingot_add_archives list target)
  get_target_property(type ${target} TYPE)
  if(NOT type MATCHES "^(STATIC|INTERFACE)_LIBRARY$")
    return()
  endif()
  if(type STREQUAL STATIC_LIBRARY)
    if(${target} IN_LIST ${list})
      return()
    endif()
    list(APPEND ${list} ${target})
  endif()
  get_target_property(needs ${target} INTERFACE_LINK_LIBRARIES)
  foreach(need IN LISTS needs)
    string(REGEX REPLACE "^\\$<LINK_ONLY:(.*)>$" "\\1" need "${need}")
    if(TARGET "${need}")
      ingot_add_archives(${list} ${need})
    endif()
  endforeach()
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()

# The target ingot_static: lib/libingot.a, the archives of LIST as one. LLVM and lld are in it, as
# they are in the shared library: who links it needs none of their packages.
function(ingot_static_library archives)
  set(archive ${PROJECT_BINARY_DIR}/lib/libingot.a)
  set(script "CREATE ${archive}\n")
  foreach(target IN LISTS archives)
    string(APPEND script "ADDLIB $<TARGET_FILE:${target}>\n")
  endforeach()
  set(script_file ${PROJECT_BINARY_DIR}/libingot.mri)
  file(GENERATE OUTPUT ${script_file} CONTENT "${script}SAVE\nEND\n")
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_AR} -M < ${script_file}
    DEPENDS ${archives} ${script_file}
    COMMENT "Archiving libingot.a"
    VERBATIM)
  add_custom_target(ingot_static ALL DEPENDS ${archive})
  install(FILES ${archive} DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
endfunction()

# The target ingot_shared: lib/libingot.so, with all of the archives that are Ingot's own and what
# they use of LLVM, whose names it keeps to itself.
function(ingot_shared_library archives)
  list(FILTER archives INCLUDE REGEX "^ingot_")
  list(REMOVE_ITEM archives ingot_setup ingot_llvm_stubs)
  list(JOIN archives "," whole)
  # Nothing refers to what sets a process up: it is the library's own source.
  add_library(ingot_shared SHARED src/setup/setup.cpp)
  target_link_libraries(ingot_shared PRIVATE ingot_compiler ingot_functions)
  set(exports ${PROJECT_SOURCE_DIR}/cmake/compiler_library.map)
  target_link_options(ingot_shared PRIVATE LINKER:--version-script=${exports})
  target_compile_features(ingot_shared INTERFACE cxx_std_20)
  target_include_directories(ingot_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(ingot_shared PROPERTIES
    OUTPUT_NAME ingot EXPORT_NAME compiler LINK_LIBRARY_OVERRIDE "WHOLE_ARCHIVE,${whole}" LINK_DEPENDS ${exports}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}  # of C++, which changes with the minor one
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  install(TARGETS ingot_shared EXPORT ingot-compiler LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT compiler)
endfunction()

function(ingot_compiler_library)
  if(INGOT_SANITIZE)  # whose runtime the programs of users do not have
    return()
  endif()
  set(archives "")
  foreach(target IN ITEMS ingot_compiler ingot_functions ingot_setup)
    ingot_add_archives(archives ${target})
  endforeach()
  ingot_static_library("${archives}")
  ingot_shared_library("${archives}")

  # The headers of C are the component runtime's. Those of the ops are made by the build.
  foreach(folder IN ITEMS ${PROJECT_SOURCE_DIR}/include/ingot ${PROJECT_BINARY_DIR}/include/ingot)
    install(DIRECTORY ${folder} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT compiler OPTIONAL FILES_MATCHING PATTERN "*.hpp")
  endforeach()
  install(EXPORT ingot-compiler NAMESPACE ingot:: DESTINATION ${INGOT_PACKAGE_DIR} COMPONENT compiler)
  # A program that is linked statically lets models find the host's functions in it, as `ingot`
  # does.
  install(FILES cmake/host_functions.list DESTINATION ${INGOT_PACKAGE_DIR} COMPONENT compiler)
  configure_file(cmake/ingot-compiler.pc.in ${PROJECT_BINARY_DIR}/ingot-compiler.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/ingot-compiler.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT compiler)

  # A project that has nothing but the installation.
  add_test(NAME install/project
           COMMAND ${PROJECT_SOURCE_DIR}/scripts/test_install_project.sh ${CMAKE_COMMAND} ${PROJECT_BINARY_DIR} ${CMAKE_INSTALL_LIBDIR})
endfunction()
