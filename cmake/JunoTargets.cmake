# One place for warnings and for the flags of each instruction set.
set(JUNO_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wnon-virtual-dtor -Woverloaded-virtual)
if(JUNO_WERROR)
  list(APPEND JUNO_WARNINGS -Werror)
endif()

# juno_options(target): what every target of ours gets.
function(juno_options target)
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${JUNO_WARNINGS}>)
  target_compile_features(${target} PUBLIC cxx_std_20)
endfunction()

# juno_isa(target flags... SOURCES files...): kernels of one instruction set, as objects of their own, so that no
# instruction leaks into code that runs on every machine. Link-time optimisation is off for the same reason.
function(juno_isa target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FLAGS;SOURCES")
  add_library(${target} OBJECT ${arg_SOURCES})
  juno_options(${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_compile_options(${target} PRIVATE ${arg_FLAGS} -fno-lto -fno-exceptions -fno-rtti)
  target_sources(juno PRIVATE $<TARGET_OBJECTS:${target}>)
endfunction()
