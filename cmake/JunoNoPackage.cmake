# Read by cpack before it packs a build that is not JUNO_PORTABLE. (The space in front keeps the message on one line.)
message(FATAL_ERROR " This build is for the machine that made it; packages are made from: cmake --preset package")
