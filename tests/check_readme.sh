#!/bin/sh
# check_readme.sh -- the README's program is built and run, its facts compared
. tests/lib.sh

lines=$(grep -c . "$B/examples/readme.c")
[ "$lines" -gt 10 ] && [ "$lines" -le 25 ] && ok example_has_25_lines ||
    not_ok example_has_25_lines "$lines lines"
said=$(FGS_PROVIDER=sim "$B/examples/readme" 2>&1)
[ "$said" = "6 4 2" ] && ok example_prints_what_it_says ||
    not_ok example_prints_what_it_says "$said"

FGS_PROVIDER=sim "$FGS" run > "$tmp/run" 2> "$tmp/err"
digest=$(sed -n 's/^digest *//p' "$tmp/run")
grep -q "digest *$digest" README.md && ok run_prints_the_digest_shown ||
    not_ok run_prints_the_digest_shown "digest $digest is not in README.md"

"$FGS" help | sed -n 's/^  \([a-z]*  *[a-z].*\)/fgs \1/p' | grep -v '^fgs help' \
    > "$tmp/verbs"
[ "$(grep -cxFf "$tmp/verbs" README.md)" = "$(grep -c . "$tmp/verbs")" ] &&
    ok verbs_are_those_of_the_help ||
    not_ok verbs_are_those_of_the_help "$(grep -c . "$tmp/verbs") verbs"

# Folders of the map, knobs, environment variables: none missing.
for word in $(sed -n 's/.*"\(FGS_SIM_[A-Z_]*\)".*/\1/p' include/fgs/fgs_sim.h) \
    $(sed -n '/^ \* ENVIRONMENT/,/FGS_SIM/s/.*\(FGS_[A-Z_]*\)=.*/\1/p' \
        include/fgs/fgs.h); do
    grep -q "$word" README.md || not_ok variables_are_listed "$word is not"
done
for dir in include/fgs ptx src/* tools tests/*; do
    [ ! -d "$dir" ] || grep -q "\`$dir/*\`" README.md ||
        not_ok folders_are_listed "$dir is not"
done
[ $failed = 1 ] || ok folders_and_variables_are_listed
end
