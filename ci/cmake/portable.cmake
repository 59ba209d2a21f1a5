# One binary for every glibc from 2.28 on, with all other libraries static: the preset portable, by ci/release.sh.
# In CLUSTERBENCH_PORTABLE_ROOT, made by ci/portable/libraries.sh, are include/ and lib/ of what Debian has no static
# library of, and in glibc/ the start file and the stubs of glibc 2.28: the linker binds the versions of symbols that they name.

set(portable ${CLUSTERBENCH_PORTABLE_ROOT})
if(NOT EXISTS ${portable}/made)
  message(FATAL_ERROR "${portable} has no libraries: run ci/release.sh, which makes them")
endif()

function(cb_static target file)
  add_library(${target} STATIC IMPORTED GLOBAL)
  set_target_properties(${target} PROPERTIES IMPORTED_LOCATION ${file} INTERFACE_INCLUDE_DIRECTORIES ${portable}/include)
endfunction()
# For another machine Debian's libraries of that machine are unpacked in debian/, with the headers that differ between machines.
function(cb_static_of_debian target library)
  if(CMAKE_CROSSCOMPILING)
    set(CLUSTERBENCH_STATIC_${library} ${portable}/debian/usr/lib/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu/lib${library}.a)
  else()
    find_library(CLUSTERBENCH_STATIC_${library} lib${library}.a REQUIRED)
  endif()
  cb_static(${target} ${CLUSTERBENCH_STATIC_${library}})
endfunction()
if(CMAKE_CROSSCOMPILING)
  set(of_machine ${portable}/debian/usr/include/${CMAKE_SYSTEM_PROCESSOR}-linux-gnu)
  include_directories(SYSTEM ${of_machine} ${of_machine}/openblas-pthread)
endif()
cb_static(fmt::fmt ${portable}/lib/libfmt.a)
cb_static(PkgConfig::SIMDJSON ${portable}/lib/libsimdjson.a)
cb_static(PkgConfig::HWLOC ${portable}/lib/libhwloc.a)
cb_static_of_debian(pugixml::pugixml pugixml)
cb_static_of_debian(PkgConfig::LIBURING uring)
cb_static_of_debian(PkgConfig::BLKID blkid)
cb_static_of_debian(ZLIB::ZLIB z)
cb_static_of_debian(OpenSSL::Crypto crypto)

# Everything through the GOT: a copy of `environ` in the program would not follow libc's own after setenv, since stubs do not
# say that its three names are one variable. With the second option calls within a file are inlined as without -fPIC.
add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:-fPIC> $<$<COMPILE_LANGUAGE:C,CXX>:-fno-semantic-interposition>
                    $<$<COMPILE_LANGUAGE:C,CXX>:-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=>)

add_library(cb_compat STATIC ${PROJECT_SOURCE_DIR}/ci/portable/compat.c)
foreach(file crti.o crtbeginS.o crtendS.o crtn.o libstdc++.a libgcc.a libgcc_eh.a)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${file} OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
  string(MAKE_C_IDENTIFIER "of_gcc_${file}" key)
  set(${key} ${path})
endforeach()
# In quotes: the checkout may lie in a folder with blanks.
set(in_glibc "\"${portable}/glibc/")
# The loader of aarch64 has the word that guards stacks; that of x86_64 keeps it in a register.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=ld-linux-aarch64.so.1 OUTPUT_VARIABLE loader
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
string(JOIN " " CMAKE_CXX_LINK_EXECUTABLE
       "<CMAKE_CXX_COMPILER> -pie -nostdlib <LINK_FLAGS> -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,-z,now -Wl,-z,relro"
       "-Wl,-Map,<TARGET>.map ${in_glibc}Scrt1.o\" ${of_gcc_crti_o} ${of_gcc_crtbeginS_o} <OBJECTS> -o <TARGET>"
       "-Wl,--start-group <LINK_LIBRARIES> libcb_compat.a ${of_gcc_libstdc___a} ${of_gcc_libgcc_a}"
       "${of_gcc_libgcc_eh_a} -Wl,--end-group -Wl,--as-needed ${in_glibc}libc.so.6\" ${in_glibc}libm.so.6\""
       "${in_glibc}libpthread.so.0\" ${in_glibc}libdl.so.2\" ${in_glibc}librt.so.1\" ${in_glibc}libc_nonshared.a\" ${loader}"
       "${of_gcc_crtendS_o} ${of_gcc_crtn_o}")
set(CMAKE_SKIP_RPATH ON)
set(CMAKE_DL_LIBS "") # the stub has it
