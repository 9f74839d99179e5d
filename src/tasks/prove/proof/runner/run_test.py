"""Runs one Python test file of a repository: `python3 run_test.py tests/test_x.py`, in the repository's root.

With pytest if it can be imported, so that fixtures work; otherwise the functions `test_*` without parameters and the classes of unittest, or
the file alone if it is a script of assertions. Exit codes are those of pytest: 0 if everything passed and something ran, 1 if a test failed,
2 if the file could not be loaded, 5 if nothing ran.
"""

import ast
import asyncio
import importlib
import inspect
import os
import subprocess
import sys
import traceback
import unittest

FAILED, NOT_LOADED, NOT_USABLE, NOTHING_RAN = 1, 2, 4, 5


class Runner:
    """Of pytest: runs `async def` tests if no plugin does, and counts the tests that passed."""

    def __init__(self):
        self.passed = 0

    def pytest_pyfunc_call(self, pyfuncitem):
        if not inspect.iscoroutinefunction(pyfuncitem.obj):
            return None
        names = pyfuncitem._fixtureinfo.argnames
        asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
        return True

    def pytest_runtest_logreport(self, report):
        if report.when == "call" and report.passed:
            self.passed += 1


# The repository's own options name plugins that are not there (pytest-cov, xdist), and its order must not be random.
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-o", "addopts=", "-o", "required_plugins="]
WITHOUT_CONFTEST = "--without-conftest"


def run_with_pytest(pytest, path, more):
    # Plugins of this machine are none of the repository's: some import packages that the repository itself has in another version.
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    runner = Runner()
    code = int(pytest.main([*OPTIONS, *more, "--", path], plugins=[runner]))
    if code == 0 and runner.passed == 0:
        print("no tests ran: all were skipped")
        return NOTHING_RAN
    return code


def run_again_without_conftest(path):
    """A conftest.py often imports a package that is not there, and many tests do not need it. Modules are half loaded: a new process."""
    sys.stdout.flush()
    return subprocess.run([sys.executable, __file__, path, WITHOUT_CONFTEST]).returncode


def load(path):
    """Imports the file under the name that its packages give it."""
    folder, name = os.path.split(os.path.abspath(path))
    name = os.path.splitext(name)[0]
    while os.path.exists(os.path.join(folder, "__init__.py")):
        folder, package = os.path.split(folder)
        name = package + "." + name
    sys.path.insert(0, folder)
    return importlib.import_module(name)


def needs_nothing(function):
    return all(one.default is not one.empty for one in inspect.signature(function).parameters.values())


def run_function(name, function):
    """Whether it passed."""
    try:
        result = function()
        if inspect.iscoroutine(result):
            asyncio.run(result)
        print("ok " + name)
        return True
    except unittest.SkipTest as skipped:
        print("skipped %s: %s" % (name, skipped))
        return None
    except BaseException:
        print("FAILED " + name, file=sys.stderr)
        traceback.print_exc()
        return False


def run_plainly(path):
    with open(path, "rb") as file:
        source = file.read()
    try:
        tree = ast.parse(source, path)
        module = load(path)
    except unittest.SkipTest as skipped:
        print("skipped: %s" % skipped)
        return NOTHING_RAN
    except AssertionError:
        traceback.print_exc()
        return FAILED
    except BaseException:
        traceback.print_exc()
        return NOT_LOADED
    own = [(name, one) for name, one in vars(module).items() if getattr(one, "__module__", None) == module.__name__]
    functions = [(name, one) for name, one in own if name.startswith("test") and inspect.isfunction(one)]
    ended = [run_function(name, one) for name, one in functions if needs_nothing(one)]
    for name, one in functions:
        if not needs_nothing(one):
            print("not run, because it needs fixtures of pytest: " + name, file=sys.stderr)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    if suite.countTestCases() > 0:
        result = unittest.TextTestRunner(verbosity=2).run(suite)
        ended.append(result.wasSuccessful() if result.testsRun > len(result.skipped) else None)
    is_script = not functions and suite.countTestCases() == 0
    if is_script and any(isinstance(one, (ast.Assert, ast.Raise)) for one in ast.walk(tree)):
        ended.append(True)
    if False in ended:
        return FAILED
    if True not in ended or len(ended) < len(functions):
        print("no tests ran", file=sys.stderr)
        return NOTHING_RAN
    return 0


def main(path, *more):
    root = os.getcwd()
    # In place of this file's folder.
    found = [os.path.join(root, name) for name in ("src", "lib") if os.path.isdir(os.path.join(root, name))]
    sys.path[:1] = [root, *found]
    # For the processes that the test starts.
    os.environ["PYTHONPATH"] = os.pathsep.join([root, *found, os.environ.get("PYTHONPATH", "")])
    try:
        import pytest
    except ImportError:
        pytest = None
    if pytest is None:
        return run_plainly(path)
    if more:
        return run_with_pytest(pytest, path, ["--noconftest"])
    code = run_with_pytest(pytest, path, [])
    return run_again_without_conftest(path) if code == NOT_USABLE else code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
