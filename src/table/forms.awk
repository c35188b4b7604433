# forms.awk -- from entry.def and absent.def: per-thread forms, drop-in library
#
# awk -v make=forms|dropin -f words.awk -f forms.awk entry.def absent.def
#
# forms   C: the _ptds and _ptsz forms of the entry points, and a table of all
#         symbols with name, version and function
# dropin  C: the functions that build/drop-in/libcuda.so.1 exports
function symbol(sym, thread)
{
    if (make == "dropin" && sym ~ /^@/)
        return
    if (make == "dropin") {
        if (thread)
            body = "fgs__sim_" fn "_" suffix
        else
            body = "fgs__sim_" fn
        printf "CUresult %s%s\n{\n    return %s(%s);\n}\n\n", sym, params, \
            body, args
        return
    }
    table = table sprintf("    { \"%s\", \"%s\", %s, %d, (fgs__sim_any)" \
        "fgs__sim_%s%s },\n", sym, name, abi, thread, fn, \
        thread ? "_" suffix : "")
}
function row(forms, last)
{
    args = words(substr(params, 2, length(params) - 2))
    last = forms ~ /^OLD/ ? name : forms ~ /^HID/ ? "@" fn : fn
    newest = abi
    if (match(forms, /_[0-9]+/))
        abi = substr(forms, RSTART + 1, RLENGTH - 1)
    if (forms !~ /^N2/)
        symbol(last, 0)
    abi = newest
    if (forms ~ /^[VN]2/) {
        last = fn "_v2"
        symbol(last, 0)
    }
    suffix = forms ~ /DS$/ ? "ptds" : "ptsz"
    if (forms !~ /(DS|SZ)$/)
        return
    printf "CUresult fgs__sim_%s_%s%s;\n", fn, suffix, params
    if (make == "forms")
        printf "CUresult fgs__sim_%s_%s%s\n{\n    CUresult r;\n\n" \
            "    fgs__sim_per_thread = true;\n    r = fgs__sim_%s(%s);\n" \
            "    fgs__sim_per_thread = false;\n    return r;\n}\n\n", fn, \
            suffix, params, fn, args
    symbol(last "_" suffix, 1)
}
function field(text)
{
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}
BEGIN {
    if (make == "forms")
        print "/* forms.c -- generated from entry.def */\n" \
            "#include \"sim/form.h\"\n"
    else
        print "/* dropin.c -- generated from entry.def and absent.def */\n" \
            "#include \"sim/form.h\"\n#define EXPORT " \
            "__attribute__((visibility(\"default\")))\n" \
            "#pragma GCC visibility push(default)\n" \
            "#pragma GCC diagnostic ignored \"-Wmissing-prototypes\"\n"
}
/^(ENTRY|FORM)\(/ {
    at = index($0, "(")
    n = split(substr($0, at + 1), f, /,/)
    fn = field(f[1])
    name = fn
    k = 2
    if ($0 ~ /^FORM/) {
        name = field(f[2])
        k = 3
    }
    abi = field(f[k])
    forms = field(f[k + ($0 ~ /^FORM/ ? 1 : 2)])
    rest = substr($0, at + 1)
    params = substr(rest, index(rest, "("))
    sub(/\)[ \t]*$/, "", params)
    row(forms)
}
/^ABSENT\(/ && make == "dropin" {
    sub(/^ABSENT\(/, "")
    sub(/\).*/, "")
    printf "CUresult %s(void)\n{\n    return CUDA_ERROR_NOT_SUPPORTED;\n}\n\n", $0
}
END {
    if (make == "forms")
        printf "const struct fgs__sim_form fgs__sim_forms[] = {\n%s" \
            "    { 0, 0, 0, 0, 0 }\n};\n", table
}
