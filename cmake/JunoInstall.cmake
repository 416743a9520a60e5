# cmake --install: a tree that works wherever it is moved. llama.cpp's programs and libraries get folders of their own,
# since a system may have others of the same name.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS juno-cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(TARGETS random-model ${JUNO_PROGRAMS} RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/juno)
install(FILES ${PROJECT_SOURCE_DIR}/models/juno-mini.gguf DESTINATION ${CMAKE_INSTALL_DATADIR}/juno)

# --- manual page and shell completions, made by apps/cli ---
set(texts ${PROJECT_BINARY_DIR}/apps/cli)
install(FILES ${texts}/juno.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${texts}/juno.bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME juno)
install(FILES ${texts}/juno.zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _juno)
install(FILES ${texts}/juno.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)

# --- libraries: juno::juno, and juno::llama for programs that run models ---

# llama.cpp's targets name their headers' place in the source tree, which means nothing elsewhere.
foreach(target llama ggml ggml-base ggml-cpu)
  get_target_property(folders ${target} INTERFACE_INCLUDE_DIRECTORIES)
  if(folders)
    set_target_properties(${target} PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "$<BUILD_INTERFACE:${folders}>")
  endif()
endforeach()
set_target_properties(llama ggml PROPERTIES PUBLIC_HEADER "") # its backends' too, most of which are not built
set_target_properties(llama PROPERTIES EXPORT_NAME libllama)
set_target_properties(juno_llama PROPERTIES EXPORT_NAME llama)

set(headers ${CMAKE_INSTALL_INCLUDEDIR}/juno)
target_include_directories(juno INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_include_directories(juno_llama INTERFACE $<INSTALL_INTERFACE:${headers}/llama.cpp>)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/juno/ ${PROJECT_BINARY_DIR}/include/juno/ DESTINATION ${headers}
  FILES_MATCHING PATTERN *.h)
foreach(header ggml ggml-alloc ggml-backend ggml-cpp ggml-cpu ggml-opt gguf)
  install(FILES ${JUNO_LLAMA_DIR}/ggml/include/${header}.h DESTINATION ${headers}/llama.cpp)
endforeach()
install(FILES ${JUNO_LLAMA_DIR}/include/llama.h ${JUNO_LLAMA_DIR}/include/llama-cpp.h DESTINATION ${headers}/llama.cpp)

set(config ${CMAKE_INSTALL_LIBDIR}/cmake/juno)
install(TARGETS juno juno_ggml juno_llama llama ggml ggml-base ggml-cpu EXPORT junoTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/juno)
install(EXPORT junoTargets NAMESPACE juno:: DESTINATION ${config})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/junoConfig.cmake.in ${PROJECT_BINARY_DIR}/junoConfig.cmake
  INSTALL_DESTINATION ${config} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/junoConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/junoConfig.cmake ${PROJECT_BINARY_DIR}/junoConfigVersion.cmake DESTINATION ${config})

# --- documents ---

set(documents ${CMAKE_INSTALL_DATADIR}/doc/juno)
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${documents})
install(FILES ${PROJECT_SOURCE_DIR}/docs/json.md DESTINATION ${documents}/docs) # where README links to
install(DIRECTORY ${PROJECT_SOURCE_DIR}/examples DESTINATION ${documents})

# Juno's licence, then those of all that is compiled in, each under the path of its source. What has no file of its own
# in llama.cpp's tree is in the public domain.
set(text "Juno ${PROJECT_VERSION}, and what is compiled into it\n")
file(GLOB vendored ${JUNO_LLAMA_DIR}/licenses/LICENSE-* ${JUNO_LLAMA_DIR}/vendor/*/LICENSE*
  ${JUNO_LLAMA_DIR}/vendor/*/*/LICENSE*)
set(debian libcli11-dev libfmt-dev nlohmann-json3-dev)
if(CMAKE_EXE_LINKER_FLAGS MATCHES -static)
  list(APPEND debian libc6-dev-arm64-cross)
endif()
list(TRANSFORM debian REPLACE "(.+)" "/usr/share/doc/\\1/copyright")
foreach(file ${PROJECT_SOURCE_DIR}/LICENSE ${JUNO_LLAMA_DIR}/LICENSE ${vendored} ${debian})
  if(EXISTS ${file})
    file(READ ${file} notice)
    string(REPLACE "${JUNO_LLAMA_DIR}/" "llama.cpp/" title ${file})
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "juno/" title ${title})
    string(APPEND text "\n\n=== ${title} ===\n\n${notice}")
  endif()
endforeach()
file(WRITE ${PROJECT_BINARY_DIR}/copyright "${text}")
install(FILES ${PROJECT_BINARY_DIR}/copyright DESTINATION ${documents})
