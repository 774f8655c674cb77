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

# w4_add_cuda_plugin(cuda SOURCES ...): as w4_add_plugin, with .cu files. The runtime is linked statically, so that the
# library loads where there is no CUDA; a*b+c is fused only where the source says so.
function(w4_add_cuda_plugin name)
  w4_add_plugin(${name} ${ARGN})
  set_target_properties(w4_kernels_${name} PROPERTIES CUDA_RUNTIME_LIBRARY Static CUDA_VISIBILITY_PRESET hidden)
  target_compile_options(
    w4_kernels_${name} PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-fmad=false;-Xcompiler=-Wall,-Wextra>)
endfunction()
