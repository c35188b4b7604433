#!/bin/sh
# check_install.sh -- install, build against it, uninstall, nothing is left
. tests/lib.sh

# The job server of the make that runs this is not ours.
MAKEFLAGS=$(printf '%s' "$MAKEFLAGS" |
    sed 's/--jobserver[^ ]*//g; s/-j[0-9]*//g')
export MAKEFLAGS
root=$tmp/root prefix=/opt/here
cp "$B/examples/readme.c" "$tmp/example.c"

# try DESTDIR PREFIX
try()
{
    at=$1$2
    case_is "install_into_$3" "make install" \
        $MAKE -s BUILD="$B" DESTDIR="$1" PREFIX="$2" install
    for f in include/fgs/fgs.h include/fgs/fgs_sim.h lib/libfgs.a \
        lib/libfgs.so "lib/libfgs.so.${VERSION%.*}" "lib/libfgs.so.$VERSION" \
        bin/fgs lib/pkgconfig/fgs.pc lib/cmake/fgs/fgsConfig.cmake \
        lib/cmake/fgs/fgsConfigVersion.cmake; do
        [ -e "$at/$f" ] || not_ok "files_of_$3" "$f is not there"
    done
    [ "$("$at/bin/fgs" --version)" = "fgs $VERSION" ] && ok "tool_of_$3" ||
        not_ok "tool_of_$3" "$("$at/bin/fgs" --version 2>&1)"
    ! grep -rn 'Requires.*cuda' "$at/lib/pkgconfig" || not_ok "pc_of_$3" cuda
}
untry()
{
    case_is "uninstall_from_$3" "make uninstall" \
        $MAKE -s BUILD="$B" DESTDIR="$1" PREFIX="$2" uninstall
    left=$(find "$1$2" ! -type d; find "$1$2" -name 'fgs*')
    [ -z "$left" ] && ok "nothing_is_left_in_$3" ||
        not_ok "nothing_is_left_in_$3" "$left"
}

try "$root" "$prefix" destdir
grep -q "^prefix=$prefix\$" "$root$prefix/lib/pkgconfig/fgs.pc" &&
    ok pc_has_the_prefix_without_destdir ||
    not_ok pc_has_the_prefix_without_destdir "see fgs.pc"
untry "$root" "$prefix" destdir

try "" "$tmp/here" prefix
PKG_CONFIG_PATH=$tmp/here/lib/pkgconfig
export PKG_CONFIG_PATH
if command -v pkg-config > /dev/null; then
    [ "$(pkg-config --modversion fgs)" = "$VERSION" ] && ok pc_version ||
        not_ok pc_version "$(pkg-config --modversion fgs)"
    case_is example_links_through_pkg_config "see below" \
        $CC -std=c11 $(pkg-config --cflags fgs) -o "$tmp/shared" \
        "$tmp/example.c" $(pkg-config --libs fgs)
    FGS_PROVIDER=sim LD_LIBRARY_PATH=$tmp/here/lib "$tmp/shared" \
        > "$tmp/out" 2>&1 && ok example_runs_shared ||
        not_ok example_runs_shared "$(head -n 3 "$tmp/out")"
    case_is application_links_through_pkg_config "see below" \
        $CC -std=c11 $(pkg-config --cflags fgs) -o "$tmp/app" \
        tools/examples/rms_gemv.c $(pkg-config --libs fgs) -ldl -lm
    if [ -f "$TC/lib/libnvrtc.so.13" ]; then
        FGS_PROVIDER=sim LD_LIBRARY_PATH=$tmp/here/lib \
            FGS_NVRTC=$TC/lib/libnvrtc.so.13 "$tmp/app" \
            tools/examples/rms_gemv.cu "$tmp/here/include" \
            > "$tmp/out" 2>&1 && ok application_with_own_kernels_runs ||
            not_ok application_with_own_kernels_runs "$(head -n 3 "$tmp/out")"
    else
        skip application_with_own_kernels_runs "no NVRTC; make toolchain"
    fi
    case_is example_links_statically "see below" \
        $CC -std=c11 $(pkg-config --cflags fgs) -o "$tmp/static" \
        "$tmp/example.c" "$tmp/here/lib/libfgs.a" \
        $(pkg-config --static --libs-only-other --libs-only-l fgs |
            sed 's/-lfgs//')
else
    skip example_links_through_pkg_config \
        "no pkg-config; apt-get install pkg-config"
fi
if command -v cmake > /dev/null; then
    mkdir "$tmp/cm"
    printf '%s\n' 'cmake_minimum_required(VERSION 3.10)' 'project(x C)' \
        "find_package(fgs ${VERSION%.*} REQUIRED)" "add_executable(x $tmp/example.c)" \
        'target_link_libraries(x fgs::fgs)' > "$tmp/cm/CMakeLists.txt"
    case_is cmake_finds_the_library "see below" sh -c \
        "cmake -S $tmp/cm -B $tmp/cm/b -Dfgs_DIR=$tmp/here/lib/cmake/fgs &&
         MAKEFLAGS= cmake --build $tmp/cm/b"
else
    skip cmake_finds_the_library "no cmake; apt-get install cmake"
fi
untry "" "$tmp/here" prefix

# A relative prefix is one from here; the files that it is written into are
# read from elsewhere.
rel=$(pwd -P | sed 's|/[^/]*|../|g')${tmp#/}/rel
case_is install_into_relative "make install" \
    $MAKE -s BUILD="$B" PREFIX="$rel" install
! grep -rn '=\.\.\|"\.\.' "$tmp/rel/lib/pkgconfig" "$tmp/rel/lib/cmake" &&
    ok relative_prefix_is_written_absolute ||
    not_ok relative_prefix_is_written_absolute "see above"
end
