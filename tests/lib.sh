# lib.sh -- words for the scripts of tests/
#
# usage: . tests/lib.sh, then cases, then `end`.  A case prints one line that
# tests/run.sh counts.
failed=0
tmp=$(mktemp -d "${TMPDIR:-/tmp}/fgs-test-XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT

ok()
{
    echo "ok $1"
}
not_ok()
{
    echo "not ok $1: $2"
    failed=1
}
skip()
{
    echo "skip $1: $2"
}
# case NAME WHY COMMAND...: ok when the command succeeds.
case_is()
{
    name=$1 why=$2
    shift 2
    if "$@" > "$tmp/case" 2>&1; then
        ok "$name"
    else
        not_ok "$name" "$why"
        sed 's/^/    /' "$tmp/case"
    fi
}
end()
{
    exit "$failed"
}
