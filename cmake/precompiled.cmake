# Loading the precompiled header takes about 4 s; a source that never sees LibTorch compiles in one without it.

# lact_includes_torch(<file> <result>): whether a file includes LibTorch, itself or through headers of ours.
function(lact_includes_torch file result)
  get_property(known GLOBAL PROPERTY "LACT_TORCH_${file}")
  if("${known}" STREQUAL "")
    set(known FALSE)
    set_property(GLOBAL PROPERTY "LACT_TORCH_${file}" FALSE)
    file(STRINGS ${file} lines REGEX "^#include ")
    foreach(line ${lines})
      if(line MATCHES "<(ATen|torch|c10)/")
        set(known TRUE)
      elseif(line MATCHES "\"([a-z_/0-9.]+)\"")
        foreach(folder ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/tests)
          if(NOT known AND EXISTS ${folder}/${CMAKE_MATCH_1})
            lact_includes_torch(${folder}/${CMAKE_MATCH_1} known)
          endif()
        endforeach()
      endif()
      if(known)
        break()
      endif()
    endforeach()
    set_property(GLOBAL PROPERTY "LACT_TORCH_${file}" ${known})
  endif()
  set(${result} ${known} PARENT_SCOPE)
endfunction()

# Leaves the precompiled header out of the sources among these that do not need it.
function(lact_precompile_where_useful)
  foreach(source ${ARGN})
    lact_includes_torch(${source} torch)
    if(NOT torch)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()

# Several sources at a time become one, so that LibTorch's headers are loaded and its templates made once for all of them:
# the whole build takes a third of the time, a change to one source a little longer.
option(LACT_UNITY "Compile several sources together" ON)
function(lact_compile_together target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LACT_UNITY} UNITY_BUILD_BATCH_SIZE 8)
endfunction()
