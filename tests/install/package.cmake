# Installs the library into a folder of its own, builds examples/cmake_project against it as a user would, and runs it.
set(work ${BUILD}/tests/install)
file(REMOVE_RECURSE ${work})
set(flags "")
if(SANITIZE)
  set(flags "-DCMAKE_CXX_FLAGS=${SANITIZE}")
endif()
foreach(command
    "${CMAKE_COMMAND};--install;${BUILD};--prefix;${work}/prefix"
    "${CMAKE_COMMAND};-G;Ninja;-S;${SOURCE}/examples/cmake_project;-B;${work}/build;-DCMAKE_PREFIX_PATH=${work}/prefix;${flags}"
    "${CMAKE_COMMAND};--build;${work}/build"
    "${work}/build/remember"
    "${CMAKE_COMMAND};-E;chdir;/;${work}/prefix/bin/lact;golden;--filter;unipc"
    "${work}/prefix/bin/lact;--version")
  execute_process(COMMAND ${command} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
endforeach()
if(NOT output MATCHES "lact [0-9]")
  message(FATAL_ERROR "the installed program did not print its version: ${output}")
endif()
