import { describe, expect, it } from "vitest";
import { checkNested } from "../../../src/config/nested/check-nested.ts";
import { withNested } from "../../../src/config/nested/load-nested.ts";
import { defaultRepoConfig, minimumSeverityAt, RepoConfig } from "../../../src/config/repo-config.ts";
import { createPrivacy } from "../../../src/diff/filter.ts";
import { createPathMatcher } from "../../../src/diff/path-matcher.ts";

interface Entry {
  text: string;
  mode?: string;
}

/** A base with these files; a file's object name is its path. */
function baseOf(files: Record<string, string | Entry>) {
  const entries = new Map(
    Object.entries(files).map(([path, one]) => [path, typeof one === "string" ? { text: one } : one]),
  );
  return {
    tree: async () =>
      new Map([...entries].map(([path, { mode = "100644" }]) => [path, { mode, oid: path }] as const)),
    readBlob: async (oid: string) => ({ text: entries.get(oid)?.text ?? "" }),
  };
}

const load = (files: Record<string, string | Entry>, root: unknown = {}) =>
  withNested(RepoConfig.parse(root), baseOf(files));
const failureOf = (files: Record<string, string | Entry>) =>
  load(files).then(
    () => null,
    (error) => error,
  );

describe("files in folders", () => {
  it("change nothing where there are none", async () => {
    expect(await load({ "a/hunkwise.yml": "effort: low", "a/x.hunkwise.yml": "effort: low" })).toEqual({
      config: defaultRepoConfig,
      problems: [],
    });
  });

  it("add their lists behind those of the folders above, for their own folder alone", async () => {
    const { config, problems } = await load(
      {
        "a/b/.hunkwise.yml": "paths: { ignore: ['!x.gen.ts'] }\ninstructions: [{ path: '*.ts', text: Deep }]",
        "a/.hunkwise.yaml": "paths: { ignore: ['*.gen.ts'] }\ninstructions: [{ path: /b/, text: Above }]",
      },
      { paths: { ignore: ["docs/"] }, instructions: [{ path: "**", text: "Root" }] },
    );
    expect(problems).toEqual([]);
    expect(config.instructions).toEqual([
      { path: "**", text: "Root" },
      { path: "/a/b/", text: "Above" },
      { path: "/a/b/**/*.ts", text: "Deep" },
    ]);
    const ignored = createPathMatcher(config.paths.ignore);
    const paths = ["x.gen.ts", "docs/x", "a/x.gen.ts", "a/b/y.gen.ts", "a/b/x.gen.ts", "a/b/c/x.gen.ts"];
    expect(paths.filter((path) => ignored(path).matched)).toEqual(["docs/x", "a/x.gen.ts", "a/b/y.gen.ts"]);
  });

  it("let the nearest severity count", async () => {
    const { config } = await load(
      {
        "a/b/.hunkwise.yml": "minimum_severity: low",
        "a/.hunkwise.yml": "minimum_severity: critical",
        "a/b/c/.hunkwise.yml": "paths: {}",
      },
      { minimum_severity: "medium" },
    );
    const at = (path: string) => minimumSeverityAt(config, path);
    expect(["x", "ab/x", "a/x", "a/bc/x", "a/b/x", "a/b/c/x"].map(at)).toEqual([
      ...["medium", "medium", "critical", "critical", "low", "low"],
    ]);
  });

  it("tell file, line and key of what is wrong, and keep the rest", async () => {
    const { config, problems } = await load({
      "a/.hunkwise.yml": "minimum_severity: high\nmax_comments: 3\npaths:\n  ignor: [x]\n",
    });
    expect(problems).toEqual([
      {
        file: "a/.hunkwise.yml",
        line: 2,
        key: "max_comments",
        message: "is not known; known are paths, instructions, minimum_severity",
      },
      { file: "a/.hunkwise.yml", line: 4, key: "paths.ignor", message: expect.stringMatching(/mean ignore/) },
    ]);
    expect(minimumSeverityAt(config, "a/x")).toBe("high");
  });

  it("have instructions up to a size, and what is beyond is told", async () => {
    const long = (text: string) =>
      `instructions:\n${`  - { path: x, text: ${text.repeat(3_900)} }\n`.repeat(15)}`;
    const { config, problems } = await load({ "a/.hunkwise.yml": long("a"), "b/.hunkwise.yml": long("b") });
    expect(config.instructions).toHaveLength(15);
    expect(problems).toEqual([
      { file: "b/.hunkwise.yml", line: null, key: "instructions", message: expect.stringMatching(/count/) },
    ]);
  });
});

describe("private paths of folders", () => {
  const privateOf = async (
    files: Record<string, string>,
    root: readonly string[],
    paths: readonly string[],
  ) => paths.filter(createPrivacy((await load(files, { paths: { private: root } })).config.paths.private));

  it("add to those of the folders above, which no exception takes back", async () => {
    const files = {
      "a/.hunkwise.yml": "paths: { private: ['!x.pem', '*.key', '!open.key'] }",
      "a/b/.hunkwise.yml": "paths: { private: ['open.key', '!x.key'] }",
    };
    const paths = ["x.pem", "x.key", "a/x.pem", "a/x.key", "a/open.key", "a/b/open.key", "a/b/x.key"];
    expect(await privateOf(files, ["*.pem"], paths)).toEqual([
      ...["x.pem", "a/x.pem", "a/x.key", "a/b/open.key", "a/b/x.key"],
    ]);
  });

  it("are not taken back by an exception of the repository's file either", async () => {
    const files = { "a/.hunkwise.yml": "paths: { private: [x.md] }" };
    expect(await privateOf(files, ["*.md", "!x.md"], ["x.md", "y.md", "a/x.md"])).toEqual(["y.md", "a/x.md"]);
  });

  it.each([
    ["at the root", ".hunkwise.yml", ["a/x", "x"]],
    ["beside another one", "a/.hunkwise.yaml", ["a/x"]],
  ])("count where their file does not, %s, and it is told", async (_, path, expected) => {
    const { config, problems } = await load({
      "a/.hunkwise.yml": "paths: {}",
      [path]: "paths: { private: [x], ignore: [y] }\nminimum_severity: critical",
    });
    expect(["a/x", "x", "y"].filter(createPrivacy(config.paths.private))).toEqual(expected);
    expect(config).toMatchObject({ paths: { ignore: [] } });
    expect(minimumSeverityAt(config, "a/x")).toBe("low");
    expect(problems).toEqual([
      { file: path, line: null, key: null, message: expect.stringMatching(/count/) },
    ]);
  });

  it.each<[string, Record<string, string | Entry>, RegExp]>([
    ["is broken around them", { "a/.hunkwise.yml": "paths:\n  private: [x" }, /^a\/\.hunkwise\.yml .*line 2/],
    ["is too large", { "a/.hunkwise.yml": `# ${"x".repeat(70_000)}` }, /^a\/\.hunkwise\.yml is larger/],
    ["is binary", { "a/.hunkwise.yml": "paths:\0" }, /^a\/\.hunkwise\.yml is not text/],
    [
      "is a link",
      { "a/.hunkwise.yml": { text: "b", mode: "120000" } },
      /^a\/\.hunkwise\.yml is not a regular/,
    ],
    [
      "is one of too many",
      Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`${n}/.hunkwise.yml`, ""])),
      /^There are more than 200 .*private/,
    ],
    [
      "lists too many",
      { "a/.hunkwise.yml": `paths:\n  private:\n${"    - x\n".repeat(2_001)}` },
      /list 2001 private paths/,
    ],
  ])("refuse a review where a file %s", async (_, files, message) => {
    expect(await failureOf(files)).toMatchObject({
      ...{ code: "config_invalid", message: expect.stringMatching(message) },
      remedy: expect.stringMatching(/^[A-Z].+\.$/),
    });
  });

  it("are read from a folder whose name holds signs of patterns", async () => {
    const files = {
      "app/[id]/.hunkwise.yml": "paths: { private: ['*'] }",
      "a\n!x/.hunkwise.yml": "paths: { private: ['*', '!y'] }",
    };
    const paths = ["app/[id]/x", "app/i/x", "a\n!x/x", "a\n!x/y", "app/x"];
    expect(await privateOf(files, [], paths)).toEqual(["app/[id]/x", "a\n!x/x"]);
  });
});

describe("a check of nested files", () => {
  it("tells all that is wrong, in every file", () => {
    const texts = new Map([
      ["a/.hunkwise.yml", "paths:\n  private: [x"],
      [".hunkwise.yml", "effort: low"],
      ["b/.hunkwise.yml", "minimum_severity: high"],
    ]);
    const found = checkNested(texts).map(({ file, line, key }) => [file, line, key]);
    expect(found).toContainEqual(["a/.hunkwise.yml", 2, null]);
    expect(found).toContainEqual([".hunkwise.yml", null, null]);
    expect(found).toContainEqual([".hunkwise.yml", 1, "effort"]);
    expect(found.filter(([file]) => file === "b/.hunkwise.yml")).toEqual([]);
  });

  it("tells that there are too many", () => {
    const texts = new Map(Array.from({ length: 201 }, (_, n) => [`${n}/.hunkwise.yml`, ""]));
    expect(checkNested(texts)).toHaveLength(1);
  });
});
