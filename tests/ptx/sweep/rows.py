# rows.py -- what opcode.def, modifier.def and type.def say, for sweep.py
import re


def rows_of(path, macro):
    """The arguments of each `macro(...)` of an X-list, strings joined."""
    text = open(path).read()
    text = re.sub(r'/\*.*?\*/', ' ', text, flags=re.S)
    text = re.sub(r'^\s*#.*$', '', text, flags=re.M)
    out = []
    for m in re.finditer(r'\b%s\(' % macro, text):
        depth, at, args, quoted, arg = 1, m.end(), [], False, ''
        while depth:
            c = text[at]
            at += 1
            if c == '"':
                quoted = not quoted
            elif quoted:
                pass
            elif c == '(':
                depth += 1
            elif c == ')':
                depth -= 1
            if not quoted and (c == ',' and depth == 1 or not depth):
                args.append(arg.strip())
                arg = ''
            else:
                arg += c
        out.append([''.join(re.findall(r'"([^"]*)"', a)) if '"' in a else a
                    for a in args])
    return out


def classes_of(path):
    """The named sets of types of words.c."""
    text = open(path).read()
    text = text[text.index('} classes[]'):]
    text = text[:text.index('};')]
    return {args[0]: ''.join(args[1:]) for args in
            (re.findall(r'"([^"]*)"', item)
             for item in re.findall(r'\{([^{}]*)\}', text)) if args}


class Mod:
    """One item of the column of modifiers: GROUP{2}{!}{=words}{:types}."""

    def __init__(self, group, two, required, words, types):
        self.group, self.two, self.required = group, two, required
        self.words, self.types = words, types


class Row:
    def __init__(self, table, args):
        self.id, self.word, shape, types, mods = args[:5]
        self.ptx, self.cc = int(args[5]), int(args[6])
        self.shape = shape.split()
        self.types = [(t[0] == '?', table.types_of(t.lstrip('?')))
                      for t in types.split()]
        self.mods = [table.mod_of(m) for m in mods.split()]


class Table:
    def __init__(self, root):
        ptx = root + '/src/ptx/'
        self.bits = {t[1]: int(t[2]) for t in rows_of(ptx + 'type.def', 'TYPE')}
        self.kind = {t[1]: t[3] for t in rows_of(ptx + 'type.def', 'TYPE')}
        self.classes = classes_of(ptx + 'words.c')
        self.groups = {}
        reports = ['mbarrier::report::' + m[1] for m in
                   rows_of(root + '/src/table/mechanism.def', 'MECH')]
        for _, group, word in (m for m in rows_of(ptx + 'modifier.def', 'MOD')
                               if len(m) == 3):
            if '"' not in word and word:
                self.groups.setdefault(group, []).append(word)
        self.groups['REPORT'] = reports
        self.rows = [Row(self, r) for r in rows_of(ptx + 'opcode.def', 'OP')]

    def types_of(self, text):
        out = []
        for t in text.split('|'):
            out += self.types_of(self.classes[t]) if t in self.classes else [t]
        return out

    def mod_of(self, text):
        m = re.match(r'([A-Z][A-Z_0-9]*?)(2?)(!?)(?:=(.*?))?(?:(?<!:):([^:].*))?$',
                     text)
        group, two = m[1], m[2]
        if group not in self.groups and group + two in self.groups:
            group, two = group + two, ''
        if m[1] + m[2] in self.groups:
            group, two = m[1] + m[2], ''
        return Mod(group, bool(two), bool(m[3]),
                   m[4].split(',') if m[4] else list(self.groups[group]),
                   self.types_of(m[5]) if m[5] else None)
