# Header-only libraries from the system: the same headers serve every target architecture.
find_path(JUNO_CLI11_INCLUDE CLI/CLI.hpp REQUIRED)
find_path(JUNO_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
find_path(JUNO_FMT_INCLUDE fmt/core.h REQUIRED)
foreach(_lib CLI11 JSON FMT)
  string(TOLOWER juno_${_lib} _target)
  add_library(${_target} INTERFACE)
  get_filename_component(_dir ${JUNO_${_lib}_INCLUDE} REALPATH)
  if(NOT _dir STREQUAL /usr/include) # already searched; naming it again would reorder the system's own headers
    target_include_directories(${_target} SYSTEM INTERFACE ${_dir})
  endif()
endforeach()
target_compile_definitions(juno_fmt INTERFACE FMT_HEADER_ONLY)
