# cpack: a Debian package and a tarball of what cmake --install installs.
if(NOT JUNO_PORTABLE)
  # It would run on machines like this one, and end with an illegal instruction on others.
  set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_CURRENT_LIST_DIR}/JunoNoPackage.cmake)
endif()
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/packages)
set(CPACK_PACKAGE_FILE_NAME juno-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_PACKAGE_VENDOR "The Juno project")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "compiles low-bit GGUF weights at load time for fast CPU inference")
set(CPACK_PACKAGE_DESCRIPTION "Juno is a compiler that runs when a model loads inside llama.cpp: it rewrites eligible \
tensors into a layout made for its matrix kernels (Arm SME2), and leaves the rest to llama.cpp's own code. This package \
holds the program juno, llama.cpp ${JUNO_PIN_tag}'s programs with Juno inside, libraries and headers to embed both, and \
a toy model to try them.\n\nCompiled for ${JUNO_BASELINE} processors and later; Juno's kernels are chosen at run time.")
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "${CPACK_PACKAGE_VENDOR}")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64) # cpack would ask the machine that it runs on
else()
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE amd64)
endif()
if(NOT CMAKE_EXE_LINKER_FLAGS MATCHES -static)
  set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
