import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadRepoConfig, parseRepoConfig } from "../../src/config/load-repo-config.ts";
import { defaultRepoConfig, RepoConfig } from "../../src/config/repo-config.ts";

const yaml = (...lines: string[]) => lines.join("\n");

describe("a configuration file", () => {
  it("that is empty or only comments leaves the defaults", () => {
    for (const text of ["", "\n\n", "# later\n", "---\n"]) {
      expect(parseRepoConfig(text)).toEqual({ config: defaultRepoConfig, problems: [] });
    }
  });

  it("counts key by key, the rest stays default", () => {
    const { config, problems } = parseRepoConfig(yaml("review:", "  drafts: true", "max_comments: 5"));
    expect(problems).toEqual([]);
    expect(config).toEqual({
      ...defaultRepoConfig,
      max_comments: 5,
      review: { ...defaultRepoConfig.review, drafts: true },
    });
  });

  it.each<[string, string, { line: number | null; key: string | null; message: RegExp }]>([
    [
      "an unknown key",
      yaml("review:", "  drfts: true"),
      { line: 2, key: "review.drfts", message: /did you mean drafts\?/ },
    ],
    ["a key of nowhere", "colour: blue", { line: 1, key: "colour", message: /known are review, paths,/ }],
    [
      "a word for a switch",
      yaml("", "review:", "  drafts: no"),
      { line: 3, key: "review.drafts", message: /must be true or false, not "no"/ },
    ],
    [
      "a number too high",
      "max_comments: 1000",
      { line: 1, key: "max_comments", message: /must be at most 100, not 1000/ },
    ],
    [
      "an unknown severity",
      "minimum_severity: bad",
      { line: 1, key: "minimum_severity", message: /one of critical, high, medium, low, not "bad"/ },
    ],
    [
      "an unknown threshold",
      yaml("check:", "  threshold: bad"),
      { line: 2, key: "check.threshold", message: /one of critical, high, medium, low, never/ },
    ],
    [
      "one wrong element",
      yaml("paths:", "  ignore:", "    - 5"),
      { line: 3, key: "paths.ignore[0]", message: /must be text, not 5/ },
    ],
    [
      "a missing key",
      yaml("instructions:", "  - path: a"),
      { line: 2, key: "instructions[0].text", message: /is missing/ },
    ],
    [
      "a text for a group",
      "review: on",
      { line: 1, key: "review", message: /must be a group of keys, not "on"/ },
    ],
    ["a list at the top", "- a", { line: null, key: null, message: /must be a list of `key: value`/ }],
    ["a key twice", yaml("language: German", "language: French"), { line: 2, key: null, message: /unique/ }],
    ["broken YAML", yaml("review:", "  drafts: [true"), { line: 2, key: null, message: /./ }],
  ])("with %s gets a problem that names line and key", (_, text, { line, key, message }) => {
    const { config, problems } = parseRepoConfig(text);
    expect(problems).toEqual([{ line, key, message: expect.stringMatching(message) }]);
    expect(config).toEqual(defaultRepoConfig);
  });

  it("keeps what is right beside what is wrong", () => {
    const text = yaml(
      "max_comments: 5",
      "languag: German",
      "paths:",
      "  ignore: [a, 1, b, 2]",
      "instructions:",
      "  - path: src",
      "  - { path: lib, text: Look twice }",
    );
    const { config, problems } = parseRepoConfig(text);
    expect(problems.map(({ key }) => key)).toEqual(
      expect.arrayContaining(["languag", "paths.ignore[1]", "paths.ignore[3]", "instructions[0].text"]),
    );
    expect(config).toMatchObject({
      max_comments: 5,
      paths: { ignore: ["a", "b"] },
      instructions: [{ path: "lib", text: "Look twice" }],
    });
  });

  it.each([
    ["the file is broken further down", yaml("paths:", "  private: [secret/]", "review: [")],
    ["another key is wrong", yaml("paths:", "  private: [secret/]", "  ignor: 5")],
    ["it is a single text", yaml("paths:", "  private: secret/")],
    ["a key stands twice", yaml("paths:", "  private: [secret/]", "language: a", "language: b")],
  ])("keeps private paths private when %s", (_, text) => {
    const { config, problems } = parseRepoConfig(text);
    expect(config.paths.private).toEqual(["secret/"]);
    expect(problems.length).toBeGreaterThan(0);
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
  ])("that is %s is survived", (_, text) => {
    const { config, problems } = parseRepoConfig(text);
    expect(config).toEqual(defaultRepoConfig);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThanOrEqual(20);
  });

  it("never throws and always gives a valid configuration", () => {
    const line = fc.oneof(
      fc.string(),
      fc.constantFrom("review:", "  drafts: 1", "paths: {private: [a]}", "- &x *x", "? []"),
    );
    fc.assert(
      fc.property(fc.array(line), (lines) => {
        const { config, problems } = parseRepoConfig(lines.join("\n"));
        RepoConfig.parse(config);
        for (const { message } of problems) expect(message).not.toContain("\n");
      }),
    );
  });
});

describe("loading", () => {
  const files = (content: Record<string, string>) => async (path: string) => content[path];

  it("prefers .yml, then .yaml, then the organisation's file, then the defaults", async () => {
    const yml = { ".github/hunkwise.yml": "max_comments: 1" };
    const other = { ".github/hunkwise.yaml": "max_comments: 2" };
    const organization = files({ ".github/hunkwise.yml": "max_comments: 3" });
    expect(await loadRepoConfig(files({ ...yml, ...other }), organization)).toMatchObject({
      config: { max_comments: 1 },
      path: ".github/hunkwise.yml",
      inherited: false,
    });
    expect((await loadRepoConfig(files(other), organization)).config.max_comments).toBe(2);
    expect(await loadRepoConfig(files({}), organization)).toMatchObject({
      config: { max_comments: 3 },
      inherited: true,
    });
    expect(await loadRepoConfig(files({}))).toEqual({
      config: defaultRepoConfig,
      problems: [],
      path: null,
      inherited: false,
    });
  });

  it("fails when the file cannot be asked for, because nobody knows then what is private", async () => {
    const down = async () => {
      throw new Error("GitHub is down");
    };
    await expect(loadRepoConfig(down)).rejects.toThrow("GitHub is down");
  });
});
