# declarations.py -- the texts of declarations.txt, ptxas against fgs check
#
#   declarations.py [-a] [TOOLS]
#
# prints where the two differ and how often; -a prints what ptxas says of all.
# A text that needs others to be linked is asked about with -c, too.
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(HERE + '/../../..')
FGS = os.environ.get('FGS', ROOT + '/build/fgs')
BODY = '.reg .u32 %r; .reg .u64 %d; .reg .pred %p;\n'
FRAME = {
    'text': '{}',
    'module': '{}\n.entry k()\n{{\n    ret;\n}}\n',
    'body': '.entry k(.param .u64 p0, .param .b8 p1[8])\n{{\n' + BODY +
            '{}\nret;\n}}\n',
    'func': '.func (.param .b32 q) f(.param .b32 a, .reg .b32 b)\n{{\n' +
            BODY + '{}\nret;\n}}\n',
}


def texts():
    """(line number, line, whole text) of each line of the list."""
    version = target = kind = None
    with open(HERE + '/declarations.txt') as f:
        for n, line in enumerate(f, 1):
            line = line.rstrip('\n')
            if line.startswith('== '):
                version, target, kind = line.split()[1:]
            elif line and line != '#' and not line.startswith('# '):
                text = FRAME[kind].format(line.replace('\\n', '\n'))
                if kind != 'text':
                    text = '.version %s\n.target %s\n%s%s' % (
                        version, target, '.address_size 64\n'
                        if float(version) >= 2.3 else '', text)
                yield n, '%s %s %s' % (version, target, line), text


def run(command):
    p = subprocess.run(command, capture_output=True, text=True)
    why = [w for w in (p.stdout + p.stderr).split('\n')
           if re.search('error|fatal|:[0-9]+: ', w)]
    return p.returncode == 0, why[0] if why else ''


def ask(tools, path, text):
    """What ptxas and fgs check say: (takes, message) of each."""
    arch = re.search(r'\.target\s+(sm_(\d+)[af]?)', text)
    arch = arch.group(1) if arch and int(arch.group(2)) >= 75 else 'sm_75'
    with open(path, 'w') as f:
        f.write(text)
    command = [tools + '/bin/ptxas', '-arch=' + arch, '-O0', path, '-o',
               os.devnull]
    a = run(command)
    if not a[0] and re.search('Unresolved|unified|Cannot take', a[1]):
        a = run(command + ['-c'])
    return a, run([FGS, 'check', path])


def main():
    everything = '-a' in sys.argv
    rest = [a for a in sys.argv[1:] if a != '-a']
    tools = rest[0] if rest else os.environ.get(
        'TC', ROOT + '/build/toolchain/nvidia/cu13')
    count = differ = 0
    with tempfile.TemporaryDirectory() as folder, \
            concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        jobs = [(n, line, pool.submit(ask, tools, '%s/%d.ptx' % (folder, n), t))
                for n, line, t in texts()]
        for n, line, job in jobs:
            a, b = job.result()
            count += 1
            differ += a[0] != b[0]
            if everything or a[0] != b[0]:
                print('%d: %s\n    ptxas %s %s\n    fgs   %s %s' %
                      (n, line, 'takes' if a[0] else 'refuses', a[1],
                       'takes' if b[0] else 'refuses', b[1]))
    print('%d texts, %d differ' % (count, differ))


main()
