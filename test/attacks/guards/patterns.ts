import type { Guard } from "../guard.ts";

const patterns = "test/attacks/patterns.test.ts";
const matcher = "test/diff/path-matcher.test.ts";
const configuration = "src/config/parse-repo-config.ts";
const characters = "test/analyzers/hidden-characters.test.ts";
const attributes = "test/analyzers/hiding-attributes.test.ts";

export const guards: readonly Guard[] = [
  {
    guard: "a path that is too long is not matched",
    row: "slow-patterns",
    file: "src/diff/path-matcher.ts",
    from: "if (path.length > MAX_PATH)",
    to: "if (path.length > MAX_PATH ** 4)",
    test: matcher,
    title: "matches paths of any depth up to 4,096 characters, and gives the answer for overlong ones beyond",
  },
  {
    guard: "an expression that unfolds is refused",
    row: "slow-patterns",
    file: "src/git/ripgrep-arguments.ts",
    from: '"--regex-size-limit=10M"',
    to: '"--regex-size-limit=1G"',
    test: patterns,
    title: "slow-patterns: an expression that unfolds is refused, and whoever asked is told",
  },
  {
    guard: "a tool has so much time and no more",
    row: "slow-patterns",
    file: "src/tools/run-tool.ts",
    from: "controller.abort(new ToolTimeout()), timeoutMs)",
    to: "controller.abort(new ToolTimeout()), timeoutMs * 1_000)",
    test: patterns,
    title: "slow-patterns: a search whose time is up ends, its program too, and the next one is answered",
  },
  {
    guard: "a large configuration is not read",
    row: "yaml-bombs",
    file: configuration,
    from: "if (Buffer.byteLength(text) > largestFile)",
    to: "if (Buffer.byteLength(text) > largestFile ** 2)",
    test: patterns,
    title: "yaml-bombs: half a megabyte leave the defaults and one word",
  },
  {
    guard: "what the parser of YAML throws is no more than a word about the file",
    row: "yaml-bombs",
    file: configuration,
    from: "return refused(unreadable.bomb(errorLine(error)), kind);",
    to: "throw new Error(errorLine(error));",
    test: patterns,
    title: "yaml-bombs: aliases of aliases leave the defaults and one word",
  },
  {
    guard: "controls of direction are looked for",
    row: "invisible-characters",
    file: "src/analyzers/hidden-in-line.ts",
    from: "at: reordered(line, isText)",
    to: "at: Math.min(-1, reordered(line, isText))",
    test: characters,
    title: "hidden characters are found as a control within a string of Latin text",
  },
  {
    guard: "tag characters are looked for",
    row: "invisible-characters",
    file: "src/analyzers/hidden-in-line.ts",
    from: "at: plain.search(tag)",
    to: "at: Math.min(-1, plain.search(tag))",
    test: characters,
    title: "hidden characters are found as text in tags",
  },
  {
    guard: "look-alikes are looked for",
    row: "invisible-characters",
    file: "src/analyzers/look-alikes.ts",
    from: "if (others.length === 0 ||",
    to: "if (others.length >= 0 ||",
    test: characters,
    title: "hidden characters are found as a Cyrillic letter in a name",
  },
  {
    guard: "no model takes back that characters are hidden, or that attributes hide code",
    row: "invisible-characters",
    file: "src/review/run-review.ts",
    from: "offline.filter(isUndisputed)",
    to: "offline.filter((one) => isUndisputed(one) && one.path === '')",
    test: "test/attacks/hidden-characters.test.ts",
    title: "invisible-characters: is shown spelled out, and is a finding whatever the model makes of it",
  },
  {
    guard: "attributes that hide code are looked for",
    row: "hiding-attributes",
    file: "src/analyzers/hiding-attributes.ts",
    from: 'if (name === "-diff") return "diff";',
    to: 'if (name === "-diff" && isOn !== true) return "diff";',
    test: attributes,
    title: "are found in *.ts -diff",
  },
];
