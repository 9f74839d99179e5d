import type { Guard } from "../guard.ts";

const web = "test/attacks/web-server.test.ts";
const reach = "test/attacks/web-server-reach.test.ts";
const setup = "test/webhooks/setup.test.ts";

const server: Guard[] = [
  {
    guard: "a body that is announced as too large is not read",
    row: "oversized-payload",
    file: "src/webhooks/read-body.ts",
    from: 'if (Number(request.headers["content-length"] ?? 0) > largestBody) throw tooLarge();',
    to: "",
    test: web,
    title: "oversized-payload: that is announced as too large is refused before any of it is sent",
  },
  {
    guard: "a body ends where it grows too large",
    row: "oversized-payload",
    file: "src/webhooks/read-body.ts",
    from: "if (size > largestBody) return reject(tooLarge());",
    to: "",
    test: "test/webhooks/read-body.test.ts",
    title: "let go of what they hold, however they end",
  },
  {
    guard: "all bodies together are no larger than memory bears",
    row: "oversized-payload",
    file: "src/webhooks/read-body.ts",
    from: "if (more > 0 && held > mostHeld)",
    to: "if (held < 0)",
    test: web,
    title:
      "oversized-payload: that strangers keep open holds up nobody's small one, and is let go with its connection",
  },
  {
    guard: "what strangers hold leaves room for common webhooks",
    row: "oversized-payload",
    file: "src/webhooks/read-body.ts",
    from: "const freeBytes = 128 * 1024;",
    to: "const freeBytes = 0;",
    test: "test/webhooks/read-body.test.ts",
    title: "hold a hundred megabytes at most, beside the beginning of each, which is let through",
  },
  {
    guard: "what a body held is let go when it ends",
    row: "oversized-payload",
    file: "src/webhooks/read-body.ts",
    from: "held -= counted;",
    to: "",
    test: "test/webhooks/read-body.test.ts",
    title: "let go of what they hold, however they end",
  },
  {
    guard: "compressed bodies are refused",
    row: "oversized-payload",
    file: "src/webhooks/receive.ts",
    from: 'if ((headers["content-encoding"] ?? "identity") !== "identity")',
    to: 'if (headers["content-encoding"] === "")',
    test: web,
    title: "oversized-payload: compressed with gzip is refused, and nothing unpacks it",
  },
  {
    guard: "a body of another type is refused",
    row: "oversized-payload",
    file: "src/webhooks/receive.ts",
    from: 'if (type.trim().toLowerCase() !== "application/json")',
    to: 'if (type === "x")',
    test: web,
    title: 'oversized-payload: of the type "text/plain" is refused',
  },
  {
    guard: "a request ends after its time",
    row: "oversized-payload",
    file: "src/webhooks/http.ts",
    from: "requestTimeout: requestMs,",
    to: "requestTimeout: 0,",
    test: web,
    title:
      "oversized-payload: or headers that come drop by drop end with their connection, and others are served meanwhile",
  },
  {
    guard: "the head of a request is no larger than it need be",
    row: "oversized-payload",
    file: "src/webhooks/http.ts",
    from: "maxHeaderSize: most.headerBytes,",
    to: "maxHeaderSize: 1_000_000,",
    test: web,
    title: "is refused when it is too long, in one header, in many or in its address",
  },
  {
    guard: "a connection that waits makes room for one that does not",
    row: "slow-connections",
    file: "src/webhooks/http.ts",
    from: "slowest.destroy();",
    to: "socket.destroy();",
    test: reach,
    title:
      "slow-connections: of a thousand that drip headers and bodies hold up neither deliveries nor health checks",
  },
  {
    guard: "so many connections are open at a time",
    row: "slow-connections",
    file: "src/webhooks/http.ts",
    from: "if (open.size <= most.connections) return;",
    to: "if (open.size > 0) return;",
    test: reach,
    title: "ends the one that has waited longest for a request, where a thousand are open",
  },
  {
    guard: "a connection carries so many requests",
    row: "oversized-payload",
    file: "src/webhooks/http.ts",
    from: "server.maxRequestsPerSocket = most.requestsAConnection;",
    to: "",
    test: reach,
    title: "carries a thousand requests and no more",
  },
  {
    guard: "figures are for this machine alone, where nobody says otherwise",
    row: "oversized-payload",
    file: "src/cli/run-server.ts",
    from: "{ metricsHost: host, metricsPort }",
    to: "{ host, metricsPort }",
    test: reach,
    title: "is listened for on this machine alone, where it is for its operator",
  },
];

const outgrown: Guard[] = [
  {
    guard: "an answer is unpacked to its limit",
    row: "answer-bomb",
    file: "src/egress.ts",
    from: "bytes > limits.bytes",
    to: "bytes < 0",
    test: "test/egress.test.ts",
    title: "ends where it is beyond a limit: bytes",
  },
  {
    guard: "an answer is parsed that has few values",
    row: "answer-bomb",
    file: "src/egress.ts",
    from: "!meter.take(piece)",
    to: "!meter",
    test: "test/egress.test.ts",
    title: "ends where it is beyond a limit: elements",
  },
  {
    guard: "a fetch ends at the disk limit",
    row: "outgrown-fetch",
    file: "src/jobs/checkout-pull.ts",
    from: "requireFits: (bytes) => disk.requireFits(bytes),",
    to: "",
    test: "test/jobs/checkout-pull.test.ts",
    title: "outgrown-fetch: is refused while it is fetched, though the rest of it never arrives",
  },
];

const privateText: Guard[] = [
  {
    guard: "private follows content",
    row: "private-text",
    file: "src/tools/private-text.ts",
    from: "byName(path) || names.has(path)",
    to: "byName(path)",
    test: "test/process/private-text.test.ts",
    title: "private-text: reaches no model under any name that it has, through no tool and no first message",
  },
  {
    guard: "a private path is private in every spelling",
    row: "private-text",
    file: "src/diff/filter.ts",
    from: "asWritten(path) || folded(fold(path))",
    to: "asWritten(path) || folded('')",
    test: "test/process/private-text.test.ts",
    title: "private-text: reaches no model under any name that it has, through no tool and no first message",
  },
];

const setUp: Guard[] = [
  {
    guard: "there is no set-up page where an App is stored",
    row: "secret-unset",
    file: "src/webhooks/setup.ts",
    from: "if (hasStoredApp(env.dataDir)) {",
    to: "if (env.dataDir === '') {",
    test: setup,
    title: "closes the set-up",
  },
  {
    guard: "an App that another process has stored is not overwritten",
    row: "secret-unset",
    file: "src/webhooks/setup.ts",
    from: "if (hasStoredApp(env.dataDir)) return gone;",
    to: "",
    test: setup,
    title: "does not overwrite what another process stored while GitHub was asked",
  },
  {
    guard: "strangers do not get to see the set-up page",
    row: "secret-unset",
    file: "src/webhooks/setup.ts",
    from: "return keyWanted;",
    to: "{}",
    test: setup,
    title: "is shown to others only with the key from the log",
  },
  {
    guard: "a set-up ends in the browser in which it began",
    row: "secret-unset",
    file: "src/webhooks/setup.ts",
    from: 'if (!states.delete(state) || !same(cookieOf(request, cookie) ?? "", state)) return startAgain;',
    to: "",
    test: setup,
    title: "is refused without a state that was issued here to this browser, and GitHub is not asked",
  },
  {
    guard: "the set-up page stands in nobody's frame",
    row: "secret-unset",
    file: "src/webhooks/pages.ts",
    from: "; frame-ancestors 'none'",
    to: "",
    test: reach,
    title:
      "is there no longer once the App is set up, in the same process, and shows itself in nobody's frame",
  },
];

export const guards: readonly Guard[] = [...server, ...outgrown, ...privateText, ...setUp];
