# forms.py -- statements made of the rows of opcode.def, for sweep.py
#
# `forms` gives statements over types and modifiers with operands that suit
# them, `variants` one statement with other operands and with words that are
# none of its row.
import itertools
import random
import re

REG = {1: 'p', 2: 'r', 4: 'r', 8: 'c', 16: 'h', 32: 'r', 64: 'd', 128: 'x'}
SPACE_ADDRESS = {'': '[a]', 'global': '[a]', 'const': '[a]',
                 'param': '[p_src]', 'param::entry': '[p_src]',
                 'param::func': '[p_func]', 'local': '[l_var]'}
# In place of an operand.
OTHERS = ['p', 'c0', 'h0', 'r0', 'd0', 'f0', 'e0', 'x0', 'uh', 'sh', 'ur', 'sr',
          'ud', 'sd', 'hf', 'hx', 'v2a', 'v2a.x', 'v4a.y', '0', '1', '-1',
          '255', '32767', '65535', '65536', '-32769', '2147483647',
          '4294967295', '4294967296', '-2147483649', '0x7fffffffffffffff',
          '0xffffffffffffffff', '1.0', '-1.5', '0f3F800000',
          '0d3FF0000000000000', '5U', '1+2', '-(3)', '1.0+2.0', 'WARP_SZ',
          '%tid.x', '%tid', '%laneid', '%clock64', '%clock', '%gridid',
          '%lanemask_lt', '_', '!p', '!r0', '-r0', 'r0+4', 'd0+4', 'g_var',
          'g_var+4', 's_tile', 'l_var', 'c_var', 'p_src', 'fn', 'p|q',
          'p|_', '_|q', 'r0|p', '_|p', '{r0,r1}', '{h0,h1}', '{d0,d1}',
          '{c0,c1,c2,c3}', '{r0,_}', '[a]', '[sa]', '[g_var]', 'r0.b1',
          'r0.h0']


def typed(bits, t, n=0):
    """A register for type t."""
    if t == 'f32':
        return f'f{n}'
    if t == 'f64':
        return f'e{n}'
    return REG[bits[t]] + str(n) if t != 'pred' else 'pq'[n % 2]


def widened(t):
    return {'16': t[0] + '32', '32': t[0] + '64'}.get(t[1:], t)


def vector(words):
    return next((int(w[1]) for w in words if w in ('v2', 'v4', 'v8')), 1)


def condition(table, cond, words):
    """Does ?word or ?GROUP hold?"""
    return cond in words if cond not in table.groups else \
        any(w in table.groups[cond] for w in words)


def address(words, k=0):
    space = [w for w in words if w in SPACE_ADDRESS or w.startswith('shared')]
    space = space[min(k, len(space) - 1)] if space else ''
    return SPACE_ADDRESS.get(space, '[sa]')


def by_shape(table, row, words, types):
    """Lists of operands for the row's shape: optional ones both ways."""
    lists, k = [[]], 0
    first = types[0] if types else 'b32'
    for arg in row.shape:
        m = re.match(r'(.)(v?)(?::([^?]*))?(\?)?(!?)(.*)', arg)
        role, vec, of, optional, unless, cond = m.groups()
        if optional and cond and condition(table, cond, words) == bool(unless):
            continue
        t = first
        if of == '1':
            t = types[1] if len(types) > 1 else first
        elif of and of != '-':
            t = of.split('|')[0]
        if role in 'mkn' and len(types) > 1:
            t = types[2] if role != 'm' and len(types) > 2 else \
                types[1] if role != 'n' else first
        if role in 'wt' and 'wide' in words:
            t = widened(t)
        k += 1
        r = typed(table.bits, t, k)
        if vec and vector(words) > 1:
            n = vector(words)
            r = '{' + ','.join(typed(table.bits, t, j) for j in range(n)) + '}'
        some = {'p': 'p', 'P': 'p|q', 'W': 'p', 'c': 'rp', 'l': 'L0', 'i': '0',
                'E': 'r1|p', 'V': 'r1|p', 'Q': r + '|p', 'A': 'd1',
                'a': address(words, sum('[' in o for o in lists[0]))}
        if role in 'PQ':
            choice = [some[role], some[role].split('|')[0]]
        else:
            choice = [some.get(role, r)]
        more = [o + [c] for o in lists for c in choice]
        lists = lists + more if optional and not cond else more
    return lists


MAKERS = {}     # id of a row of shape * -> function(table, row, words, types)


def maker(*ids):
    def note(f):
        MAKERS.update({i: f for i in ids})
        return f
    return note


@maker('MOV')
def mov(table, row, words, types):
    n = vector(words)
    a, b = typed(table.bits, types[0], 1), typed(table.bits, types[0], 2)
    if n > 1:
        a, b = ('{' + ','.join(typed(table.bits, types[0], j + k)
                               for j in range(n)) + '}' for k in (0, 4))
    out = [[a, b]]
    bits = table.bits[types[0]]
    for parts in (2, 4) if n == 1 else ():
        if bits % parts == 0 and bits // parts in REG and bits // parts > 4:
            e = '{' + ','.join(REG[bits // parts] + str(j)
                               for j in range(parts)) + '}'
            out += [[a, e], [e, a]]
    return out


@maker('CVT')
def cvt(table, row, words, types):
    d, s = typed(table.bits, types[0], 0), typed(table.bits, types[1], 1)
    out = [[d, s], [d, s, typed(table.bits, types[1], 2)]]
    if types[0].endswith('x4'):
        out = [[d, '{f1,f2,f3,f4}']]
    more = [['r5']] if 'rs' in words else []
    more = [['c5']] if 'scaled::n1::ue8m0' in words else more
    more = [['h5']] if 'scaled::n2::ue8m0' in words else more
    return [o + m for o in out for m in more] or out


@maker('CVT_PACK')
def pack(table, row, words, types):
    return [['r0', 'r1', 'r2', 'r3'], ['r0', 'r1', 'r2']]


@maker('VADD', 'VSUB', 'VABSDIFF', 'VMIN', 'VMAX', 'VSHL', 'VSHR', 'VSET')
def video(table, row, words, types):
    return [['r0', 'r1', 'r2'], ['r0', 'r1', 'r2', 'r3'],
            ['r0.h1', 'r1.b3', 'r2.h0', 'r3'], ['r0', 'r1.b0', 'r2', 'r3']]


@maker('VMAD')
def vmad(table, row, words, types):
    return [['r0', 'r1.b1', 'r2', 'r3'], ['r0', '-r1', 'r2', 'r3'],
            ['r0', 'r1', 'r2', '-r3'], ['r0', '-r1', '-r2', 'r3'],
            ['r0.h0', 'r1', 'r2', 'r3']]


@maker('VADD2', 'VSUB2', 'VAVRG2', 'VABSDIFF2', 'VMIN2', 'VMAX2', 'VSET2')
def video2(table, row, words, types):
    return [['r0', 'r1', 'r2', 'r3'], ['r0.h0', 'r1.h12', 'r2.h30', 'r3'],
            ['r0.h1', 'r1', 'r2', 'r3'], ['r0', 'r1', 'r2']]


@maker('VADD4', 'VSUB4', 'VAVRG4', 'VABSDIFF4', 'VMIN4', 'VMAX4', 'VSET4')
def video4(table, row, words, types):
    return [['r0', 'r1', 'r2', 'r3'], ['r0.b2', 'r1.b1234', 'r2.b7610', 'r3'],
            ['r0.b310', 'r1', 'r2', 'r3'], ['r0', 'r1', 'r2']]


def braces(letter, n, start=0):
    return '{' + ','.join(f'{letter}{(start + k) % 9}' for k in range(n)) + '}'


@maker('LDMATRIX', 'STMATRIX')
def ldmatrix(table, row, words, types):
    n = next((int(w[1]) for w in words if w in ('x1', 'x2', 'x4')), 1)
    out = []
    for k in {n, 2 * n}:
        o = [braces('r', k), address(words) if address(words) != '[a]'
             else '[d0]']
        out.append(o if row.id == 'LDMATRIX' else o[::-1])
    return out


SHAPE = re.compile(r'm(\d+)n(\d+)k(\d+)$')


def fragments(table, m, n, k, types, halves):
    """How many registers D, A, B, C take."""
    out = []
    for t, count in zip(types, (m * n, m * k // halves, n * k, m * n)):
        bits = {'e2m1': 4}.get(t, table.bits[t])
        out.append(('e' if t == 'f64' else 'f' if t == 'f32' and count == m * n
                    else 'r', max(1, count * bits //
                                  (32 * (64 if t == 'f64' else 32)))))
    return out


@maker('MMA', 'MMA_SP', 'MMA_SP_ORDERED', 'WMMA', 'WMMA_XOR', 'WMMA_AND')
def mma(table, row, words, types):
    size = next((SHAPE.match(w) for w in words if SHAPE.match(w)), None)
    m, n, k = map(int, size.groups()) if size else (16, 8, 16)
    all4 = list(types)
    if row.id == 'WMMA' and len(types) == 2:
        all4 = [types[0], 'f16', 'f16', types[1]]
    sparse = row.id.startswith('MMA_SP')
    sets = [fragments(table, m, n, k, all4, 2 if sparse else 1)]
    if any('f8f6f4' in w for w in words) and 'e2m1' in types:
        wide = ['e4m3' if t == 'e2m1' else t for t in all4]
        sets = [fragments(table, m, n, k, wide, 2 if sparse else 1)]
    if size and size[0] == 'm8n8k4' and all4[1] != 'f64':
        sets = [[('r' if t == 'f16' else 'f', 8 if t == 'f32' else 4)
                 if j in (0, 3) else ('r', 2) for j, t in enumerate(all4)]]
    if row.id == 'WMMA' and all4[1] == 'f16':
        sets = [[('f', 8) if t == 'f32' else ('r', 8 if j in (1, 2) else 4)
                 for j, t in enumerate(all4)]]
    out = []
    for s in sets:
        o = [braces(letter, count, 2 * j)
             for j, (letter, count) in enumerate(s)]
        if sparse:
            o += ['r8', '0']
        if 'block_scale' in words or any('mx' in w for w in words):
            out.append(o + ['r6', '{0,1}', 'r7', '{0,1}'])
        if 'block_scale' not in words:
            out.append(o)
    return out


@maker('WMMA_LOAD_A', 'WMMA_LOAD_B', 'WMMA_LOAD_C', 'WMMA_STORE')
def wmma(table, row, words, types):
    size = next((SHAPE.match(w) for w in words if SHAPE.match(w)), None)
    m, n, k = map(int, size.groups()) if size else (16, 16, 16)
    part = {'A': m * k, 'B': k * n}.get(row.id[-1], m * n)
    t = types[0]
    count = max(1, part * table.bits[t] // (32 * (64 if t == 'f64' else 32)))
    if t == 'f16':
        count = 8 if row.id[-1] in 'AB' else 4
    letter = {'f64': 'e', 'f32': 'f'}.get(t, 'r')
    o = [braces(letter, count), address(words), 'r8']
    if row.id == 'WMMA_STORE':
        o[:2] = o[1::-1]
    return [o, o[:2]]


# -------------------------------------------------------------- statements --

def operands(table, row, words, types):
    if row.shape[:1] == ['*']:
        make = MAKERS.get(row.id)
        least = sum(not optional for optional, _ in row.types)
        types = list(types) + ['b32'] * (least - len(types))
        return make(table, row, words, types) if make else []
    return by_shape(table, row, words, types)


def spell(row, words, types, ops):
    name = '.'.join([row.word, *words, *types])
    return name + (' ' + ', '.join(ops) if ops else '') + ';'


def type_tuples(table, row, rng, share):
    """The row's tuples of types, and `share` times as many that are not."""
    sets = [([None] if optional else []) + list(types)
            for optional, types in row.types]
    good = [tuple(t for t in tup if t) for tup in itertools.product(*sets)
            if not any(a is None and b for a, b in zip(tup, tup[1:]))]
    every = list(table.bits)
    bad = [(rng.choice(every),) for _ in range(3)] + [()]
    for _ in range(int(len(good) * share) + 2):
        t = list(rng.choice(good))
        if t:
            t[rng.randrange(len(t))] = rng.choice(every)
            bad.append(tuple(t))
    if len(row.types) == 1:
        bad += [(t,) for t in every]
    return good, bad


def columns(table, row):
    """Per group of the row: its words and all others of the group."""
    out = {}
    for m in row.mods:
        own, required, two = out.get(m.group, ([], True, False))
        out[m.group] = (own + [w for w in m.words if w not in own],
                        required and m.required, m.two)
    return {g: (own, [w for w in table.groups[g] if w not in own], req, two)
            for g, (own, req, two) in out.items()}


def pick(rng, column):
    own, others, required, two = column
    x = rng.random()
    if x < (0.06 if required else 0.55):
        return []
    if others and x > 0.97:
        return [rng.choice(others)]
    word = [rng.choice(own)]
    return word + [rng.choice(own)] if two else word


def forms(table, row, cap, seed):
    """At most `cap` statements over types and modifiers."""
    rng = random.Random(f'{seed} {row.id}')
    good, bad = type_tuples(table, row, rng, 0.3)
    cols = columns(table, row)
    out = {}

    def add(words, types):
        for ops in operands(table, row, words, types):
            out.setdefault(spell(row, words, types, ops))

    required = [[[w] for w in own] if req else [[]]
                for own, _, req, _ in cols.values()]
    plain = list(itertools.product(*required))
    rng.shuffle(plain)
    todo = [(p, t) for t in good + bad
            for p in plain[:max(1, cap // (2 * len(good + bad)))]]
    rng.shuffle(todo)
    for p, t in todo[:cap // 2]:
        add(sum(p, []), t)
    optional = [g for g, c in cols.items()]
    for types in good[:cap // 20]:          # one optional word, two of them
        for g in optional:
            for w in cols[g][0] + cols[g][1]:
                base = [rng.choice(own) if req and h != g else None
                        for h, (own, _, req, _) in cols.items()]
                words = [w if h == g else b
                         for h, b in zip(cols, base) if h == g or b]
                if len(out) < cap * 3 // 4:
                    add(words, types)
    tries = 0
    while len(out) < cap and tries < 4 * cap and cols:
        tries += 1
        types = rng.choice(good if rng.random() < 0.9 else bad)
        add(sum((pick(rng, c) for c in cols.values()), []), types)
    return list(out)[:cap]


def variants(table, row, statement, rng, count):
    """A statement that ptxas takes, with something else in one place."""
    m = re.match(r'([^ ;]*) ?(.*);', statement)
    ops = re.findall(r'(?:\{[^}]*\}|\[[^\]]*\]|[^,{[])+', m[2])
    ops = [o.strip() for o in ops]
    out = []
    for k in range(len(ops)):
        for o in OTHERS:
            out.append(ops[:k] + [o] + ops[k + 1:])
    out = [m[1] + ' ' + ', '.join(o) + ';' for o in out]
    out.append(m[1] + ' ' + ', '.join(ops + ['r0']) + ';')
    if ops:
        out.append((m[1] + ' ' + ', '.join(ops[:-1])).strip() + ';')
    words = m[1][len(row.word):].split('.')[1:]
    rest = ''.join(' ' + m[2] if m[2] else '')
    every = sorted({w for g in table.groups.values() for w in g
                    if '::' not in w} | set(table.bits))
    for w in every:
        k = rng.randrange(len(words) + 1)
        out.append('.'.join([row.word, *words[:k], w, *words[k:]]) + rest + ';')
    for k in range(len(words)):
        out.append('.'.join([row.word, *words[:k], *words[k + 1:]]) + rest +
                   ';')
    if len(words) > 1:                      # the same words in another order
        for _ in range(3):
            s = list(words)
            rng.shuffle(s)
            out.append('.'.join([row.word, *s]) + rest + ';')
    rng.shuffle(out)
    return out[:count]
