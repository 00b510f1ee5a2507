# SPDX-License-Identifier: BSD-3-Clause
"""A laboratory that has been started already.

To start Python and to load the laboratory takes longer than most of what tests ask of it.  So a
process loads it once and then waits; for each command it forks, and the child does what
tools/lab/flashemu-lab does: it calls main() with a command line, an environment, a folder and
outputs of its own, and ends with its exit code.

    test              this process                    a child for each command
    ended(words)  ->  fork, wait          ->          main(words)
                  <-  exit code           <-          exit

What is not the same as a start: the words of Python's own environment (PYTHON*, LC_*, LANG*) are
those of the first start, so who changes them starts the program itself.
"""

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback

from flashemu_script import PROGRAM_HANG_S

_MESSAGE = 1 << 20


def _of_python(env):
    return {k: v for k, v in env.items() if k.startswith(("PYTHON", "LC_", "LANG"))}


class Started:
    """One such process; `folder` is where the package flashemu_lab is."""

    def __init__(self, folder):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(PROGRAM_HANG_S)
        self._env = _of_python(os.environ)
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno()), folder],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)
        atexit.register(self._end)

    def _end(self):
        self._socket.close()
        self._process.wait()

    def fits(self, env):
        """Whether a command with this environment is as if it had been started."""
        return _of_python(env) == self._env

    def ended(self, words, env):
        """As ended() of flashemu_script, in the current folder."""
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            message = json.dumps([list(words), os.getcwd(), env]).encode()
            assert len(message) < _MESSAGE, len(message)
            socket.send_fds(self._socket, [message], [out.fileno(), err.fileno()])
            answer = self._socket.recv(100)
            assert answer, "the process that starts the laboratory has died"
            texts = []
            for file in out, err:
                file.seek(0)
                texts.append(file.read().decode("utf-8", "surrogateescape"))
            return int(answer), *texts


def _child(main, words, folder, env, fds):
    for fd, place in zip(fds, (1, 2)):
        os.dup2(fd, place)
        os.close(fd)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    code = 1
    try:
        code = main(words)
    except SystemExit as e:
        code = e.code
    except BaseException:  # as the interpreter does
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _serve(fd, folder):
    sys.path.insert(0, folder)
    from flashemu_lab.cli.completion import commands
    from flashemu_lab.cli.main import main, performer
    from flashemu_lab.cli.parser import build_parser
    for command in commands(build_parser()):
        performer(command)  # loads what the command needs, numpy first of all
    with socket.socket(fileno=fd) as commands:
        while True:
            message, fds, _, _ = socket.recv_fds(commands, _MESSAGE, 2)
            if not message:  # the test has ended
                return
            pid = os.fork()
            if pid == 0:
                commands.close()
                _child(main, *json.loads(message), fds)
            for each in fds:
                os.close(each)
            _, status = os.waitpid(pid, 0)
            commands.send(b"%d" % os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])
