#!/bin/sh
# check_runtime.sh -- programs that nvcc makes run on drop-in/libcudart
#
# Each of tests/runtime/*.cu is linked as for NVIDIA's shared runtime and runs
# on ours through LD_LIBRARY_PATH; one is linked with the static library, one
# has a default stream a thread, one is relocatable device code of two files.
. tests/lib.sh
dir=$B/drop-in
nvcc=$TC/bin/nvcc
if [ ! -f "$dir/libcudart.so.13" ]; then
    skip runtime "no shared library in this kind of build"
    end
fi

# What we export is what runtime.def and absent.def say, in one version.
names()
{
    sed -n 's/^[A-Z]*(\(cuda[A-Za-z0-9_]*\), SZ.*/\1 \1_ptsz/p
        s/^[A-Z]*(\(cuda[A-Za-z0-9_]*\), DS.*/\1 \1_ptds/p
        s/^[A-Z]*(\(cuda[A-Za-z0-9_]*\), _.*/\1/p
        s/^ABSENT(\([A-Za-z0-9_]*\)).*/\1/p' src/rt/runtime.def \
        src/rt/absent.def
    sed -n 's/^[a-z].*[ *]\(__cuda[A-Za-z_]*\)(.*/\1/p' src/rt/register.h
    echo cudaGetErrorName cudaGetErrorString cudaCreateChannelDesc
}
names | tr ' ' '\n' | sort > "$tmp/rows"
nm -D --defined-only "$dir/libcudart.so.13" |
    sed -n 's/.* T \(.*\)@@libcudart.so.13$/\1/p' | sort > "$tmp/symbols"
case_is runtime_exports_its_rows "differs from runtime.def" \
    diff "$tmp/rows" "$tmp/symbols"

if [ ! -f "$TC/include/cuda_runtime_api.h" ]; then
    skip prototypes_are_the_toolkits "no toolkit's header"
else
    abi()
    {
        $CC -std=c11 -Wno-deprecated-declarations -Isrc -Iinclude $2 $3 \
            -o "$tmp/$1" tests/runtime/abi.c && "$tmp/$1" > "$tmp/$1.txt"
    }
    case_is prototypes_are_the_toolkits "a row differs from its header" \
        abi toolkit -isystem "$TC/include"
    case_is our_structures_compile "src/rt/types.h" abi ours -DOURS
    case_is structures_are_the_toolkits "src/rt/types.h" \
        diff "$tmp/toolkit.txt" "$tmp/ours.txt"
fi

# program NAME SOURCES OPTIONS...
program()
{
    name=$1
    shift
    if ! "$nvcc" -O1 -o "$tmp/$name" "$@" -L"$TC/lib" > "$tmp/nvcc" 2>&1; then
        not_ok "runtime_$name" "nvcc refuses it"
        sed 's/^/    /' "$tmp/nvcc"
        return
    fi
    said=$(LD_LIBRARY_PATH=$dir FGS_SIM_CC=107 timeout 60 "$tmp/$name" 2>&1)
    echo "$said" > "$tmp/$name.said"
    [ "${said##*
}" = ok ] && ok "runtime_$name" || not_ok "runtime_$name" "$said"
}

if [ ! -x "$nvcc" ] || ! "$nvcc" --version > /dev/null 2>&1; then
    for t in tests/runtime/*.cu; do
        skip "runtime_$(basename "$t" .cu)" "no nvcc"
    done
    end
fi
for t in tests/runtime/*.cu; do
    if [ "$t" = tests/runtime/libraries.cu ] && [ ! -d "$TC/include/cccl" ]
    then
        skip runtime_libraries "no Thrust in the tool chain"
        continue
    fi
    program "$(basename "$t" .cu)" "$t" -arch=compute_90 -cudart shared
done
case_is kernels_print "the output of groups.cu" \
    grep -qx '512 threads, sum 130816' "$tmp/groups.said"
program static tests/runtime/vector_add.cu -L"$dir" -cudart static
nm "$tmp/static" 2> /dev/null | grep -q fgs__rt_enter &&
    ok static_runtime_is_ours || not_ok static_runtime_is_ours "it is NVIDIA's"
program per_thread tests/runtime/streams.cu -arch=compute_90 -cudart shared \
    -default-stream per-thread
program parts tests/runtime/parts/main.cu tests/runtime/parts/twice.cu \
    -rdc=true -arch=compute_90 -cudart shared

# NVIDIA's own runtime has to stop with an error, and the log says why.
if "$nvcc" -O1 -o "$tmp/own" tests/runtime/vector_add.cu -cudart static \
    -L"$TC/lib" > "$tmp/nvcc" 2>&1; then
    said=$(LD_LIBRARY_PATH=$dir FGS_LOG=warn timeout 60 "$tmp/own" 2>&1)
    case $said in
    *"no private table 6bd5fb6c5bf4e74a8987d93912fd9df9"*cudaErrorSymbolNotFound*)
        ok private_table_is_named ;;
    *) not_ok private_table_is_named "$said" ;;
    esac
else
    skip private_table_is_named "nvcc has no runtime of NVIDIA's to link"
fi
end
