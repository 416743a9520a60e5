# llama.cpp at the pinned revision, as scripts/setup left it. Not one of its lines is changed: options from outside only.
set(JUNO_LLAMA_DIR ${PROJECT_SOURCE_DIR}/third_party/llama.cpp CACHE PATH "llama.cpp v0.4.0 source tree")
if(NOT EXISTS ${JUNO_LLAMA_DIR}/ggml/src/ggml-cpu/traits.h)
  message(FATAL_ERROR "No llama.cpp source in ${JUNO_LLAMA_DIR}: run scripts/setup, or pass -DJUNO_LLAMA_DIR=")
endif()
file(STRINGS ${PROJECT_SOURCE_DIR}/cmake/llama.cpp.pin _pin REGEX "^(tag|ggml)=")
foreach(_line IN LISTS _pin)
  string(REGEX MATCH "^([a-z]+)=(.*)$" _ "${_line}")
  set(JUNO_PIN_${CMAKE_MATCH_1} ${CMAKE_MATCH_2})
endforeach()
file(STRINGS ${JUNO_LLAMA_DIR}/ggml/CMakeLists.txt _ggml_version REGEX "^set\\(GGML_VERSION_(MAJOR|MINOR|PATCH) [0-9]+\\)")
string(REGEX REPLACE "[^0-9;]" "" _ggml_version "${_ggml_version}")
string(REPLACE ";" "." _ggml_version "${_ggml_version}")
if(NOT _ggml_version STREQUAL JUNO_PIN_ggml)
  message(FATAL_ERROR "${JUNO_LLAMA_DIR} holds ggml ${_ggml_version}; Juno leans on private headers of ggml ${JUNO_PIN_ggml} (llama.cpp ${JUNO_PIN_tag})")
endif()

set(BUILD_SHARED_LIBS OFF CACHE BOOL "" FORCE)
foreach(_off GGML_OPENMP GGML_METAL GGML_BLAS GGML_ACCELERATE LLAMA_OPENSSL LLAMA_BUILD_UI LLAMA_USE_PREBUILT_UI
             LLAMA_BUILD_TESTS LLAMA_BUILD_EXAMPLES LLAMA_BUILD_APP LLAMA_TOOLS_INSTALL)
  set(${_off} OFF CACHE BOOL "")
endforeach()
set(LLAMA_BUILD_COMMON ON CACHE BOOL "")
set(LLAMA_BUILD_TOOLS ON CACHE BOOL "")
set(LLAMA_BUILD_SERVER ON CACHE BOOL "")

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE_PROGRAM})
endif()

# Assertions name their file. What is installed must not tell where it was built; ccache, told CCACHE_BASEDIR as scripts/
# do, shortens the names itself, and would find nothing again in another clone if it were told these.
if(NOT CCACHE_PROGRAM)
  foreach(_root "${PROJECT_SOURCE_DIR}/=" "${JUNO_LLAMA_DIR}/=llama.cpp/")
    add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-fmacro-prefix-map=${_root}>")
  endforeach()
endif()

if(JUNO_LLAMA_PROGRAMS)
  set(JUNO_PROGRAMS llama-server llama-cli llama-bench llama-perplexity llama-quantize) # those that get Juno linked in
  add_subdirectory(${JUNO_LLAMA_DIR} ${PROJECT_BINARY_DIR}/llama.cpp EXCLUDE_FROM_ALL SYSTEM)
else()
  add_subdirectory(${JUNO_LLAMA_DIR}/ggml ${PROJECT_BINARY_DIR}/ggml EXCLUDE_FROM_ALL SYSTEM)
endif()
