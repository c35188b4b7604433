# sweep.py -- statements of every opcode, ptxas against fgs check
#
#   sweep.py [-n N] [-v N] [-s SEED] [-t VERSION:TARGET]... [-a] OPCODE...
#
# makes at most N statements (-n) of each row of opcode.def whose word or id
# matches one of the patterns OPCODE (fnmatch), over its types and modifiers
# and their neighbours, then, of statements that ptxas takes, at most N
# variants (-v) with other operands and foreign words; asks both what they
# take, and prints where they differ and how often.  Statements on standard
# input instead of made ones: OPCODE "-".  -a prints all differences, else
# three of a kind.
import argparse
import collections
import fnmatch
import os
import random
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
from ask import Asker                       # noqa: E402
from forms import forms, variants           # noqa: E402
from rows import Table                      # noqa: E402

ROOT = os.path.abspath(os.path.dirname(os.path.abspath(__file__)) + '/../../..')
TARGETS = ['9.4:sm_107a', '8.8:sm_100a', '7.8:sm_90', '6.0:sm_70', '3.2:sm_35',
           '1.4:sm_10']


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument('opcode', nargs='+')
    p.add_argument('-n', type=int, default=1500)
    p.add_argument('-v', type=int, default=600)
    p.add_argument('-s', default='1')
    p.add_argument('-t', action='append')
    p.add_argument('-a', action='store_true')
    p.add_argument('--tools', default=os.environ.get(
        'TC', ROOT + '/build/toolchain/nvidia/cu13'))
    return p.parse_args()


def kind_of(why):
    """A message without what it names."""
    why = re.sub(r"'[^']*'", 'X', why)
    why = re.sub(r'\.[a-z]\w*(::\w+)*', '.T', why)
    return re.sub(r'-?\b\d+\b', 'N', why)


def compare(asker, st, a, b):
    """(side, statement, message) of each statement on which they differ."""
    out = []
    for k, s in enumerate(st):
        if (k in a) != (k in b):
            out.append(('fgs takes  ', s, a[k]) if k in a
                       else ('ptxas takes', s, b[k]))
    return out


def show(found, everything):
    kinds = collections.defaultdict(list)
    for side, s, why in found:
        kinds[side, kind_of(why)].append((s, why))
    for (side, _), items in sorted(kinds.items(), key=lambda i: -len(i[1])):
        print(f'  {side} {len(items):5}  {items[0][1][:100]}')
        for s, why in items if everything else items[:3]:
            print(f'       {s}' + (f'   | {why[:90]}' if everything else ''))


def sweep(asker, table, row, args, now):
    # Of what the version does not have, some are enough.
    made = forms(table, row, args.n if now >= row.ptx else 100, args.s)
    bad = asker.refused(made)
    found = compare(asker, made, bad, asker.checked(made))
    rng = random.Random(f'{args.s} {row.id}')
    base = [s for k, s in enumerate(made) if k not in bad]
    rng.shuffle(base)
    more = {}
    for s in base[:max(1, args.v // 150)]:
        for v in variants(table, row, s, rng, max(150, args.v // len(base))):
            more.setdefault(v)
    more = list(more)[:args.v]
    worse = asker.refused(more)
    found += compare(asker, more, worse, asker.checked(more))
    taken = len(made) + len(more) - len(bad) - len(worse)
    print(f'{row.word}: {len(made) + len(more)} statements, ptxas takes '
          f'{taken}, {len(found)} differ', flush=True)
    show(found, args.a)
    return len(made) + len(more), len(found)


def main():
    args = arguments()
    table = Table(ROOT)
    rows = [r for r in table.rows
            if any(fnmatch.fnmatchcase(r.word, p) or r.id == p
                   for p in args.opcode)]
    if args.opcode == ['-']:
        st = [s.strip() for s in sys.stdin if s.strip()]
    elif not rows:
        raise SystemExit('sweep.py: no such opcode')
    differ = 0
    for t in args.t or TARGETS:
        version, target = t.split(':')
        asker = Asker(ROOT, args.tools, version, target)
        now = int(float(version) * 10 + 0.5)
        count = n = 0
        print(f'== {version} {target}', flush=True)
        if args.opcode == ['-']:
            found = compare(asker, st, asker.refused(st), asker.checked(st))
            show(found, args.a)
            count, n = len(st), len(found)
        for r in rows:
            a, b = sweep(asker, table, r, args, now)
            count, n = count + a, n + b
        print(f'== {version} {target}: {count} statements, {n} differ',
              flush=True)
        differ += n
    return differ != 0


if __name__ == '__main__':
    sys.exit(main())
