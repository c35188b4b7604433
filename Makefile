# Makefile -- build, check, install: the only build description
#
# make help lists the targets.  User's flags come last: CC CFLAGS CPPFLAGS
# LDFLAGS DESTDIR PREFIX LIBDIR INCLUDEDIR BINDIR; V=1 shows commands; BUILD is
# where everything goes.

BUILD  ?= build
CC     ?= cc
PREFIX ?= /usr/local
V      ?= 0

Q   = $(if $(filter 1,$(V)),,@)
say = $(if $(filter 1,$(V)),,@printf '  %-7s %s\n' '$(1)' '$(2)')

WARN   = -Wall -Wextra -Wpedantic -Wshadow -Wmissing-prototypes -Werror
BASE_C = -std=c11 -O2 -g $(WARN) -fPIC -fvisibility=hidden -ffp-contract=off \
         -D_GNU_SOURCE -Iinclude -Isrc
SAN_C  = -fsanitize=address,undefined -fno-sanitize-recover=undefined

# SAN=1 builds everything with ASan and UBSan in its own folder.
ifdef SAN
B     = $(BUILD)/asan
FLAGS = $(BASE_C) $(SAN_C) $(CPPFLAGS) $(CFLAGS)
LINK  = $(SAN_C) $(LDFLAGS)
else
B     = $(BUILD)
FLAGS = $(BASE_C) $(CPPFLAGS) $(CFLAGS)
LINK  = $(LDFLAGS)
endif
LIBS = -ldl -lpthread -lm

SRC   = $(wildcard src/*/*.c)
OBJ   = $(SRC:%.c=$(B)/%.o) $(B)/gen/embed_data.o
TOOLS = $(wildcard tools/*.c)
UNIT  = $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
PTX   = $(sort $(wildcard ptx/*.ptx ptx/*.ptx.in))

all: $(B)/libfgs.a $(B)/fgs

$(B)/libfgs.a: $(OBJ)
	$(call say,AR,$@)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(B)/fgs: $(TOOLS:%.c=$(B)/%.o) $(B)/libfgs.a
	$(call say,LD,$@)
	$(Q)$(CC) $(LINK) -o $@ $^ $(LIBS)

$(B)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(FLAGS) -MMD -MP -c -o $@ $<

$(B)/tests/%: tests/unit/%.c $(B)/libfgs.a
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D) && $(CC) $(FLAGS) -MMD -MP -o $@ $< $(B)/libfgs.a \
	    $(LINK) -lcmocka $(LIBS)

# The kernels' text as C arrays: needs od and sed only.
$(B)/gen/embed_data.c: $(PTX) Makefile
	$(call say,EMBED,$@)
	$(Q)mkdir -p $(@D) && { \
	  echo '/* embed_data.c -- generated from ptx/ */'; \
	  echo '#include "text/embed.h"'; n=0; \
	  for f in $(PTX); do n=$$((n + 1)); \
	    echo "static const char text_$$n[] = {"; \
	    od -An -v -tu1 $$f | sed 's/\([0-9][0-9]*\)/\1,/g'; echo '0};'; done; \
	  echo 'const struct fgs__embedded fgs__embedded[] = {'; n=0; \
	  for f in $(PTX); do n=$$((n + 1)); \
	    echo "{ \"$${f#ptx/}\", text_$$n, sizeof text_$$n - 1 },"; done; \
	  echo '{ 0, 0, 0 } };'; } > $@

$(B)/gen/embed_data.o: $(B)/gen/embed_data.c
	$(Q)$(CC) $(FLAGS) -MMD -MP -c -o $@ $<

unit: $(UNIT:%=$(B)/tests/%)
	$(Q)for t in $^; do $$t || exit 1; done

clean:
	rm -rf $(BUILD)

.PHONY: all unit clean
-include $(shell find $(B) -name '*.d' 2>/dev/null)
