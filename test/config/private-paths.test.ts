import { describe, expect, it } from "vitest";
import { loadRepoConfig } from "../../src/config/load-repo-config.ts";
import { parseRepoConfig } from "../../src/config/parse-repo-config.ts";
import { createPrivacy } from "../../src/diff/filter.ts";

const yaml = (...lines: string[]) => lines.join("\n");
const file = ".github/hunkwise.yml";
const load = (text: string) => loadRepoConfig(async (path) => (path === file ? text : undefined));

describe("private paths that are not where they belong", () => {
  it.each<[string, string, string[], { line: number; key: string | null }]>([
    [
      "in the first of two blocks",
      yaml("paths:", "  private: [secrets/]", "paths:", "  ignore: [dist/]"),
      ["secrets/"],
      { line: 3, key: null },
    ],
    [
      "in both of two blocks",
      yaml("paths: { private: [a/] }", "paths: { private: [b/] }"),
      ["a/", "b/"],
      { line: 2, key: "paths.private" },
    ],
    [
      "twice in one block",
      yaml("paths:", "  private: [a/]", "  private: [b/]"),
      ["a/", "b/"],
      { line: 3, key: "paths.private" },
    ],
    [
      "below a list",
      yaml("paths:", "  - private: [secrets/]"),
      ["secrets/"],
      { line: 2, key: "paths[0].private" },
    ],
    ["below Paths", yaml("Paths:", "  private: [secrets/]"), ["secrets/"], { line: 2, key: "Paths.private" }],
    ["as PRIVATE", yaml("paths:", "  PRIVATE: [secrets/]"), ["secrets/"], { line: 2, key: "paths.PRIVATE" }],
    ["at the top", "private: [secrets/]", ["secrets/"], { line: 1, key: "private" }],
    ["at the top, as one text", "private: secrets/", ["secrets/"], { line: 1, key: "private" }],
    ["with a dot", "paths.private: [secrets/]", ["secrets/"], { line: 1, key: "paths.private" }],
    ["as private_paths", "private_paths: [secrets/]", ["secrets/"], { line: 1, key: "private_paths" }],
    ["misspelt", yaml("paths:", "  privat: [secrets/]"), ["secrets/"], { line: 2, key: "paths.privat" }],
    ["in a file that is a list", "- paths: { private: [a/] }", ["a/"], { line: 1, key: "[0].paths.private" }],
    [
      "below a merge key",
      yaml("paths:", "  <<: { private: [secrets/] }"),
      ["secrets/"],
      { line: 2, key: "paths.<<.private" },
    ],
    [
      "in a second document",
      yaml("language: German", "---", "paths: { private: [secrets/] }"),
      ["secrets/"],
      { line: 3, key: "paths.private" },
    ],
  ])("count %s, and are a problem", async (_, text, patterns, place) => {
    const { config, problems } = await load(text);
    expect(config.paths.private).toEqual(patterns);
    expect(problems).toContainEqual({ ...place, message: expect.stringMatching(/\S/) });
  });

  it("join those that stand where they belong, and no problem is lost among many others", () => {
    const wrong = Array.from({ length: 40 }, (_, n) => `wrong${n}: 1`);
    const { config, problems } = parseRepoConfig(
      yaml(...wrong, "paths:", "  private: [a/]", "Paths:", "  private: [b/]"),
    );
    expect(config.paths.private).toEqual(["a/", "b/"]);
    expect(problems).toContainEqual(expect.objectContaining({ line: 44, key: "Paths.private" }));
    expect(problems).toHaveLength(20);
  });

  it("are not taken back by what stands elsewhere", () => {
    const { config } = parseRepoConfig(
      yaml("paths:", "  private: [a/, '!a/b', c/]", "private: ['!c/', a/b]"),
    );
    const isPrivate = createPrivacy(config.paths.private);
    expect(["a/x", "a/b", "c/x", "d"].filter(isPrivate)).toEqual(["a/x", "a/b", "c/x"]);
  });

  it("leave a list that is in order as it is, exceptions included", () => {
    const list = ["a/*", "!a/b", "a/*", "#c"];
    const { config, problems } = parseRepoConfig(`paths: { private: ${JSON.stringify(list)} }`);
    expect(config.paths.private).toEqual(list);
    expect(problems).toEqual([]);
  });
});

describe("private paths of a wrong shape", () => {
  it.each<[string, string, string[]]>([
    ["several lines of one text", yaml("paths:", "  private: |", "    a/", "    *.pem"), ["a/", "*.pem"]],
    ["one text with commas", "paths: { private: 'a/, *.pem' }", ["a/, *.pem", "a/", "*.pem"]],
    ["elements that lack a space", yaml("paths:", "  private:", "    -a/", "    -'*.pem'"), ["a/", "*.pem"]],
    ["an element that lacks a dash", yaml("paths:", "  private:", "    - a/", "      b/"), ["a/", "b/"]],
    ["elements with a comma", yaml("paths:", "  private:", "    - a/,", "    - b/"), ["a/", "b/"]],
    ["lines in an element", yaml("paths:", "  private:", "    - |", "      a/"), ["a/"]],
    ["a number among texts", "paths: { private: [a/, 2024, 007] }", ["a/", "2024", "007"]],
    ["groups of keys", yaml("paths:", "  private:", "    - path: a/"), ["path", "a/"]],
    ["lists of lists", "paths: { private: [[a/], [[b/]]] }", ["a/", "b/"]],
    ["an alias", yaml("x: &x [a/, b/]", "paths: { private: *x }"), ["a/", "b/"]],
    ["an alias of later lists", yaml("paths: { private: [&x a/, *x, b/] }", "y: 1"), ["a/", "b/"]],
    ["a set", "paths: { private: !!set { a/, b/ } }", ["a/", "b/"]],
    ["unquoted stars", yaml("paths:", "  private:", "    - *.pem", "    - '**/x'"), ["*.pem", "**/x"]],
  ])("count as %s", async (_, text, patterns) => {
    const { config, problems } = await load(text);
    const isPrivate = new Set(config.paths.private);
    for (const pattern of patterns) expect(isPrivate).toContain(pattern);
    expect(problems.length).toBeGreaterThan(0);
  });

  it("are none of a second document that is empty", () => {
    expect(parseRepoConfig(yaml("paths: { private: [a/] }", "---", ""))).toMatchObject({ problems: [] });
  });

  it("tell of a star that YAML takes for an alias", () => {
    const { problems } = parseRepoConfig(yaml("paths:", "  ignore:", "    - *.log"));
    expect(problems).toEqual([
      { line: 3, key: "paths.ignore[0]", message: expect.stringMatching(/\*\.log .*quotes/) },
    ]);
  });
});

describe("a file of which nobody can say what is private", () => {
  it.each([
    ["too large", `paths: { private: [a/] }\n# ${"x".repeat(64 * 1024)}`, /larger than 64 KB/],
    ["binary", "paths:\0", /is not text/],
    ["in UTF-16", Buffer.from("paths: { private: [a/] }", "utf16le").toString("utf8"), /is not text/],
    [
      "not in UTF-8",
      Buffer.from("paths: { private: [\xfcber/] }", "latin1").toString("utf8"),
      /not in UTF-8/,
    ],
    ["a deep nest", "[".repeat(60_000), /cannot be read/],
    ["a deep nest of maps", `a: ${"{a: ".repeat(15_000)}`, /cannot be read/],
    [
      "an alias bomb",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi"
        .split("")
        .map((name, n) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[n]}`)}]`)
        .join("\n")}`,
      /cannot be read/,
    ],
    ["a nest of keys", `${"? ".repeat(500)}private`, /does not read as a key/],
  ])("is refused when it is %s", async (_, text, reason) => {
    const failure = await load(text).then(
      () => null,
      (error) => error,
    );
    expect(failure).toMatchObject({ code: "config_invalid", message: expect.stringMatching(reason) });
    expect(failure.message).toContain(file);
    expect(failure.remedy).toMatch(/^[A-Z].+\.$/);
    expect(parseRepoConfig(text).problems[0]?.message).toMatch(reason);
  });

  it.each([
    ["an open quote swallows them", yaml('language: "German', "paths:", "  private: [a]")],
    [
      "a quote that ends later swallows them",
      yaml("paths:", '  ignore: ["x/]', '  private: ["a"]', "language: x"),
    ],
    ["a list belongs to no key", yaml("paths:", "  private:", "    - a", "? - b")],
    ["a value belongs to no key", yaml("paths:", "  private:", "    - a", ": [b]")],
    ["a list is a key", yaml("paths:", "  private:", "   ? - a", "    - b")],
    ["a key is a group of keys", yaml("? { private: [a] }", ": 1")],
    ["their list is cut off", yaml("paths:", "  private: [a,")],
    ["their list never ends", yaml("paths:", "  private: [a", "  ignore: [b]", "language: x")],
    ["an element is no YAML", yaml("paths:", "  private:", "    - a", "    - [id]/b", "language: x")],
    ["an element is reserved", yaml("paths:", "  private: [a, @b/c, d]", "language: x")],
    ["an element is a lone star", yaml("paths:", "  private:", "    - *", "language: x")],
    ["something follows their list", yaml("paths:", "  private: [a] b", "language: x")],
    ["an element is indented less", yaml("paths:", "  private:", "    - a", "   - b", "language: x")],
    ["an element is a key", yaml("paths:", "  private:", "  - a", " bad", "  - b", "language: x")],
    ["their text is indented less", yaml("paths:", "  private: |", "    a", "   b", "language: x")],
    ["tabs indent them", yaml("paths:", "  private:", "\t- a", "\t- b", "language: x")],
    ["a space lacks and a key follows", yaml("paths:", "  private:a/", "  ignore: [x]")],
    ["a space lacks", yaml("paths:", "  private:a/")],
    ["a space lacks in braces", "paths: { private:a/ }"],
    ["a space lacks in a list", yaml("paths:", "  - private:a/")],
    ["the file is a text", "private a/"],
    ["only a comment after the fault names them", yaml("language: @x", "# private: [a]")],
  ])("is refused when %s", async (_, text) => {
    const failure = await load(text).then(
      (loaded) => loaded,
      (error) => error,
    );
    expect(failure).toMatchObject({ name: "AppError", code: "config_invalid" });
    expect(failure.message).toContain(file);
    expect(failure.message).toMatch(/line \d+/);
    const { problems } = parseRepoConfig(text);
    expect(problems).toContainEqual(
      expect.objectContaining({ line: expect.any(Number), message: expect.stringMatching(/private/) }),
    );
  });

  it.each([
    ["nothing in it is private", yaml("review:", "  drafts: [true"), []],
    ["the fault lies behind them", yaml("paths:", "  private: [a]", "review: ["), ["a"]],
    ["the fault lies before them", yaml("language: @x", "paths:", "  private: [private/x]"), ["private/x"]],
    ["only a text before the fault names them", yaml("# private: no", "language: private", "review: ["), []],
    ["a tab indents them", yaml("paths:", "\tprivate: [a]"), ["a"]],
    ["a key stands twice", yaml("paths: { private: [a] }", "language: a", "language: b"), ["a"]],
  ])("is none as long as %s", async (_, text, patterns) => {
    const { config, problems } = await load(text);
    expect(config.paths.private).toEqual(patterns);
    expect(problems.length).toBeGreaterThan(0);
  });

  it("is named as the organisation's where it is that", async () => {
    const loading = loadRepoConfig(
      async () => undefined,
      async () => "paths:\0",
    );
    await expect(loading).rejects.toThrow(/the organisation's \.github\/hunkwise\.yml/);
  });

  const block = ["paths:", "  ignore: [dist/]", "  private:", "    - secrets/", "    - '*.pem'"];
  it.each([
    ["a block", yaml(...block, "language: German", "")],
    ["braces", "paths: { private: [ secrets/ , '*.pem' ], ignore: [a/] }\n"],
  ])("never passes for one in which less is private, wherever one slip damages %s", async (_, text) => {
    const open: string[] = [];
    for (const slipped of slipsOf(text)) {
      const isPrivate = await load(slipped).then(
        ({ config }) => createPrivacy(config.paths.private),
        () => () => true,
      );
      if (!["secrets/key", "a.pem"].every(isPrivate)) open.push(slipped);
    }
    expect(open).toEqual([]);
  });
});

/** `text` with any one character taken out, put in or replaced, as long as each pattern stays by itself. */
function slipsOf(text: string): Set<string> {
  const slips = ["", ..."\"'[]{}:-&*!|>@\t\n #?,x"];
  const slipped = Array.from(text, (_, at) => at).flatMap((at) =>
    slips.flatMap((slip) => [at, at + 1].map((rest) => text.slice(0, at) + slip + text.slice(rest))),
  );
  const intact = [/private/, /[-,[\n] *secrets\/ *[,\n]/, /[-,[\n] *'\*\.pem' *[\]\n]/];
  return new Set(
    slipped.filter((one) => intact.every((part) => part.test(one.replaceAll(/(?<=^|\s)#.*/g, "")))),
  );
}
