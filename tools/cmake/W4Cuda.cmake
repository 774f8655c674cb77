# SPDX-License-Identifier: Apache-2.0
# AUTO is a true value to if(), so it is resolved once, here, into W4_CUDA.
include(CheckLanguage)
set(W4_CUDA OFF)
set(CMAKE_CUDA_STANDARD 17) # CMake 3.25 knows no CUDA 20, and the C++ standard would leak into it
if(NOT W4_ENABLE_CUDA STREQUAL "OFF")
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(W4_CUDA ON)
    set(CMAKE_CUDA_ARCHITECTURES 80-real 90a-real CACHE STRING "sm_80 and sm_90a unless said otherwise")
    enable_language(CUDA)
  elseif(W4_ENABLE_CUDA STREQUAL "ON")
    message(FATAL_ERROR "W4_ENABLE_CUDA=ON, but there is no CUDA compiler")
  endif()
endif()
if(NOT W4_CUDA)
  message(STATUS "w4check: no CUDA compiler (or W4_ENABLE_CUDA=OFF): building the CPU part only")
endif()
