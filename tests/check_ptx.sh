#!/bin/sh
# check_ptx.sh -- the files of ptx/ follow their own rules
#
# Header fields and their order; parameters as in param.def (of what is in no
# plan, as in the header); tokens listed and used; operand columns; predicates
# are p_; state space, order and scope are spelled; no trap.  One case a file.
LC_ALL=C
export LC_ALL
code=0

params=$(sed -n 's/^PARAM(\(p_[a-z_0-9]*\), *\(u[0-9]*\),.*/\1 .\2/p' \
    src/table/param.def)

# A template with the files that it includes.
expand() {
    awk '/^@INCLUDE / {
            file = "ptx/" substr($2, 1, length($2) - 1)
            while ((getline line < file) > 0) print line
            close(file)
            next
        }
        { print }' "$1"
}

for f in ptx/*.ptx ptx/*.ptx.in; do
    [ -f "$f" ] || continue
    why=$(expand "$f" | awk -v params="$params" -v file="${f#ptx/}" '
    function bad(text) { if (++faults < 4) printf "line %d: %s; ", NR, text }
    BEGIN {
        np = split(params, want, "\n")
        split("role entry params launch shared memory needs tokens mirror", \
            order, " ")
        plain = file !~ /\.in$/
        at = 0
    }
    /[ \t]$/ { bad("blank at the end") }
    /\t/ { bad("a tab") }

    # the header: one block of comments, then a blank line
    !body && /^\/\/ [a-z]+ +/ {
        at++
        if (plain && order[at] == "tokens") at++
        if ($2 != order[at]) bad("field " $2 ", not " order[at])
        field = $2
        # a plan launches what has one of its roles; others have their own list
        if (field == "role") own = $3 !~ /^(init|producer|consumer):?$/
    }
    !body && /p_[a-z_0-9]+ +\.[uf]/ {
        match($0, /p_[a-z_0-9]+ +\.[uf][0-9]+/)
        p = substr($0, RSTART, RLENGTH)
        gsub(/ +/, " ", p)
        head[++nh] = p
    }
    !body && field == "tokens" {
        line = $0
        sub(/^\/\/ *(tokens)?/, "", line)
        gsub(/\(.*/, "", line)
        n = split(line, word, " ")
        for (i = 1; i <= n; i++) listed[word[i]] = 1
    }
    !body && field == "mirror" && /^\/\/ mirror/ {
        if ((getline x < $3) < 0) bad("mirror " $3 " is not there")
        close($3)
    }
    /^$/ { body = 1 }
    {
        rest = $0
        while (match(rest, /@[A-Z][A-Z0-9_]*@/)) {
            used[substr(rest, RSTART + 1, RLENGTH - 2)] = 1
            rest = substr(rest, RSTART + RLENGTH)
        }
    }
    !body { next }

    /^    \.param / {
        p = $3 " " $2
        sub(/,/, "", p)
        parm[++npar] = p
    }
    /^    \.reg / {
        pred = $2 == ".pred"
        rest = $0
        sub(/\/\/.*/, "", rest)
        while (match(rest, /%[a-z_0-9]+/)) {
            r = substr(rest, RSTART + 1, RLENGTH - 1)
            rest = substr(rest, RSTART + RLENGTH)
            if (pred != (r ~ /^p_/)) bad("%" r ": p_ is for predicates")
        }
        next
    }
    /^ *\/\// { next }
    /^    [@a-z]/ {
        sub(/\/\/.*/, "")
        line = $0
        gsub(/@IF_[A-Z0-9]+@/, "", line)
        if (line ~ /@!?%([^p]|p[^_])/) bad("a guard that is no predicate")
        n = split(line, w, " ")
        op = w[1] ~ /^@!?%/ ? w[2] : w[1]
        if (op ~ /^(trap|brkpt)/) bad("a trap")
        if (op ~ /^(ld|st)\.(b|u|s|f|v)[0-9]/) bad(op " without state space")
        if (op ~ /^(red|atom)/ && op !~ /\.relaxed\.(gpu|cta|sys|@SCOPE@)\./)
            bad(op " without order and scope")
        # the one fence is before a flag or a trigger
        if (op ~ /^fence\.(acq|rel|sc)/ && op !~ /^fence\.acq_rel\.gpu/)
            bad(op " in the hot path")
        # guard and opcode, then operands at column 28 or on the next line
        if ($0 !~ /@IF_/ &&
            match($0, /^    (@!?%p_[a-z_0-9]+ )?[a-z0-9_.:@A-Z]+ +[^ ]/) &&
            RLENGTH != 29)
            bad("operands at column " RLENGTH - 1)
        next
    }
    /^        +\./ || /^                            [\[_%{]/ { next }
    /^[A-Z]/ && !/^L_[a-z]+:$/ { bad("a label is L_word") }
    END {
        if (own) np = nh
        for (i = 1; own && i <= np; i++) want[i] = head[i]
        for (i = 1; i <= np; i++) {
            if (head[i] != want[i]) bad("header: " head[i] ", not " want[i])
            if (parm[i] != want[i]) bad("entry: " parm[i] ", not " want[i])
        }
        if (nh != np || npar != np) bad("number of parameters")
        if (at < (plain ? 8 : 9)) bad("a field is missing")
        for (t in used) if (!(t in listed)) bad("token " t " is not listed")
        for (t in listed) if (!(t in used)) bad("token " t " is not used")
    }' 2>&1) || why="$why awk failed"
    if [ -z "$why" ]; then
        echo "ok $f"
    else
        echo "not ok $f: $why"
        code=1
    fi
done
exit $code
