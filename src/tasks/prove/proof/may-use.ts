/**
 * What a test may use, by name; what no table names is refused. `true`: it and all in it. A text: not, for this reason. A table: only its
 * members, and not as a whole; `()` stands for a call, `[]` for an item with a written key, `*` for other members. A {@link Check}.
 */
export type Use = true | string | Uses | Check;
export interface Uses {
  [name: string]: Use;
}
/**
 * What a call must have: `paths` arguments in a temporary folder; a first argument that is not the repository's own (`foreign`), and a shown
 * name of a member (`attribute`); the argument 0 (`zero`); a fixed time (`date`); programs of the same language as texts (`program`).
 */
export type Check =
  | { readonly check: "paths"; readonly count: number }
  | { readonly check: "foreign"; readonly reason: string }
  | { readonly check: "attribute" | "zero" | "date" | "program" };

export const isCheck = (use: Use): use is Check => typeof use === "object" && typeof use.check === "string";

export interface Allowed {
  /** Names of files of tests. Such a name hides no module from the code under test, and no runner reads it as its settings. */
  path: RegExp;
  globals: Uses;
  modules: Uses;
  /** Between the names of nested modules; null if the name of a package is its beginning. */
  separator: string | null;
  /** The parameter with which a runner gives a test control of itself. */
  tester: Uses;
  /** Parameters that a runner fills by their names. */
  parameters: Uses;
  /** Names of members of anything. */
  members: Uses;

  // The expressions below see names with the module they come from, such as `vitest.expect.toBe`; see `source` in the rules.
  asserts: RegExp;
  /** What runs or checks tests. */
  runners: RegExp;
  testing: RegExp;

  /** Functions that a runner runs because of their names. */
  tests: RegExp;
  /** Functions with which a file changes how tests run. */
  hooks: RegExp;
  /** Calls that give a temporary folder, keep a path below their first argument or below their object; and those that join parts. */
  folders: { makes: RegExp; joins: RegExp; extend: RegExp; parts: RegExp };
  /** Members of a path that lead out of its folder. */
  climbs?: RegExp;
  /** Methods that replace members of what they get. */
  patches?: RegExp;
  /** Calls that make a text of a function, which is its source. */
  texts?: RegExp;
  /** Expressions by their kind in the syntax tree: they `join` texts, `export` other files, take an `address`, or are `dynamic`. */
  kinds: Readonly<Record<string, "join" | "export" | "address" | "dynamic">>;
  /** Instructions to the compiler. */
  refused?: RegExp;
}

const may = (names: string): Uses =>
  Object.fromEntries(names.split(/\s+/).map((one) => [one, true as const]));
const mayNot = (reason: string, names: string): Uses =>
  Object.fromEntries(names.split(/\s+/).map((one) => [one, reason]));
const each = (use: Use, names: string): Uses =>
  Object.fromEntries(names.split(/\s+/).map((one) => [one, use]));
const paths = (count: number): Check => ({ check: "paths", count });
const foreign = (reason: string): Check => ({ check: "foreign", reason });

/** What is wrong, after "line 3" and before the text of the place. */
export const reasons = {
  private: "uses a private function, which promises nothing: call the code as its users do",
  replaces: "replaces the code under test",
  ownSource: "may read the source of the code under test",
  asks: "asks which names the code under test has",
  source: "looks at the source, not at what it does",
  hidden: "names a member that it does not show",
  dynamic: "runs code that it does not show",
  prints: "prints; a failure is an error, not a text",
  exits: "ends the process; a failure is an error",
  clock: "depends on the time",
  chance: "depends on chance",
  skips: "leaves out or repeats tests",
  starts: "starts programs, threads or workers",
  reads: "reads or changes how the program runs",
  outside: "uses files outside of a temporary folder",
  swallows: "hides failures",
  unlisted: "uses a part that is not among those that a test may use",
  undeclared: "uses a name that no line declares and a test may not use",
  /** Options of a runner's call that `skips`. */
  skipping: /^(?:skip|only|todo|retry|retries|repeats|fails|flaky)$/,
};
const { replaces, source, dynamic, prints, exits, clock, chance, skips, starts, reads, outside, swallows } =
  reasons;

const runner: Uses = {
  ...{ "()": true, each: true, for: true, extend: true },
  ...mayNot(
    skips,
    "only skip skipIf runIf todo fails failing retry repeats flaky xfail expectedFailure runOnly",
  ),
};
for (const name of ["concurrent", "sequential", "serial", "describe", "test", "it", "suite"])
  runner[name] = runner;
const runners = each(
  runner,
  "test it describe suite context specify before after beforeEach afterEach beforeAll afterAll setup teardown suiteSetup suiteTeardown onTestFinished",
);
const fakes: Uses = {
  ...may(
    "fn mocked isMockFunction useFakeTimers useRealTimers setSystemTime getMockedSystemTime advanceTimersByTime advanceTimersByTimeAsync " +
      "advanceTimersToNextTimer advanceTimersToNextTimerAsync runAllTimers runAllTimersAsync runOnlyPendingTimers runOnlyPendingTimersAsync " +
      "runAllTicks getTimerCount clearAllTimers clearAllMocks resetAllMocks restoreAllMocks stubEnv unstubAllEnvs",
  ),
  ...mayNot(clock, "retryTimes setTimeout setConfig waitFor waitUntil"),
  "*": replaces,
};
const expecting: Uses = { "()": true, poll: clock, "*": true };

const files: Uses = {
  ...each(
    paths(1),
    "readFile readFileSync writeFile writeFileSync appendFile appendFileSync mkdir mkdirSync readdir readdirSync stat statSync lstat " +
      "lstatSync exists existsSync rm rmSync rmdir rmdirSync unlink unlinkSync access accessSync createReadStream createWriteStream " +
      "utimes utimesSync truncate truncateSync open chmod chmodSync",
  ),
  ...each(paths(2), "copyFile copyFileSync cp cpSync rename renameSync"),
  ...may("mkdtemp mkdtempSync constants"),
};

const scriptTester: Uses = {
  ...mayNot(skips, "skip todo retries runOnly failing fails"),
  mock: { ...may("fn timers reset restoreAll"), "*": replaces },
  ...mayNot(prints, "diagnostic log"),
  ...{ "()": true, "[]": true, "*": true },
};

const javascript: Allowed = {
  path: /^(?!.*\b(?:config|setup|workspace|d)\.)[\w.-]+\.[cm]?[jt]sx?$/,
  separator: null,
  asserts:
    /^(?:(?:(?:vitest|@jest\/globals|chai|tap|test)\.)?(?:expect\.|assert\b)|(?:assert(?:\/strict)?|uvu\/assert)\b|(?:tape|ava|tap)\.|tester\.(?!skip|todo|after|before|test|plan|end|pass|teardown|timeout|context|log|fn|mock|signal|diagnostic|run))/,
  runners:
    /^(?:expect|assert|test|it|describe|suite|context|specify|before|after|beforeEach|afterEach|beforeAll|afterAll|vi|jest|this|tester|assert\/strict|chai|uvu|tap|tape|ava|vitest|@jest\/globals|mocha)(?![\w-])/,
  testing:
    /^(?:test|it|specify|describe|suite|before|after|beforeEach|afterEach|beforeAll|afterAll|mocha|uvu|ava|tap|tape|tester|(?:vitest|@jest\/globals)\.(?!expect|vi|jest|assert).*)(?![\w/-])/,
  tests: /^$/,
  hooks: /^prepareStackTrace$/,
  folders: {
    makes: /^(?:mkdtemp|mkdtempSync|tmpdir)$/,
    joins: /^(?:join|resolve)$/,
    extend: /^$/,
    parts: /^(?:join|resolve)$/,
  },
  patches: /^spyOn$/,
  texts:
    /^(?:concat|join|stringify|RegExp|encodeURIComponent|escape|btoa|split|localeCompare|match|test|format)$/,
  kinds: {
    "binary +": "join",
    template_substitution: "join",
    export_statement: "export",
    with_statement: "dynamic",
  },
  globals: {
    ...may(
      "NaN Infinity Array Map Set WeakMap WeakSet WeakRef Promise Number Boolean Symbol BigInt RegExp Error TypeError RangeError " +
        "SyntaxError ReferenceError EvalError URIError AggregateError DOMException JSON URL URLSearchParams TextEncoder TextDecoder " +
        "AbortController Event EventTarget CustomEvent MessageEvent Headers Request Response FormData Blob File ReadableStream " +
        "WritableStream TransformStream ByteLengthQueuingStrategy CountQueuingStrategy CompressionStream DecompressionStream " +
        "structuredClone queueMicrotask setImmediate clearImmediate parseInt parseFloat isNaN isFinite encodeURIComponent " +
        "decodeURIComponent encodeURI decodeURI ArrayBuffer SharedArrayBuffer Uint8Array Uint8ClampedArray Uint16Array Uint32Array " +
        "Int8Array Int16Array Int32Array Float32Array Float64Array BigInt64Array BigUint64Array DataView Iterator fetch assert " +
        "document HTMLElement Element Node KeyboardEvent MouseEvent super React atob btoa",
    ),
    this: scriptTester,
    ...runners,
    expect: expecting,
    ...{ expectTypeOf: true, assertType: true, vi: fakes, jest: fakes },
    ...{
      String: { ...may("fromCharCode fromCodePoint raw"), "()": foreign(reasons.ownSource) },
      Buffer: { ...may("alloc byteLength compare concat isBuffer"), from: foreign(reasons.ownSource) },
      Date: { ...may("UTC parse"), "()": { check: "date" }, "*": clock },
      Math: { random: chance, "*": true },
      AbortSignal: may("abort any"),
      Intl: { DateTimeFormat: clock, RelativeTimeFormat: clock, "*": true },
      Object: {
        ...may(
          "keys values entries fromEntries is hasOwn groupBy create freeze seal isFrozen isSealed getOwnPropertyNames",
        ),
        assign: foreign(replaces),
        ...mayNot(replaces, "defineProperty defineProperties setPrototypeOf"),
        "()": true,
      },
      process: {
        env: { "[]": true, "*": true },
        nextTick: true,
        platform: true,
        ...mayNot(exits, "exit exitCode abort kill reallyExit"),
        ...mayNot(prints, "stdout stderr"),
        "*": reads,
      },
    },
    ...mayNot(prints, "console alert"),
    ...mayNot(
      clock,
      "performance setTimeout setInterval clearTimeout clearInterval requestAnimationFrame Temporal",
    ),
    ...mayNot(chance, "crypto"),
    ...mayNot(dynamic, "eval Function Reflect Proxy global window self top WebAssembly"),
    ...mayNot(reads, "require exports arguments __dirname __filename import.meta new.target"),
  },
  modules: {
    ...may(
      "assert assert/strict chai chai-as-promised ava tap tape uvu/assert stream stream/promises string_decoder querystring zlib " +
        "events stream/web",
    ),
    test: {
      ...runners,
      default: runner,
      mock: { ...may("fn timers reset restoreAll"), "*": replaces },
      assert: true,
    },
    vitest: { ...runners, expect: expecting, vi: fakes, ...may("assert expectTypeOf assertType") },
    "@jest/globals": { ...runners, expect: expecting, jest: fakes },
    mocha: runners,
    uvu: { test: { "()": true, ...may("before after run"), ...mayNot(skips, "only skip") }, suite: true },
    path: {
      ...may("join resolve basename extname dirname sep delimiter"),
      posix: may("join basename extname dirname sep"),
      "*": outside,
    },
    url: may("URL URLSearchParams"),
    util: {
      ...may("promisify isDeepStrictEqual TextEncoder TextDecoder types stripVTControlCharacters"),
      "*": reads,
    },
    buffer: may("Blob File"),
    http: may("createServer request get Agent Server STATUS_CODES METHODS IncomingMessage ServerResponse"),
    net: may("createServer createConnection connect Socket Server isIP"),
    https: may("createServer request get Agent Server"),
    http2: may("createServer connect constants createSecureServer"),
    async_hooks: may("AsyncLocalStorage"),
    crypto: {
      ...may(
        "createHash createHmac timingSafeEqual createPublicKey createPrivateKey sign verify createCipheriv createDecipheriv scryptSync pbkdf2Sync",
      ),
      "*": chance,
    },
    fs: { ...files, promises: files, "*": outside },
    "fs/promises": { ...files, "*": outside },
    os: { tmpdir: true, EOL: true, "*": reads },
    timers: { setImmediate: true, "*": clock },
    "timers/promises": { setImmediate: true, "*": clock },
    sinon: { ...may("fake assert match useFakeTimers"), "*": replaces },
    ...mayNot(
      starts,
      "child_process worker_threads cluster execa cross-spawn shelljs zx tinyexec tinypool piscina simple-git isomorphic-git",
    ),
    ...mayNot(
      dynamic,
      "vm module inspector v8 repl wasi esm tsx jiti ts-node import-fresh decache node-eval",
    ),
    ...mayNot(
      reads,
      "process perf_hooks trace_events tty domain constants sea cwd find-up pkg-dir read-pkg read-package-up",
    ),
    ...mayNot(
      replaces,
      "proxyquire rewire testdouble esmock mock-fs mock-require rewiremock quibble memfs mock-import jest-mock nock-back @vitest/spy tinyspy sinon-chai",
    ),
    ...mayNot(chance, "uuid nanoid chance @faker-js/faker faker random-js ulid cuid fast-check"),
    ...mayNot(clock, "timekeeper mockdate p-retry async-retry delay p-wait-for wait-on"),
    ...mayNot(outside, "fs-extra glob globby fast-glob tinyglobby graceful-fs rimraf del tmp"),
  },
  tester: scriptTester,
  parameters: {},
  members: {
    ...mayNot(source, "stack prepareStackTrace captureStackTrace stackTraceLimit"),
    ...mayNot(dynamic, "constructor caller callee"),
    ...mayNot(replaces, "__proto__ prototype __defineGetter__ __defineSetter__ __lookupGetter__ spyOn"),
    ...mayNot(reads, "getBuiltinModule mainModule"),
  },
};

const pythonFiles = {
  ...each(paths(1), "listdir mkdir makedirs remove unlink rmdir stat scandir"),
  ...each(paths(2), "rename replace"),
};
const pathTests = each(paths(1), "exists isfile isdir getsize");
const mocks: Uses = { ...may("Mock MagicMock AsyncMock NonCallableMock ANY call sentinel"), "*": replaces };
const marks: Uses = { ...mayNot(skips, "skip skipif xfail flaky repeat"), "*": true };

const pytester: Uses = {
  ...each({ check: "program" }, "makepyfile makeconftest"),
  ...may("runpytest runpytest_inprocess inline_run"),
  "*": outside,
};

const httpServer: Uses = { SimpleHTTPRequestHandler: outside, CGIHTTPRequestHandler: starts, "*": true };

const python: Allowed = {
  path: /^(?:test_\w+|\w+_test)\.py$/,
  separator: ".",
  asserts:
    /^(?:tester\.(?:assert|fail)|pytest\.(?:raises|warns|deprecated_call|fail)\b)|\.(?:assert_\w+|(?:fnmatch|re_match)_lines|no_fnmatch_line)$/,
  runners: /^(?:pytest|unittest(?!\.mock)|tester)\b/,
  testing: /^$/,
  tests: /^(?:test|setUp|tearDown|asyncSetUp|asyncTearDown|runTest|setup|teardown)/,
  hooks: /^(?:load_tests$|pytest_)/,
  folders: {
    makes: /^(?:mkdtemp|TemporaryDirectory|NamedTemporaryFile|gettempdir)$/,
    joins: /^(?:join|Path|str|fspath)$/,
    extend: /^(?:joinpath|with_name|with_suffix|mktemp|mkdir)$/,
    parts: /^(?:join|joinpath|with_name)$/,
  },
  climbs: /^(?:parents?|root|anchor|drive|cwd|home|absolute|resolve|symlink_to|hardlink_to|readlink)$/,
  patches: /^(?:patch|setattr|setitem|delattr|delitem|syspath_prepend)$/,
  kinds: {},
  globals: {
    ...may(
      "abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format frozenset hash " +
        "hex int isinstance issubclass iter len list map max memoryview min next object oct ord pow property range repr reversed " +
        "round set slice sorted staticmethod classmethod str sum super tuple zip aiter anext NotImplemented Ellipsis __name__ " +
        "Exception ArithmeticError AssertionError AttributeError BufferError EOFError FileExistsError FileNotFoundError " +
        "FloatingPointError IndexError IsADirectoryError KeyError LookupError NotADirectoryError NotImplementedError OSError " +
        "OverflowError PermissionError RecursionError ReferenceError RuntimeError StopAsyncIteration StopIteration TimeoutError " +
        "TypeError UnicodeDecodeError UnicodeEncodeError UnicodeError ValueError ZeroDivisionError ConnectionError " +
        "ConnectionResetError ConnectionRefusedError BrokenPipeError ExceptionGroup BaseExceptionGroup InterruptedError " +
        "UserWarning Warning DeprecationWarning RuntimeWarning FutureWarning ResourceWarning _",
    ),
    open: paths(1),
    ...each({ "()": { check: "attribute" } }, "getattr hasattr"),
    ...each({ "()": foreign(reasons.asks) }, "type id"),
    ...mayNot(replaces, "setattr delattr"),
    ...mayNot(
      dynamic,
      "eval exec compile __import__ globals locals vars dir __builtins__ __loader__ __spec__",
    ),
    ...mayNot(prints, "print"),
    ...mayNot(exits, "exit quit SystemExit KeyboardInterrupt BaseException GeneratorExit"),
    ...mayNot(reads, "input breakpoint help __file__ __doc__ __path__ __package__ __debug__"),
    ...mayNot("takes a missing module for a result", "ImportError ModuleNotFoundError NameError SyntaxError"),
  },
  modules: {
    ...may(
      "__future__ abc base64 binascii bisect calendar collections collections.abc copy csv dataclasses decimal difflib email email.message " +
        "enum fractions functools hashlib heapq hmac html ipaddress itertools json math numbers pprint queue re " +
        "statistics string struct textwrap unicodedata urllib urllib.parse urllib.request urllib.error zlib zoneinfo " +
        "http.client http.cookies socketserver contextvars",
    ),
    operator: { ...mayNot(reasons.hidden, "attrgetter methodcaller"), "*": true },
    types: may("SimpleNamespace MappingProxyType NoneType GenericAlias TracebackType ModuleType"),
    ...each(
      { ...mayNot(dynamic, "get_type_hints ForwardRef evaluate_forward_ref"), "*": true },
      "typing typing_extensions",
    ),
    gzip: { open: paths(1), "*": true },
    http: { server: httpServer, "*": true },
    "http.server": httpServer,
    io: may("StringIO BytesIO TextIOWrapper BufferedReader BufferedWriter TextIOBase RawIOBase"),
    "xml.etree.ElementTree": may("fromstring tostring Element SubElement"),
    sqlite3: { connect: paths(1), ...may("Row IntegrityError OperationalError Error Connection Cursor") },
    logging: may("getLogger DEBUG INFO WARNING ERROR CRITICAL NOTSET Handler LogRecord Logger Formatter"),
    warnings: may("catch_warnings simplefilter"),
    pytest: {
      ...may("raises approx fixture param warns deprecated_call fail MonkeyPatch"),
      mark: marks,
      ...mayNot(skips, "skip xfail importorskip exit main"),
    },
    unittest: { ...may("TestCase IsolatedAsyncioTestCase main"), mock: mocks, "*": skips },
    "unittest.mock": mocks,
    mock: mocks,
    contextlib: {
      ...may(
        "contextmanager asynccontextmanager closing aclosing ExitStack AsyncExitStack nullcontext redirect_stdout redirect_stderr",
      ),
      suppress: swallows,
    },
    asyncio: {
      ...may(
        "run gather create_task wait_for Queue Event Lock Semaphore Condition TaskGroup Future CancelledError TimeoutError iscoroutine shield " +
          "start_server open_connection as_completed wait FIRST_COMPLETED ALL_COMPLETED QueueEmpty QueueFull StreamReader InvalidStateError",
      ),
      sleep: { check: "zero" },
    },
    datetime: {
      ...may("timedelta timezone time tzinfo UTC"),
      datetime: { ...may("() fromisoformat fromtimestamp strptime combine min max"), "*": clock },
      date: { ...may("() fromisoformat fromordinal min max"), "*": clock },
    },
    os: {
      environ: { "[]": true, ...may("get pop setdefault"), "*": reads },
      sqlite: { DatabaseSync: paths(1) },
      path: { ...may("join basename splitext sep"), ...pathTests, "*": outside },
      ...may("getenv sep linesep fspath PathLike"),
      ...pythonFiles,
      ...mayNot(exits, "_exit abort kill"),
      "*": reads,
    },
    "os.path": { ...may("join basename splitext sep"), ...pathTests, "*": outside },
    pathlib: { ...may("PurePath PurePosixPath PureWindowsPath"), Path: { "()": paths(1), "*": outside } },
    tempfile: {
      ...may("TemporaryDirectory mkdtemp NamedTemporaryFile TemporaryFile SpooledTemporaryFile mkstemp"),
      "*": outside,
    },
    shutil: { rmtree: paths(1), copy: paths(2), copyfile: paths(2), move: paths(2), "*": outside },
    threading: { ...may("Thread Event Lock RLock Barrier"), "*": reads },
    sys: {
      version_info: true,
      platform: true,
      maxsize: true,
      byteorder: true,
      ...mayNot(exits, "exit"),
      ...mayNot(prints, "stdout stderr"),
      "*": reads,
    },
    ...mayNot(
      starts,
      "subprocess multiprocessing concurrent concurrent.futures pty sh pexpect invoke plumbum git dulwich psutil",
    ),
    ...mayNot(
      dynamic,
      "ctypes importlib imp runpy code codeop pickle marshal shelve cffi cloudpickle dill zipimport pkgutil",
    ),
    ...mayNot(source, "inspect ast dis tokenize linecache traceback symtable token pyclbr trace"),
    ...mayNot(
      reads,
      "gc signal atexit sysconfig site platform resource faulthandler builtins pkg_resources mmap fcntl weakref socket select getpass pwd",
    ),
    ...mayNot(clock, "time sched timeit tenacity backoff retry retrying flaky pytest_rerunfailures"),
    ...mayNot(chance, "random secrets uuid faker hypothesis"),
    ...mayNot(outside, "glob fileinput fnmatch filecmp zipfile tarfile"),
    ...mayNot(replaces, "pytest_mock mox flexmock pyfakefs"),
  },
  tester: { ...mayNot(skips, "skipTest"), "*": true },
  parameters: {
    monkeypatch: { ...may("setenv delenv undo"), chdir: paths(1), "*": replaces },
    mocker: { ...may("Mock MagicMock AsyncMock ANY call sentinel stub"), "*": replaces },
    pytester,
    testdir: pytester,
    pytestconfig: reads,
    request: { param: true, addfinalizer: true, "*": reads },
  },
  members: {
    // Modules in modules: `logging.os`.
    ...mayNot(reads, "os sys subprocess builtins importlib inspect ctypes shutil tempfile runpy"),
    ...mayNot(
      source,
      "tb_lineno tb_frame tb_next f_back f_code f_lineno f_locals f_globals gi_frame gi_code cr_frame cr_code ag_frame co_code co_firstlineno co_filename func_code",
    ),
    ...may(
      "__name__ __init__ __enter__ __exit__ __aenter__ __aexit__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __len__",
    ),
    ...may(
      "__iter__ __next__ __aiter__ __anext__ __getitem__ __setitem__ __contains__ __call__ __str__ __repr__ __bool__ __cause__ __context__ __notes__ __await__ __post_init__",
    ),
  },
};

const goTester: Uses = {
  ...mayNot(skips, "Skip Skipf SkipNow Skipped"),
  Deadline: clock,
  Chdir: outside,
  "*": true,
};

const go: Allowed = {
  path: /^\w+_test\.go$/,
  separator: "/",
  asserts:
    /^(?:tester\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)|github\.com\/stretchr\/testify\/(?:assert|require)\.\w+|panic)$/,
  runners: /^(?:tester|testing|github\.com\/stretchr\/testify\/(?:assert|require))\b/,
  testing: /^$/,
  tests: /^Test/,
  hooks: /^(?:init|TestMain)$/,
  folders: { makes: /^(?:TempDir|MkdirTemp)$/, joins: /^Join$/, extend: /^$/, parts: /^Join$/ },
  kinds: { unary_expression: "address" },
  refused: /^\s*\/\/(?:go:|\s*\+build)|^\s*\/\*\s*#/m,
  globals: {
    ...may(
      "append cap clear close complex copy delete imag len make max min new panic real true false nil iota any bool byte comparable " +
        "complex64 complex128 error float32 float64 int int8 int16 int32 int64 rune string uint uint8 uint16 uint32 uint64 uintptr _",
    ),
    "testing.T": true,
    recover: swallows,
    ...mayNot(prints, "print println"),
  },
  modules: {
    ...may(
      "bufio bytes cmp compress/gzip container/heap container/list context crypto/hmac crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512 " +
        "database/sql encoding/base64 encoding/binary encoding/csv encoding/hex encoding/json encoding/xml errors html io iter maps math " +
        "math/big math/bits net/http/httptest net/mail net/netip net/url regexp slices sort strconv strings sync " +
        "sync/atomic unicode unicode/utf8 unicode/utf16 testing/iotest log/slog hash hash/fnv hash/crc32 mime mime/multipart",
    ),
    ...each(
      { ...mayNot(skips, "Eventually Eventuallyf EventuallyWithT Never Neverf"), "*": true },
      "github.com/stretchr/testify/assert github.com/stretchr/testify/require",
    ),
    ...each(
      { ...mayNot(outside, "Dir FileServer FileServerFS ServeFile ParseFiles ParseGlob"), "*": true },
      "net/http text/template html/template",
    ),
    testing: { ...may("T B TB F Short"), "*": reads },
    fmt: {
      ...may("Sprintf Sprint Sprintln Errorf Fprintf Fprint Fprintln Sscanf Sscan Stringer"),
      "*": prints,
    },
    os: {
      ...may(
        "Getenv Setenv Unsetenv LookupEnv ErrNotExist ErrExist ErrPermission IsNotExist IsExist O_RDWR O_CREATE O_RDONLY O_WRONLY ModePerm FileMode PathSeparator",
      ),
      ...each(
        paths(1),
        "ReadFile WriteFile Mkdir MkdirAll Create Open OpenFile Stat Lstat Remove RemoveAll ReadDir DirFS Chmod Truncate",
      ),
      Rename: paths(2),
      MkdirTemp: true,
      ...mayNot(exits, "Exit"),
      ...mayNot(prints, "Stdout Stderr"),
      "*": reads,
    },
    "path/filepath": { ...may("Join Base Ext Separator ToSlash FromSlash"), "*": outside },
    path: may("Join Base Ext"),
    time: {
      ...may(
        "Duration Nanosecond Microsecond Millisecond Second Minute Hour Date UTC Month Weekday Time Unix UnixMilli Parse ParseDuration FixedZone " +
          "RFC3339 RFC3339Nano RFC1123 RFC822 DateOnly DateTime Kitchen January February March April May June July August September October November December " +
          "Monday Tuesday Wednesday Thursday Friday Saturday Sunday",
      ),
      "*": clock,
    },
    reflect: { DeepEqual: true, "*": source },
    net: { ...may("Listen Conn Listener ParseIP IP ParseCIDR Dial Pipe"), "*": reads },
    ...mayNot(starts, "os/exec plugin"),
    ...mayNot(
      reads,
      "unsafe syscall runtime runtime/debug os/signal os/user C embed go/build testing/fstest log flag expvar",
    ),
    ...mayNot(source, "go/ast go/parser go/token go/types debug/elf debug/buildinfo"),
    ...mayNot(chance, "math/rand math/rand/v2 crypto/rand github.com/google/uuid"),
    ...mayNot(outside, "io/ioutil io/fs"),
    ...mayNot(replaces, "github.com/agiledragon/gomonkey bou.ke/monkey github.com/undefinedlabs/go-mpatch"),
  },
  tester: goTester,
  parameters: {},
  members: {},
};

export const allowed = { javascript, python, go };
