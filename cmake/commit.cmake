# Run with each build: writes the commit of SOURCE into FILE, only if that changed, so that little is compiled again.
find_package(Git QUIET)
set(commit unknown) # an archive without git's folder
if(GIT_FOUND AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT_EXECUTABLE} describe --always --abbrev=12 --exclude=* --dirty
    WORKING_DIRECTORY ${SOURCE} OUTPUT_VARIABLE described OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE result ERROR_QUIET)
  if(result EQUAL 0)
    set(commit ${described})
  endif()
endif()
file(CONFIGURE OUTPUT ${FILE} CONTENT [[
#pragma once
#include <string_view>
namespace juno::cli {
inline constexpr std::string_view kCommit = "@commit@";  // "-dirty": with changes that are in no commit
}
]] @ONLY)
