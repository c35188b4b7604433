#!/bin/sh
# check_headers.sh -- each public header alone in C11 and C++17, by cuda.h too
. tests/lib.sh

warn='-Wall -Wextra -Wpedantic -Werror -fsyntax-only -Iinclude'
cxx=$(command -v "${CXX:-c++}" || command -v g++ || command -v clang++)
cuda=
for dir in "$TC/include" /usr/local/cuda/include; do
    [ -z "$cuda" ] && [ -f "$dir/cuda.h" ] && cuda=$dir
done

# compile NAME TEXT [FLAG]: both languages
compile()
{
    printf '%b' "$2" > "$tmp/h.c"
    cp "$tmp/h.c" "$tmp/h.cc"
    case_is "$1_as_c11" "does not compile" $CC -std=c11 $warn $3 "$tmp/h.c"
    if [ -n "$cxx" ]; then
        case_is "$1_as_c++17" "does not compile" \
            "$cxx" -std=c++17 $warn $3 "$tmp/h.cc"
    else
        skip "$1_as_c++17" "no C++ compiler; apt-get install g++"
    fi
}

for h in include/fgs/*.h; do
    name=$(basename "$h") own="#include <fgs/$(basename "$h")>\n"
    compile "$name" "$own$own"
    if [ -n "$cuda" ]; then
        compile "$name before cuda.h" "$own#include <cuda.h>\n" \
            "-isystem$cuda"
        compile "$name after cuda.h" "#include <cuda.h>\n$own" \
            "-isystem$cuda"
    else
        skip "$name with cuda.h" "no cuda.h; make toolchain gets one"
    fi
done
end
