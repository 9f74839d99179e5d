import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseRepoConfig } from "../../src/config/parse-config.ts";
import { defaultRepoConfig, RepoConfig } from "../../src/config/repo-config.ts";
import { createPrivacy } from "../../src/repo/diff/filter.ts";

const yaml = (...lines: string[]) => lines.join("\n");

describe("a configuration file", () => {
  it("A configuration file that is empty or only comments leaves the defaults", () => {
    for (const text of ["", "\n\n", "# later\n", "---\n"]) {
      expect(parseRepoConfig(text)).toMatchObject({ ok: true, config: defaultRepoConfig });
    }
  });

  it("A configuration file counts key by key, the rest stays default", () => {
    const parsed = parseRepoConfig(yaml("review:", "  drafts: true", "max_comments: 5"));
    const review = { ...defaultRepoConfig.review, drafts: true };
    expect(parsed).toMatchObject({ ok: true, config: { ...defaultRepoConfig, max_comments: 5, review } });
  });

  it.each<[string, string, line: number | null, key: string | null, message: RegExp]>([
    ["an unknown key", yaml("review:", "  drfts: true"), 2, "review.drfts", /did you mean drafts\?/],
    ["a key of nowhere", "color: blue", 1, "color", /known keys: review, paths,/],
    [
      "a word for a switch",
      yaml("", "review:", "  drafts: no"),
      3,
      "review.drafts",
      /must be true or false, not "no"/,
    ],
    ["a number too high", "max_comments: 1000", 1, "max_comments", /must be at most 100, not 1000/],
    [
      "an unknown severity",
      "minimum_severity: bad",
      1,
      "minimum_severity",
      /one of critical, high, medium, low, not "bad"/,
    ],
    [
      "an unknown threshold",
      yaml("check:", "  threshold: bad"),
      2,
      "check.threshold",
      /one of critical, high, medium, low, never/,
    ],
    ["one wrong element", yaml("paths:", "  ignore:", "    - 5"), 3, "paths.ignore[0]", /must be text$/],
    ["a missing key", yaml("instructions:", "  - path: a"), 2, "instructions[0].text", /is missing/],
    ["no group", "review: on", 1, "review", /must be a group of keys, not "on"/],
    ["a list at the top", "- a", null, null, /must consist of `key: value` lines/],
    ["a key twice", yaml("language: German", "language: French"), 2, "language", /twice/],
    [
      "a second document",
      yaml("language: German", "---", "paths: { private: [a] }"),
      2,
      null,
      /second document/,
    ],
    [
      "a star without quotes",
      yaml("paths:", "  ignore:", "    - *.log"),
      3,
      "paths.ignore[0]",
      /\*\.log .*quotes/,
    ],
    ["broken YAML", yaml("review:", "  drafts: [true"), 2, null, /./],
  ])("A problem of a configuration file with %s names line and key", (_, text, line, key, message) => {
    const problems = [{ line, key, message: expect.stringMatching(message) }];
    expect(parseRepoConfig(text)).toEqual({ ok: false, problems });
  });

  it("A configuration file is refused whole, and all that is wrong in it is named by line", () => {
    const text = yaml(
      "max_comments: 5",
      "languag: German",
      "paths:",
      "  ignore: [a, 1, b, 2]",
      "instructions:",
      "  - path: src",
      "  - { path: lib, text: Look twice }",
    );
    const parsed = parseRepoConfig(text);
    expect(parsed.ok ? [] : parsed.problems.map(({ line, key }) => `${line} ${key}`)).toEqual([
      ...["2 languag", "4 paths.ignore[1]", "4 paths.ignore[3]", "6 instructions[0].text"],
    ]);
  });

  it("A configuration file takes lists by an alias", () => {
    const parsed = parseRepoConfig(yaml("paths: { ignore: &x [a/, b/], private: *x }"));
    expect(parsed).toMatchObject({ ok: true, config: { paths: { private: ["a/", "b/"] } } });
  });

  it("A configuration file does not repeat a path that was to be private", () => {
    const parsed = parseRepoConfig("paths: { private: secrets/ }");
    expect(parsed).toEqual({
      ok: false,
      problems: [{ line: 1, key: "paths.private", message: "must be a list" }],
    });
  });

  it.each([
    [
      "an alias bomb",
      `a: &a [x,x,x,x,x,x,x,x,x]\n${"bcdefghi"
        .split("")
        .map((name, n) => `${name}: &${name} [${Array(9).fill(`*${"abcdefgh"[n]}`)}]`)
        .join("\n")}`,
    ],
    ["a deep nest", "[".repeat(60_000)],
    ["a deep nest of maps", `a: ${"{a: ".repeat(15_000)}`],
    ["a huge file", `# ${"x".repeat(100_000)}`],
    ["a key that is a prototype", "__proto__:\n  drafts: true"],
    ["merge keys", "<<: {max_comments: 1}"],
    ["a tag", "review: !!js/function 'x'"],
    ["thousands of keys", Array.from({ length: 9_000 }, (_, n) => `${n}:`).join("\n")],
    ["thousands of aliases of nothing", `language: [${"*a,".repeat(20_000)}]`],
  ])("A configuration file that is %s is refused with a few words", (_, text) => {
    const parsed = parseRepoConfig(text);
    expect(parsed.ok ? 0 : parsed.problems.length).toBeGreaterThan(0);
    expect(parsed.ok ? 0 : parsed.problems.length).toBeLessThanOrEqual(20);
  });

  it("A configuration file never throws, and gives a valid configuration or problems on one line", () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom("review:", "  drafts: 1", "paths: {private: [a]}", "- &x *x", "? []"),
    );
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const parsed = parseRepoConfig(lines.join("\n"));
        if (parsed.ok) RepoConfig.parse(parsed.config);
        else for (const { message } of parsed.problems) expect(message).not.toContain("\n");
      }),
    );
  });
});

describe("a file that may keep less private than was meant", () => {
  it.each<[string, string]>([
    ["are in the first of 2 blocks", yaml("paths:", "  private: [secrets/]", "paths:", "  ignore: [dist/]")],
    ["are twice in one block", yaml("paths:", "  private: [a/]", "  private: [b/]")],
    ["are below a list", yaml("paths:", "  - private: [secrets/]")],
    ["are below Paths", yaml("Paths:", "  private: [secrets/]")],
    ["are called PRIVATE", yaml("paths:", "  PRIVATE: [secrets/]")],
    ["are at the top", "private: [secrets/]"],
    ["have a dot", "paths.private: [secrets/]"],
    ["are called private_paths", "private_paths: [secrets/]"],
    ["are misspelled", yaml("paths:", "  privat: [secrets/]")],
    ["are in a file that is a list", "- paths: { private: [a/] }"],
    ["are below a merge key", yaml("paths:", "  <<: { private: [secrets/] }")],
    ["are in a second document", yaml("language: German", "---", "paths: { private: [secrets/] }")],
    ["are several lines of one text", yaml("paths:", "  private: |", "    a/", "    *.pem")],
    ["are one text with commas", "paths: { private: 'a/, *.pem' }"],
    ["lack a space", yaml("paths:", "  private:", "    -a/", "    -'*.pem'")],
    ["lack a dash", yaml("paths:", "  private:", "    - a/", "      b/")],
    ["have a comma", yaml("paths:", "  private:", "    - a/,", "    - b/")],
    ["have lines in an element", yaml("paths:", "  private:", "    - |", "      a/")],
    ["hold a number", "paths: { private: [a/, 2024, 007] }"],
    ["are groups of keys", yaml("paths:", "  private:", "    - path: a/")],
    ["are lists of lists", "paths: { private: [[a/], [[b/]]] }"],
    ["are a set", "paths: { private: !!set { a/, b/ } }"],
    ["begin with a star without quotes", yaml("paths:", "  private:", "    - *.pem", "    - '**/x'")],
    ["have a tag for a pattern", yaml("paths:", "  private:", "    - !secrets/")],
    ["are too far below in a large file", `paths: { private: [a/] }\n# ${"x".repeat(64 * 1024)}`],
    ["are in UTF-16", Buffer.from("paths: { private: [a/] }", "utf16le").toString("utf8")],
    ["are not in UTF-8", Buffer.from("paths: { private: [\xfcber/] }", "latin1").toString("utf8")],
    ["are swallowed by an open quote", yaml('language: "German', "paths:", "  private: [a]")],
    ["are swallowed by an open quote", yaml("paths:", '  ignore: ["x/]', '  private: ["a"]', "language: x")],
    ["belong to no key", yaml("paths:", "  private:", "    - a", "? - b")],
    ["have a value that belongs to no key", yaml("paths:", "  private:", "    - a", ": [b]")],
    ["have a list as a key", yaml("paths:", "  private:", "   ? - a", "    - b")],
    ["are a key", yaml("? { private: [a] }", ": 1")],
    ["are cut off", yaml("paths:", "  private: [a,")],
    ["never end", yaml("paths:", "  private: [a", "  ignore: [b]", "language: x")],
    ["hold what is no YAML", yaml("paths:", "  private:", "    - a", "    - [id]/b", "language: x")],
    ["hold what is reserved", yaml("paths:", "  private: [a, @b/c, d]", "language: x")],
    ["hold a lone star", yaml("paths:", "  private:", "    - *", "language: x")],
    ["are followed by something", yaml("paths:", "  private: [a] b", "language: x")],
    ["are indented less", yaml("paths:", "  private:", "    - a", "   - b", "language: x")],
    ["hold a key", yaml("paths:", "  private:", "  - a", " bad", "  - b", "language: x")],
    ["are indented by tabs", yaml("paths:", "  private:", "\t- a", "\t- b", "language: x")],
    ["lack a space and a key follows", yaml("paths:", "  private:a/", "  ignore: [x]")],
    ["lack a space in braces", "paths: { private:a/ }"],
    ["are a text", "private a/"],
    ["are in order and the fault is behind them", yaml("paths:", "  private: [a]", "review: [")],
    ["are in order and another key is wrong", yaml("paths:", "  private: [secret/]", "  ignor: 5")],
  ])("A file is refused when private paths %s", (_, text) => {
    const parsed = parseRepoConfig(text);
    expect(parsed.ok ? [] : parsed.problems).not.toEqual([]);
  });

  it("A file is none of those whose list is in order, exceptions included", () => {
    const list = ["a/*", "!a/b", "a/*", "# c"];
    const parsed = parseRepoConfig(`paths: { private: ${JSON.stringify(list)} }`);
    expect(parsed).toMatchObject({ ok: true, config: { paths: { private: list } } });
  });

  const block = ["paths:", "  ignore: [dist/]", "  private:", "    - secrets/", "    - '*.pem'"];
  it.each([
    ["a block", yaml(...block, "language: German", "")],
    ["braces", "paths: { private: [ secrets/ , '*.pem' ], ignore: [a/] }\n"],
  ])("A file is refused wherever one slip damages %s", (_, text) => {
    const open = [...slipsOf(text)].filter((slipped) => {
      const parsed = parseRepoConfig(slipped);
      return parsed.ok && !["secrets/key", "a.pem"].every(createPrivacy(parsed.config.paths.private));
    });
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
