# words.awk -- the names of a list of parameters, for scripts that write calls
function words(list, n, part, i, out, w)
{
    n = split(list, part, /,/)
    out = ""
    for (i = 1; i <= n; i++) {
        w = part[i]
        gsub(/[^A-Za-z0-9_]+/, " ", w)
        sub(/ +$/, "", w)
        sub(/.* /, "", w)
        if (w != "void")
            out = out (out == "" ? "" : ", ") w
    }
    return out
}
