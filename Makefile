# Makefile -- build, check, install: the only build description
#
# make help lists the targets.  User's flags come last: CC CFLAGS CPPFLAGS
# LDFLAGS AR DESTDIR PREFIX LIBDIR INCLUDEDIR BINDIR; V=1 shows commands;
# BUILD is where everything goes; SAN=1 builds with ASan and UBSan, SAN=thread
# with TSan, each in its own folder.  A build needs a C compiler, make and
# POSIX sh, sed, awk, od.

BUILD      ?= build
PREFIX     ?= /usr/local
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
BINDIR     ?= $(PREFIX)/bin
V          ?= 0

# Where tools/toolchain.sh puts the pinned assembler, and what is run from it.
TOOLCHAIN_DIR ?= $(BUILD)/toolchain

# The header states the version once.
part    = $(shell sed -n 's/^\#define FGS_VERSION_$(1) //p' include/fgs/fgs.h)
MAJOR  := $(call part,MAJOR)
MINOR  := $(call part,MINOR)
VERSION := $(MAJOR).$(MINOR).$(call part,PATCH)
# Before 1.0 the minor number is part of the SONAME.
SONAME  = libfgs.so.$(MAJOR).$(MINOR)
SOFILE  = libfgs.so.$(VERSION)

Q   = $(if $(filter 1,$(V)),,@)
# Nothing is said by make -s either.
silent = $(findstring s,$(filter-out --%,$(firstword $(MAKEFLAGS))))
say = $(if $(filter 1,$(V))$(silent),,@printf '  %-7s %s\n' '$(1)' '$(2)')

# ---------------------------------------------------------------- flags --

WARN   = -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Wvla \
         -Walloca -Werror
# Lines are all that a sanitizer's report names; whole debug information of
# some 200 test programs would fill gigabytes.  What a sanitizer adds leaves
# little to optimize: at -O3 handlers take three times as long to compile, and
# gcc warns of what is not there; warnings are the plain build's.
BASE_C = -std=c11 $(if $(SAN),-O1 -g1 -w,-O2 -g $(WARN)) -fPIC -fvisibility=hidden \
         -ffp-contract=off -D_GNU_SOURCE -Iinclude
# Tools and examples see the public headers only.
INNER  = $(BASE_C) -Isrc

SAN_1      = -fsanitize=address,undefined -fno-sanitize-recover=undefined
SAN_thread = -fsanitize=thread
SAN_fuzz   = -fsanitize=fuzzer-no-link,address,undefined \
             -fno-sanitize-recover=undefined
# afl-clang-fast brings its own coverage.
SAN_afl    = -fsanitize=address,undefined -fno-sanitize-recover=undefined
SAN_C      = $(SAN_$(SAN))
B_1        = /asan
B_thread   = /tsan
B_fuzz     = /fuzz
B_afl      = /afl
B          = $(BUILD)$(B_$(SAN))

# EXTRA: flags of single objects, as target-specific variables.
EXTRA =
FLAGS = $(EXTRA) $(SAN_C) $(CPPFLAGS) $(CFLAGS)
LINK  = $(SAN_C) $(LDFLAGS)
LIBS  = -ldl -lpthread -lm

# ---------------------------------------------------------------- files --

# Handlers over lanes are compiled once for each level of the host's vectors,
# hot ones for near operands, too (src/sim/lanes.h); src/sim/isa.c picks one at
# run time.
LANES  = $(wildcard src/sim/exec_*.c)
# Instrumented for afl-fuzz they take very long to compile; there it is one.
WIDE   = $(if $(filter afl,$(SAN)),,avx2 avx512)
LEVELS = base $(if $(filter x86_64%,$(shell $(CC) -dumpmachine)),$(WIDE))
LANE_C = $(if $(SAN),-O1,-O3) -fno-math-errno -fno-trapping-math -Wno-pass-failed
LANE_avx2   = -mavx2 -mfma -mbmi -mbmi2 -mlzcnt -mpopcnt
LANE_avx512 = $(LANE_avx2) -mavx512f -mavx512bw -mavx512dq -mavx512vl \
              -mprefer-vector-width=512
NEAR   = $(patsubst %,src/sim/exec_%.c,arith int float logic setp selp)
NEARS  = $(foreach l,$(filter-out base,$(LEVELS)),$(l)_bank $(l)_konst)
LANE_avx2_bank    = $(LANE_avx2) -DFGS__NEAR=FGS__SIM_NEAR_BANK -DFGS__ISA_FAR=_avx2
LANE_avx2_konst   = $(LANE_avx2) -DFGS__NEAR=FGS__SIM_NEAR_KONST -DFGS__ISA_FAR=_avx2
LANE_avx512_bank  = $(LANE_avx512) -DFGS__NEAR=FGS__SIM_NEAR_BANK -DFGS__ISA_FAR=_avx512
LANE_avx512_konst = $(LANE_avx512) -DFGS__NEAR=FGS__SIM_NEAR_KONST -DFGS__ISA_FAR=_avx512

RT_C  = $(wildcard src/rt/*.c)
SRC   = $(filter-out $(LANES) $(RT_C),$(wildcard src/*/*.c))
OBJ   = $(SRC:%.c=$(B)/%.o) $(B)/gen/embed_data.o $(B)/gen/forms.o \
        $(foreach l,$(LEVELS),$(LANES:%.c=$(B)/%.$(l).o)) \
        $(foreach l,$(NEARS),$(NEAR:%.c=$(B)/%.$(l).o))
TOOLS = $(wildcard tools/*.c)
TOBJ  = $(TOOLS:%.c=$(B)/%.o)
PTX   = $(sort $(wildcard ptx/*.ptx ptx/*.ptx.in ptx/*.ptx.inc))
PUBLIC = $(wildcard include/fgs/*.h include/fgs/*.cuh)
DEVICE = $(wildcard include/fgs/device/*.cuh)

EXAMPLES = $(B)/examples/readme $(B)/examples/rms_gemv
UNIT = $(patsubst tests/unit/%.c,$(B)/tests/%,$(wildcard tests/unit/*.c))
GPU  = $(patsubst tests/gpu/%.c,$(B)/tests/gpu/%,$(wildcard tests/gpu/*.c))
FUZZ ?= $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
FAKE = $(patsubst tests/fake/%.c,$(B)/tests/fake/%.so, \
         $(wildcard tests/fake/*.c))
DEPS = $(OBJ:.o=.d) $(RT_O:.o=.d) $(B)/gen/dropin.d $(TOBJ:.o=.d) $(UNIT:=.d) $(GPU:=.d) $(FAKE:.so=.d) \
       $(EXAMPLES:=.d) $(GEN:.o=.d) $(MIRROR:.o=.d)

# The software device as a driver library for programs that know nothing of
# fgsync: they find it through LD_LIBRARY_PATH=$(BUILD)/drop-in.
DROPIN = $(B)/drop-in/libcuda.so.1

# A CUDA runtime on the driver API for what nvcc makes, shared and static.
RT_O    = $(RT_C:%.c=$(B)/%.o) $(B)/gen/rtforms.o
RUNTIME = $(B)/drop-in/libcudart.so.13 $(B)/drop-in/libcudart_static.a

CORES = $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 1)

SHARED = $(if $(SAN),,$(B)/$(SOFILE) $(DROPIN) $(RUNTIME))

ALL = $(B)/libfgs.a $(SHARED) $(B)/fgs

all: $(ALL)

# A producer of some us, so that tiles are waited for.  One who only wants to
# see it run gets all cores without asking.
run:
	+$(Q)$(MAKE) --no-print-directory \
	    $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(CORES)) all
	$(Q)$(B)/fgs run --slow-producer 3000

# ---------------------------------------------------------------- rules --

# Rewritten only when the flags are others than last time.
export FGS_FLAGS_NOW := $(CC) $(BASE_C) $(SAN_C) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
$(B)/flags: FORCE
	@mkdir -p $(@D); printf '%s\n' "$$FGS_FLAGS_NOW" | cmp -s - $@ || \
	    printf '%s\n' "$$FGS_FLAGS_NOW" > $@
FORCE:

$(B)/src/%.o: src/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(INNER) $(FLAGS) -MMD -MP -c -o $@ $<

$(B)/tools/%.o: tools/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(BASE_C) $(FLAGS) -MMD -MP -c -o $@ $<

define lane_rule
$(B)/src/%.$(1).o: src/%.c $(B)/flags
	$$(call say,CC,$$< $(1))
	$$(Q)mkdir -p $$(@D) && $$(CC) $(INNER) $(LANE_C) $$(LANE_$(1)) \
	    -DFGS__ISA=_$(1) $$(FLAGS) -MMD -MP -c -o $$@ $$<
endef
$(foreach l,$(LEVELS) $(NEARS),$(eval $(call lane_rule,$(l))))
$(B)/src/sim/isa.o: EXTRA = $(if $(NEARS),,-DFGS__ISA_PLAIN)

# The kernels' text as C arrays, and what NVRTC includes.
EMBED = $(PTX) $(sort $(wildcard ptx/*.cu ptx/*.cuh)) $(filter %.cuh,$(PUBLIC)) $(DEVICE)
$(B)/gen/embed_data.c: $(EMBED) Makefile
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && { \
	  echo '/* embed_data.c -- generated from ptx/ */'; \
	  echo '#include "text/embed.h"'; n=0; \
	  for f in $(EMBED); do n=$$((n + 1)); \
	    echo "static const char text_$$n[] = {"; \
	    od -An -v -tu1 $$f | sed 's/\([0-9][0-9]*\)/\1,/g'; echo '0};'; done; \
	  echo 'const struct fgs__embedded fgs__embedded[] = {'; n=0; \
	  for f in $(EMBED); do n=$$((n + 1)); \
	    f=$${f#ptx/}; \
	    echo "{ \"$${f#include/}\", text_$$n, sizeof text_$$n - 1 },"; done; \
	  echo '{ 0, 0, 0 } };'; } > $@.new && mv $@.new $@

# Every symbol of the driver API and of the CUDA runtime, from the tables.
$(B)/gen/forms.c $(B)/gen/dropin.c: src/table/forms.awk src/table/entry.def \
    src/sim/absent.def
$(B)/gen/rtforms.c: src/rt/forms.awk src/rt/runtime.def src/rt/absent.def
FORMS = $(B)/gen/forms.c $(B)/gen/dropin.c $(B)/gen/rtforms.c
$(FORMS): $(B)/gen/%.c: src/table/words.awk
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && awk -v make=$* $(addprefix -f ,$(filter %.awk,$^)) \
	    $(filter %.def,$^) > $@.new && mv $@.new $@

$(FORMS:.c=.o) $(B)/gen/embed_data.o: $(B)/gen/%.o: $(B)/gen/%.c $(B)/flags
	$(Q)$(CC) $(INNER) $(FLAGS) -MMD -MP -c -o $@ $<

$(B)/libfgs.a: $(OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# A symbol that is in the map and not in a header, or the other way round,
# stops the build.
$(B)/map.ok: src/fgs.map $(PUBLIC) tests/map.sh
	$(call say,MAP,$<)
	$(Q)mkdir -p $(@D) && sh tests/map.sh && : > $@

$(B)/$(SOFILE): $(OBJ) src/fgs.map $(B)/map.ok
	$(call say,LD,$@)
	$(Q)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,-z,defs \
	    -Wl,--version-script=src/fgs.map -o $@ $(OBJ) $(LIBS) $(LINK) && \
	    ln -sf $(SOFILE) $(B)/$(SONAME) && ln -sf $(SONAME) $(B)/libfgs.so

# Its threads outlive a dlclose, so it stays loaded.
$(DROPIN): $(B)/gen/dropin.o $(B)/libfgs.a src/sim/dropin.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -Wl,-soname,libcuda.so.1 -Wl,-z,defs \
	    -Wl,-z,nodelete -Wl,--version-script=src/sim/dropin.map -o $@ \
	    $(B)/gen/dropin.o $(B)/libfgs.a $(LIBS) $(LINK) && \
	    ln -sf $(@F) $(@D)/libcuda.so

$(B)/drop-in/libcudart.so.13: $(RT_O) $(B)/src/base/alloc.o src/rt/rt.map
	$(call say,LD,$@)
	$(Q)mkdir -p $(@D) && $(CC) -shared -Wl,-soname,$(@F) -Wl,-z,defs \
	    -Wl,--version-script=src/rt/rt.map -o $@ $(filter %.o,$^) -ldl \
	    -lpthread $(LINK) && ln -sf $(@F) $(@D)/libcudart.so

$(B)/drop-in/libcudart_static.a: $(RT_O) $(B)/src/base/alloc.o
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D) && rm -f $@ && $(AR) rcs $@ $^

$(B)/fgs: $(TOBJ) $(B)/libfgs.a
	$(call say,LD,$@)
	$(Q)$(CC) -o $@ $^ $(LIBS) $(LINK)

# The program in the README.
$(B)/examples/readme.c: README.md
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D) && sed -n '/^```c$$/,/^```$$/{/^```/!p;}' $< > $@

$(B)/examples/readme: $(B)/examples/readme.c $(B)/libfgs.a
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_C) $(FLAGS) -MMD -MP -MF $@.d -o $@ $< \
	    $(B)/libfgs.a $(LIBS) $(LINK)

# A worked example of the device header.
$(B)/examples/rms_gemv: tools/examples/rms_gemv.c $(B)/libfgs.a
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(BASE_C) $(FLAGS) -MMD -MP -MF $@.d -o $@ $< \
	    $(B)/libfgs.a $(LIBS) $(LINK)
example: $(B)/examples/rms_gemv
	$(Q)$(if $(FGS_NVRTC),,FGS_NVRTC='$(firstword $(wildcard \
	    $(abspath $(TOOLCHAIN_DIR))/nvidia/cu13/lib/libnvrtc.so.13) \
	    libnvrtc.so.13)') $<

# ---------------------------------------------------------------- tests --

# A test has passed when its stamp is newer than its binary; a test with
# skipped cases gets no stamp, so it runs again.  The logs keep the counts.
test_c = mkdir -p $(@D) && $(CC) $(INNER) $(FLAGS) -MMD -MP -MF $@.d -o $@ $< \
         $(B)/libfgs.a -lcmocka $(LIBS) $(LINK)

# The driver's headers, where there are some, to compare our rows with.
$(B)/tests/test_abi: EXTRA = $(addprefix -isystem ,$(wildcard \
    $(TOOLCHAIN_DIR)/nvidia/cu13/include /usr/local/cuda/include))

$(B)/tests/%: tests/unit/%.c $(B)/libfgs.a
	$(call say,CC,$<)
	$(Q)$(test_c)

$(B)/tests/gpu/%: tests/gpu/%.c $(B)/libfgs.a
	$(call say,CC,$<)
	$(Q)$(test_c)

# Kernels made from the tables, for the tests that run them.
GEN  = $(patsubst %.c,$(B)/%.o,$(wildcard tests/gen/*.c))
GENS = $(B)/tests/gpu/test_bits $(B)/tests/gpu/test_tensor \
       $(B)/tests/gpu/test_texture \
       $(B)/tests/gpu/test_mma $(B)/tests/gpu/test_programs \
       $(B)/tests/test_gen $(B)/tests/test_program \
       $(B)/tests/test_sim_texture
$(GENS): private EXTRA = $(GEN)
$(GENS): $(GEN)
$(B)/tests/gen/%.o: tests/gen/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(INNER) $(SAN_C) $(CPPFLAGS) $(CFLAGS) \
	    -MMD -MP -c -o $@ $<

# What the programs of tests/modules compute, in C.
MIRROR = $(patsubst %.c,$(B)/%.o,$(wildcard tests/modules/mirror_*.c))
$(B)/tests/test_modules: private EXTRA = $(MIRROR)
$(B)/tests/test_modules: $(MIRROR)
$(B)/tests/modules/%.o: tests/modules/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(INNER) $(FLAGS) -MMD -MP -c -o $@ $<

# A libcuda made for tests, opened by path; the library inside it is its own.
$(B)/tests/fake/%.so: tests/fake/%.c $(B)/libfgs.a
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(INNER) $(FLAGS) -MMD -MP -MF $(@:.so=.d) \
	    -shared -Wl,-Bsymbolic -Wl,--exclude-libs,ALL -o $@ $< $(B)/libfgs.a \
	    $(LIBS) $(LINK)

# The pinned assembler's folder; TOOLCHAIN=none hides it.
TC = $(if $(filter none,$(TOOLCHAIN)),,$(abspath $(TOOLCHAIN_DIR))/nvidia/cu13)

# CUDA C++ of tests/modules, by the NVRTC of the tool chain and by that of the
# system: PTX, and cubins that a machine without either can take.
MODULE_DIR = $(abspath $(BUILD))/modules
MODULES = $(if $(TC),$(if $(wildcard $(TC)/lib/libnvrtc.so.13), \
          $(patsubst tests/modules/%.cu,$(BUILD)/modules/%.made, \
            $(wildcard tests/modules/*.cu))))
modules: $(MODULES)
$(BUILD)/modules/nvrtc: tests/modules/nvrtc.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)/system && $(CC) $(BASE_C) -o $@ $< -ldl
$(BUILD)/modules/%.made: tests/modules/%.cu tests/modules/common.cuh \
    tests/modules/make.sh $(BUILD)/modules/nvrtc
	$(call say,NVRTC,$<)
	$(Q)TC='$(TC)' sh tests/modules/make.sh $(BUILD)/modules $* && : > $@

# NVRTC in a process of its own, for tests that compile what they run.
$(BUILD)/device/compile: tests/device/compile.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(BASE_C) -o $@ $< -ldl
$(foreach t,device_header device_roles twins,$(B)/ok/unit/test_$t $(B)/ok/any/test_$t): \
    $(BUILD)/device/compile $(DEVICE) $(wildcard tests/device/*.cu ptx/*.cu)

# What scripts and tests find in their environment.
TEST_ENV = B='$(abspath $(B))' FGS='$(abspath $(B))/fgs' CC='$(CC)' \
           TC='$(TC)' VERSION='$(VERSION)' MODULES='$(MODULE_DIR)' \
           MAKE='$(MAKE)' SAN='$(SAN)' FGS_CACHE_DIR=none \
           FGS_TEST_TWINS='$(abspath $(BUILD))/twins' \
           LD_LIBRARY_PATH="$(abspath $(BUILD))/lib:$$LD_LIBRARY_PATH"
run_test = $(TEST_ENV) sh tests/run.sh $(B)/log/$(1).log $(2)

TREE = $(PTX) $(PUBLIC) $(DEVICE) Makefile README.md \
       $(shell find src tools tests -type f 2>/dev/null)
SCRIPT_ok = $(patsubst tests/%.sh,$(B)/ok/%,$(1))
UNIT_SH  = $(wildcard tests/unit/*.sh)
PTX_SH   = $(wildcard tests/ptx/*.sh)
CHECK_SH = $(wildcard tests/check_*.sh)
GPU_SH   = $(wildcard tests/gpu/*.sh)

UNIT_OK = $(patsubst $(B)/tests/%,$(B)/ok/unit/%,$(UNIT)) \
          $(call SCRIPT_ok,$(UNIT_SH))
MORE_OK = $(call SCRIPT_ok,$(PTX_SH) $(CHECK_SH))
# What opens a device or starts threads runs under TSan too; what looks at
# FGS_PROVIDER runs on a real device.
THREAD_OK = $(patsubst tests/unit/%.c,$(B)/ok/unit/%, \
            $(shell grep -lE \
              'fgs_device_open|sim_calls|fgs_sim_get_proc|pthread' \
              tests/unit/*.c 2>/dev/null)) $(B)/ok/unit/test_tool_run
ANY_OK  = $(patsubst tests/unit/%.c,$(B)/ok/any/%, \
            $(shell grep -l FGS_PROVIDER tests/unit/*.c 2>/dev/null))
GPU_OK  = $(patsubst $(B)/tests/%,$(B)/ok/%,$(GPU)) $(call SCRIPT_ok,$(GPU_SH)) \
          $(ANY_OK)

$(B)/ok/unit/%: $(B)/tests/% $(FAKE) $(B)/fgs tests/run.sh
	@$(call run_test,unit/$*,$<) $@
$(B)/ok/unit/test_modules $(B)/ok/any/test_modules $(B)/ok/ptx/modules: \
    $(MODULES)
$(B)/ok/any/%: $(B)/tests/%
	@FGS_PROVIDER=cuda $(call run_test,any/$*,$<) $@
$(B)/ok/gpu/%: $(B)/tests/gpu/%
	@FGS_PROVIDER=cuda $(call run_test,gpu/$*,$<) $@
$(B)/ok/%: tests/%.sh $(TREE) $(ALL) $(EXAMPLES)
	@$(call run_test,$*,$<) $@

# Without cmocka only the scripts are left.
ifeq ($(CMOCKA),none)
UNIT =
GPU =
THREAD_OK = $(B)/ok/unit/test_tool_run
ANY_OK =
endif

# test: everything without a GPU, one build; the others are what check runs
# in further builds.  build-tests only compiles.
unit: $(UNIT)
	$(Q)for t in $^; do $$t || exit 1; done
test: test-unit test-more
test-unit: $(UNIT_OK)
test-more: $(MORE_OK)
test-thread: $(THREAD_OK)
test-gpu: $(GPU_OK)
# Nobody runs the fuzz targets there, but they must compile.  With a sanitizer
# only what runs with it is built.
build-tests: build-tests-$(SAN)
build-tests-: $(ALL) $(UNIT) $(GPU) $(FAKE) $(EXAMPLES) \
              $(FUZZ:%=$(B)/plain_%)
build-tests-1: $(ALL) $(UNIT) $(FAKE)
build-tests-thread: $(ALL) $(FAKE) $(patsubst $(B)/ok/unit/%,$(B)/tests/%, \
                    $(filter-out %/test_tool_run,$(THREAD_OK)))

# The names of all logs of a set of tests, for the totals.
logs-%:
	@printf '%s\n' $(patsubst $(B)/ok/%,$(B)/log/%.log,$($*_OK))

DRIVE = BUILD='$(BUILD)' CC='$(CC)' MAKE='$(MAKE)' \
        TOOLCHAIN_DIR='$(TOOLCHAIN_DIR)' sh

check:
	+@$(DRIVE) tests/check.sh

check-gpu:
	+@$(DRIVE) tests/gpu.sh

# Programs of others on $(DROPIN); 77 from the script is a skip.
check-clients: $(DROPIN)
	$(Q)BUILD='$(BUILD)' TOOLCHAIN_DIR='$(abspath $(TOOLCHAIN_DIR))' \
	    sh tests/clients.sh || [ $$? = 77 ]

# Each target of tests/fuzz for FUZZ_S seconds, by clang's libFuzzer, with
# what it found before; fuzz_NAME.corpus keeps that.  One alone, for long:
# make fuzz FUZZ=run FUZZ_S=3600.  plain_NAME takes files, or one text on its
# standard input, for who has a text that crashed.  `make afl` is the same by
# AFL++, which starts from the least part of the seeds.
FUZZ_S ?= 60
FUZZ_run  = tests/ptx/run
$(foreach f,image jit knob map npy,$(eval FUZZ_$f = tests/fuzz/$f))
FUZZ_load = tests/ptx/run tests/ptx/accept tests/ptx/refuse
fuzz:
	+$(Q)$(MAKE) --no-print-directory CC=clang SAN=fuzz FUZZ='$(FUZZ)' fuzz-run
fuzz-build: $(FUZZ:%=$(B)/fuzz_%) $(FUZZ:%=$(B)/plain_%)
fuzz-run: fuzz-build
	$(Q)$(foreach f,$(FUZZ),mkdir -p $(B)/fuzz_$f.corpus && \
	    $(B)/fuzz_$f -max_total_time=$(FUZZ_S) -max_len=16384 -timeout=60 \
	    -rss_limit_mb=4096 -close_fd_mask=3 -artifact_prefix=$(B)/crash_$f- \
	    $(addprefix -dict=,$(wildcard tests/fuzz/$f.dict)) \
	    $(B)/fuzz_$f.corpus $(FUZZ_$f) &&) :
afl:
	+$(Q)$(MAKE) --no-print-directory CC=afl-clang-fast SAN=afl FUZZ='$(FUZZ)' afl-run
FUZZ_PTX = load run jit
afl-build: $(foreach f,$(FUZZ),$(B)/plain_$f $(B)/$f.seeds) $(B)/words.so \
           $(FUZZ_PTX:%=$(B)/%.dict) $(B)/npy.dict
afl-run: afl-build
	$(Q)bad=0; for f in $(FUZZ); do \
	    sh tests/fuzz/afl.sh $(B) $(FUZZ_S) $$f || bad=1; done; exit $$bad
$(FUZZ:%=$(B)/%.seeds): $(B)/%.seeds: $(B)/plain_%
	$(Q)sh tests/fuzz/seeds.sh $< $@ $(FUZZ_$*)
$(B)/npy.dict: tests/fuzz/npy.dict
	$(Q)cp $< $@
$(FUZZ_PTX:%=$(B)/%.dict): tests/fuzz/words.h src/ptx/words.h \
    $(wildcard src/ptx/*.def)
	$(Q)clang -E -P -Isrc -Iinclude $< | \
	    sed '1,/FROM_HERE/d; s/"\([.%]\)" "/"\1/g' | grep -o '"[^"]*"' | sort -u > $@
$(B)/words.so: tests/fuzz/afl_words.c tests/fuzz/mutate.c
	$(call say,CC,$<)
	$(Q)clang $(INNER) -fvisibility=default -shared -o $@ $^
fuzz_c = mkdir -p $(@D) && $(CC) $(INNER) -Itests/unit -Itools $(FLAGS) \
         -MMD -MP -MF $@.d -o $@ $(filter %.c %.o,$^) $(B)/libfgs.a $(LIBS) \
         $(LINK)
$(B)/tests/fuzz/%.o: tests/fuzz/%.c $(B)/flags
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(INNER) $(FLAGS) -MMD -MP -c -o $@ $<
$(B)/fuzz_run $(B)/fuzz_load: $(B)/tests/fuzz/mutate.o
$(B)/fuzz_npy $(B)/plain_npy: $(B)/tools/file.o $(B)/tools/opt.o
$(B)/fuzz_%: tests/fuzz/fuzz_%.c $(B)/libfgs.a
	$(call say,CC,$<)
	$(Q)$(fuzz_c) -fsanitize=fuzzer
$(B)/plain_%: tests/fuzz/fuzz_%.c tests/fuzz/plain.c $(B)/libfgs.a
	$(call say,CC,$<)
	$(Q)$(fuzz_c)

# Statements of the opcodes SWEEP (patterns), ptxas against fgs check; options
# in SWEEP_ARGS, see tests/ptx/sweep/sweep.py.
SWEEP = *
SWEEP_ARGS =
sweep: $(B)/fgs
	$(Q)FGS='$(abspath $(B)/fgs)' TC='$(TC)' \
	    python3 tests/ptx/sweep/sweep.py $(SWEEP_ARGS) $(SWEEP:%='%')

sweep-declarations: $(B)/fgs
	$(Q)FGS='$(abspath $(B)/fgs)' TC='$(TC)' \
	    python3 tests/ptx/sweep/declarations.py

# CUB's DeviceHistogram for `fgs bench histogram`, with the runtime inside; for
# the machine code of CUB_ARCH.
CUB_ARCH = sm_90
cub: $(B)/cub/libfgs_cub.so
$(B)/cub/libfgs_cub.so: tools/cub_histogram.cu
	$(call say,NVCC,$<)
	$(Q)mkdir -p $(@D) && $(or $(NVCC),$(wildcard $(TC)/bin/nvcc),nvcc) \
	    -ccbin $(CXX) -std=c++17 -O2 -arch=$(CUB_ARCH) -shared \
	    -cudart static -Xcompiler -fPIC,-fvisibility=hidden \
	    $(if $(TC),-I$(TC)/include -L$(TC)/lib) -o $@ $<

toolchain:
	$(Q)sh tools/toolchain.sh $(TOOLCHAIN_DIR)

# -------------------------------------------------------------- install --

HDIR  = $(DESTDIR)$(INCLUDEDIR)/fgs
LDIR  = $(DESTDIR)$(LIBDIR)
CMDIR = $(LDIR)/cmake/fgs

# fgs.pc and fgsConfig.cmake are written here: built earlier they would keep
# another prefix.  A minor number before 1.0 is a library of its own there, as
# in the SONAME.
install: all
	$(call say,INSTALL,$(DESTDIR)$(PREFIX))
	$(Q)mkdir -p $(HDIR)/device $(LDIR)/pkgconfig $(CMDIR) $(DESTDIR)$(BINDIR)
	$(Q)install -m 644 $(PUBLIC) $(HDIR)
	$(Q)install -m 644 $(DEVICE) $(HDIR)/device
	$(Q)install -m 644 $(B)/libfgs.a $(LDIR)
	$(Q)install -m 755 $(B)/$(SOFILE) $(LDIR)
	$(Q)ln -sf $(SOFILE) $(LDIR)/$(SONAME)
	$(Q)ln -sf $(SONAME) $(LDIR)/libfgs.so
	$(Q)install -m 755 $(B)/fgs $(DESTDIR)$(BINDIR)/fgs
	$(Q)printf '%s\n' 'prefix=$(abspath $(PREFIX))' \
	    'includedir=$(abspath $(INCLUDEDIR))' \
	    'libdir=$(abspath $(LIBDIR))' '' 'Name: fgs' \
	    'Description: fine-grained synchronization of CUDA kernels' \
	    'Version: $(VERSION)' 'Cflags: -I$${includedir}' \
	    'Libs: -L$${libdir} -lfgs' 'Libs.private: -ldl -lpthread -lm' \
	    > $(LDIR)/pkgconfig/fgs.pc
	$(Q)printf '%s\n' '# fgsConfig.cmake -- find_package(fgs): fgs::fgs' \
	    'set(fgs_VERSION $(VERSION))' \
	    'if(NOT TARGET fgs::fgs)' \
	    '  add_library(fgs::fgs SHARED IMPORTED)' \
	    '  set_target_properties(fgs::fgs PROPERTIES' \
	    '    IMPORTED_LOCATION "$(abspath $(LIBDIR))/$(SOFILE)"' \
	    '    IMPORTED_SONAME "$(SONAME)"' \
	    '    INTERFACE_INCLUDE_DIRECTORIES "$(abspath $(INCLUDEDIR))")' \
	    'endif()' > $(CMDIR)/fgsConfig.cmake
	$(Q)printf '%s\n' '# fgsConfigVersion.cmake -- find_package(fgs N.N)' \
	    'set(PACKAGE_VERSION $(VERSION))' \
	    'set(wanted $${PACKAGE_FIND_VERSION_MAJOR}.$${PACKAGE_FIND_VERSION_MINOR})' \
	    'if(wanted VERSION_EQUAL $(MAJOR).$(MINOR) AND' \
	    '   NOT PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)' \
	    '  set(PACKAGE_VERSION_COMPATIBLE TRUE)' \
	    'endif()' \
	    'if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)' \
	    '  set(PACKAGE_VERSION_EXACT TRUE)' \
	    'endif()' > $(CMDIR)/fgsConfigVersion.cmake

uninstall:
	$(call say,REMOVE,$(DESTDIR)$(PREFIX))
	$(Q)rm -f $(patsubst include/fgs/%,$(HDIR)/%,$(PUBLIC) $(DEVICE)) \
	    $(LDIR)/libfgs.a \
	    $(LDIR)/$(SOFILE) $(LDIR)/$(SONAME) $(LDIR)/libfgs.so \
	    $(DESTDIR)$(BINDIR)/fgs $(LDIR)/pkgconfig/fgs.pc \
	    $(CMDIR)/fgsConfig.cmake $(CMDIR)/fgsConfigVersion.cmake
	$(Q)for d in $(HDIR)/device $(HDIR) $(CMDIR); do \
	    [ ! -d $$d ] || rmdir $$d 2>/dev/null || :; done

# ----------------------------------------------------------------- rest --

clean:
	$(Q)rm -rf $(BUILD)

help:
	@printf '%s\n' \
	  'make            build $(BUILD)/libfgs.a, $(SONAME), fgs and' \
	  '                $(BUILD)/drop-in/libcuda.so.1, libcudart.so.13' \
	  'make run        build and hand tiles over, verified' \
	  'make check      every test that needs no GPU' \
	  'make check-gpu  every test on the first real device' \
	  'make check-clients  cuda-python and Numba on the drop-in library' \
	  'make sweep      statements of the opcodes SWEEP, ptxas against fgs check' \
	  'make fuzz       damaged texts and images, FUZZ_S seconds each (clang)' \
	  'make afl        the same by afl-fuzz (AFL++)' \
	  'make modules    CUDA C++ of tests/modules into PTX and cubins' \
  'make cub        CUB'"'"'s histogram for fgs bench histogram (nvcc)' \
	  'make example    an application that embeds the library (NVRTC)' \
	  'make toolchain  fetch the pinned PTX assembler for make check' \
	  'make install    to $$(DESTDIR)$$(PREFIX); uninstall takes it away' \
	  'make clean      remove $(BUILD)' '' \
	  'V=1 BUILD=dir SAN=1 SAN=thread CC CFLAGS CPPFLAGS LDFLAGS AR DESTDIR' \
	  'PREFIX LIBDIR INCLUDEDIR BINDIR TOOLCHAIN=none' ''
	@for f in Makefile include/fgs/* include/fgs/device/* ptx/* src/*/* \
	    tools/* tools/examples/* tools/examples/*/* tests/*.sh tests/*/*; do \
	  [ ! -f $$f ] || sed -n \
	    "1,2s|^[^A-Za-z]*[A-Za-z0-9_.]* -- \(.*\)|$$f \1|p" $$f; done | \
	  sed 's| \*/$$||; s| |\t|' | while IFS="$$(printf '\t')" read -r f t; do \
	  printf '%-34s %s\n' "$$f" "$$t"; done

.PHONY: all unit run example check check-gpu check-clients fuzz sweep \
        sweep-declarations \
        fuzz-run fuzz-build afl afl-run afl-build \
        toolchain install uninstall clean help FORCE \
        test test-unit test-more test-thread test-gpu build-tests \
        build-tests- build-tests-1 build-tests-thread modules cub
.SECONDARY:
-include $(DEPS)
