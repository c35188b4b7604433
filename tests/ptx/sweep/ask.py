# ask.py -- what ptxas and `fgs check` say of many statements, for sweep.py
import os
import re
import subprocess
import tempfile

# What a statement may name; one line each, for line numbers of statements.
BEFORE = '''\
.global .align 16 .b8 g_var[256];
.const .align 16 .b8 c_var[256];
.func fn() { ret; }
.visible .entry k(.param .u64 p_src, .param .align 128 .b8 p_tm[128])
{
.shared .align 128 .b8 s_tile[4096]; .shared .align 8 .b64 s_bar;
.local .align 16 .b8 l_var[64]; .param .align 16 .b8 p_func[16];
.reg .pred p,q,rp,p<9>; .reg .b8 c<9>; .reg .b16 h<12>; .reg .b32 r<12>;
.reg .b64 d<9>; .reg .f32 f<9>; .reg .f64 e<9>; .reg .b32 sa; .reg .b64 a;
.reg .u16 uh; .reg .s16 sh; .reg .u32 ur; .reg .s32 sr; .reg .u64 ud;
.reg .s64 sd; .reg .v2 .u32 v2a; .reg .v4 .f32 v4a;
'''
AFTER = 'L0:\nret;\n}\n'
MOST = 16       # statements a text for fgs, which keeps 20 errors
BATCH = 400     # and for ptxas


def head(version, target):
    out = f'.version {version}\n.target {target}\n'
    v = float(version)
    out += '.address_size 64\n' if v >= 2.3 else '\n'
    text = BEFORE
    if v < 2.0:         # no .param in a body, no addresses of 64 bits
        text = text.replace(' .param .align 16 .b8 p_func[16];', '')
    out += text
    out += '.reg .b128 x<9>;\n' if v >= 8.3 else '\n'
    out += '.reg .f16 hf; .reg .f16x2 hx;\n' if v >= 4.2 else '\n'
    return out


class Asker:
    def __init__(self, root, tools, version, target):
        self.fgs = os.environ.get('FGS', root + '/build/fgs')
        self.ptxas = tools + '/bin/ptxas'
        self.head = head(version, target)
        self.lines = self.head.count('\n')
        n = int(re.sub(r'\D', '', target))
        self.arch = target if n >= 75 else 'sm_75'
        self.dir = tempfile.TemporaryDirectory()

    def text(self, name, statements):
        path = f'{self.dir.name}/{name}.ptx'
        with open(path, 'w') as f:
            f.write(self.head + '\n'.join(statements) + '\n' + AFTER)
        return path

    # ---------------------------------------------------------- ptxas --

    def assemble(self, st):
        path = self.text('p', st)
        run = subprocess.run([self.ptxas, '-arch=' + self.arch, '-O0', path,
                              '-o', self.dir.name + '/p.cubin'],
                             capture_output=True, text=True)
        out, err = run.stdout + run.stderr, {}
        # Not those of its own texts, "<builtin>", of which wmma is made.
        for m in re.finditer(r'%s, line (\d+)[;,]\s*(?:error|fatal)\s*:'
                             r'\s*(.*)' % re.escape(path), out):
            n = int(m[1]) - 1 - self.lines
            if 0 <= n < len(st):
                err.setdefault(n, m[2])
        return run.returncode, err, out

    def refused(self, st):
        """{number: why} of the statements that ptxas refuses."""
        bad, todo = {}, [list(range(k, min(k + BATCH, len(st))))
                         for k in range(0, len(st), BATCH)]
        while todo:
            part = todo.pop()
            rc, err, out = self.assemble([st[k] for k in part])
            if not rc:
                continue
            if err:
                bad.update({part[k]: why for k, why in err.items()})
                part = [n for k, n in enumerate(part) if k not in err]
                if part:
                    todo.append(part)
            elif len(part) == 1:
                bad[part[0]] = (out.strip().split('\n') or [''])[0][:160] \
                    or f'ends with {rc}'
            else:
                todo += [part[:len(part) // 2], part[len(part) // 2:]]
        return bad

    # ------------------------------------------------------------ fgs --

    def checked(self, st):
        """{number: why} of the statements that fgs check refuses."""
        bad = {}
        for k in range(0, len(st), 64 * MOST):
            paths = {}
            for n in range(k, min(k + 64 * MOST, len(st)), MOST):
                paths[self.text(f'f{n}', st[n:n + MOST])] = n
            run = subprocess.run([self.fgs, 'check', *paths],
                                 capture_output=True, text=True)
            if run.returncode not in (0, 1):
                raise SystemExit(f'fgs check ended with {run.returncode}')
            for m in re.finditer(r'^(\S+?\.ptx):(\d+):\d+: (.*)', run.stderr,
                                 re.M):
                n = int(m[2]) - 1 - self.lines
                if 0 <= n < MOST:
                    bad.setdefault(paths[m[1]] + n, m[3])
                else:
                    raise SystemExit('outside the statements: ' + m[0])
            for path in paths:
                os.unlink(path)
        return bad
