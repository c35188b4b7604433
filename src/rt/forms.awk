# forms.awk -- from runtime.def and absent.def: per-thread forms, what is absent
#
# awk -f ../table/words.awk -f forms.awk runtime.def absent.def
#
# C: the _ptsz and _ptds symbols of each row, in which stream 0 is the thread's
# own, and a function that refuses for each name that is absent.
BEGIN {
    print "/* rtforms.c -- generated from runtime.def and absent.def */\n" \
        "#include \"rt/rt.h\"\n" \
        "#pragma GCC visibility push(default)\n" \
        "#pragma GCC diagnostic ignored \"-Wmissing-prototypes\"\n"
}
/^(OWN|CALL)\(/ {
    n = split(substr($0, index($0, "(") + 1), f, /, */)
    if (f[2] != "SZ" && f[2] != "DS")
        next
    rest = substr($0, index($0, f[2] ", (") + 4)
    params = substr(rest, 1, index(rest, ")"))
    printf "cudaError_t %s_%s%s\n{\n    cudaError_t e;\n\n" \
        "    fgs__rt_self.per_thread = true;\n    e = %s(%s);\n" \
        "    fgs__rt_self.per_thread = false;\n    return e;\n}\n\n", f[1], \
        f[2] == "SZ" ? "ptsz" : "ptds", params, f[1], \
        words(substr(params, 2, length(params) - 2))
}
/^ABSENT\(/ {
    sub(/^ABSENT\(/, "")
    sub(/\).*/, "")
    printf "cudaError_t %s(void)\n{\n" \
        "    return fgs__rt_note(cudaErrorNotSupported);\n}\n\n", $0
}
