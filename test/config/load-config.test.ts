import { describe, expect, it } from "vitest";
import { checkNested, loadRepoConfig, sparesIn, withNested } from "../../src/config/load-config.ts";
import { parseRepoConfig, patternWarnings } from "../../src/config/parse-config.ts";
import {
  defaultRepoConfig,
  isNestedName,
  minimumSeverityAt,
  RepoConfig,
} from "../../src/config/repo-config.ts";
import { AppError } from "../../src/core/errors.ts";
import { createPrivacy } from "../../src/repo/diff/filter.ts";
import { createPathMatcher } from "../../src/repo/diff/paths.ts";

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
    readBlob: async (oid: string) => ({ text: entries.get(oid)?.text ?? "", encoding: "utf8" as const }),
  };
}

const long = (text: string) =>
  `instructions:\n${`  - { path: x, text: ${text.repeat(3_900)} }\n`.repeat(15)}`;

const load = (files: Record<string, string | Entry>, root: unknown = {}) =>
  withNested(RepoConfig.parse(root), baseOf(files));
const failureOf = (files: Record<string, string | Entry>) =>
  load(files).then(
    () => null,
    (error) => error,
  );

describe("a configuration under a near name", () => {
  it.each([
    ...["hunkwise.yml", "hunkwise.yaml", "hunkwise.json", "Hunkwise.yml", ".hunkwise.json", ".HUNKWISE.YML"],
    ...[".github/Hunkwise.yml", ".github/hunkwise.json", ".github/.hunkwise.yaml", ".github/hunk-wise.yml"],
    ...[".github/hunkwsie.yml", ".GitHub/hunkwise.yml"],
  ])("A configuration under a near name (%s) is refused, and told where it belongs", async (path) => {
    const failure = await failureOf({ [path]: "paths: { private: ['keys/'] }", "a.ts": "" });
    expect(failure).toMatchObject({ code: "config_invalid" });
    expect(failure.message).toContain(`${path}: is not `);
    expect(failure.message).toContain(".github/hunkwise.yml");
    expect(await checkNested(new Map([[path, ""]]))).toHaveLength(path === ".hunkwise.yml" ? 2 : 1);
  });

  it("A configuration under a near name is refused in a folder if it begins with a dot", async () => {
    expect((await failureOf({ "a/b/.hunkwise.json": "" })).message).toContain("is a/b/.hunkwise.yml; move");
    const spare = { ".github/hunkwise.yml": "", "hunkwise.json": "{}", ".github/Hunkwise.yml": "" };
    expect(await failureOf(spare)).toBeNull();
    expect(sparesIn(await baseOf(spare).tree())).toEqual(["hunkwise.json", ".github/Hunkwise.yml"]);
    const both = { ".github/hunkwise.yml": "", ".github/hunkwise.yaml": "" };
    expect((await failureOf(both)).message).toContain(".github/hunkwise.yaml: is not read");
  });

  it("A configuration under a near name is not meant by other files", async () => {
    const others = [".github/hunkwise.yaml", ".github/workflows/hunkwise.yml", "deploy/hunkwise.yaml"];
    const more = [
      "docs/hunkwise.schema.json",
      "hunkwise.md",
      ".github/funding.yml",
      "hunkwise",
      "hawkwise.yml",
    ];
    expect(await load(Object.fromEntries([...others, ...more].map((path) => [path, ""])))).toEqual(
      defaultRepoConfig,
    );
    const given = withNested(defaultRepoConfig, baseOf({ "hunkwise.yml": "" }), isNestedName);
    expect(await given).toEqual(defaultRepoConfig);
  });
});

describe("a pattern that can match no file", () => {
  it("A private pattern that can match no file refuses the configuration", async () => {
    for (const pattern of ["./keys/**", "keys\\**", "keys\\*", "/home/me/keys/*", "", "#x", "[z-a]"]) {
      const text = `paths:\n  private: ["# mine", ${JSON.stringify(pattern)}]\n`;
      const message = /yml:2: paths\.private\[1\] can match no file: it (?:has|begins)/;
      await expect(loadRepoConfig(async () => text)).rejects.toThrow(message);
      expect((await failureOf({ "a/.hunkwise.yml": text })).message).toMatch(message);
    }
  });

  it("A pattern that can match no file is a problem of a check in every list", async () => {
    const text =
      "paths: { ignore: ['./a'] }\ninstructions: [{ path: 'b//c', text: x }]\nprove: { run: [{ files: ../d, command: 'x {file}' }] }\n" +
      "rules: { eval: { off: ['e\\f'] }, x-y: { what: y, where: ['./g'] } }\n";
    const checked = parseRepoConfig(text, { isStrict: true });
    expect(checked.ok ? [] : checked.problems.map(({ line, key }) => `${line} ${key}`)).toEqual([
      ...["1 paths.ignore[0]", "2 instructions[0].path", "3 prove.run[0].files"],
      ...["4 rules.eval.off[0]", "4 rules.x-y.where[0]"],
    ]);
    const read = await loadRepoConfig(async () => text);
    expect(patternWarnings(read.config)).toHaveLength(5);
    expect(patternWarnings(read.config)[0]).toMatch(
      /^The pattern \.\/a of paths can match no file: it has a part/,
    );
    expect(patternWarnings(defaultRepoConfig)).toEqual([]);
  });
});

describe("files in folders", () => {
  it("Configuration files in folders change nothing where there are none", async () => {
    const files = { "a/hunkwise.yml": "effort: low", "a/x.hunkwise.yml": "effort: low" };
    expect(await load(files)).toEqual(defaultRepoConfig);
  });

  it("Configuration files in folders add their lists behind those of the folders above", async () => {
    const config = await load(
      {
        "a/b/.hunkwise.yml": "paths: { ignore: ['!x.gen.ts'] }\ninstructions: [{ path: '*.ts', text: Deep }]",
        "a/.hunkwise.yaml": "paths: { ignore: ['*.gen.ts'] }\ninstructions: [{ path: /b/, text: Above }]",
      },
      { paths: { ignore: ["docs/"] }, instructions: [{ path: "**", text: "Root" }] },
    );
    expect(config.instructions).toEqual([
      { path: "**", text: "Root" },
      { path: "/a/b/", text: "Above" },
      { path: "/a/b/**/*.ts", text: "Deep" },
    ]);
    const ignored = createPathMatcher(config.paths.ignore);
    const paths = ["x.gen.ts", "docs/x", "a/x.gen.ts", "a/b/y.gen.ts", "a/b/x.gen.ts", "a/b/c/x.gen.ts"];
    expect(paths.filter((path) => ignored(path).matched)).toEqual(["docs/x", "a/x.gen.ts", "a/b/y.gen.ts"]);
  });

  it("Configuration files in folders let the nearest severity count", async () => {
    const config = await load(
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
});

describe("private paths of folders", () => {
  const privateOf = async (
    files: Record<string, string>,
    root: readonly string[],
    paths: readonly string[],
  ) => paths.filter(createPrivacy((await load(files, { paths: { private: root } })).paths.private));

  it("Private paths of folders add to those of the folders above", async () => {
    const files = {
      "a/.hunkwise.yml": "paths: { private: ['!x.pem', '*.key', '!open.key'] }",
      "a/b/.hunkwise.yml": "paths: { private: ['open.key', '!x.key'] }",
    };
    const paths = ["x.pem", "x.key", "a/x.pem", "a/x.key", "a/open.key", "a/b/open.key", "a/b/x.key"];
    expect(await privateOf(files, ["*.pem"], paths)).toEqual([
      ...["x.pem", "a/x.pem", "a/x.key", "a/b/open.key", "a/b/x.key"],
    ]);
  });

  it("An exception of the repository's file takes no private path back", async () => {
    const files = { "a/.hunkwise.yml": "paths: { private: [x.md] }" };
    expect(await privateOf(files, ["*.md", "!x.md"], ["x.md", "y.md", "a/x.md"])).toEqual(["y.md", "a/x.md"]);
  });

  it.each<[string, Record<string, string | Entry>, RegExp]>([
    ["is broken", { "a/.hunkwise.yml": "paths:\n  private: [x" }, /a\/\.hunkwise\.yml:2: /],
    [
      "has unknown keys",
      { "a/.hunkwise.yml": "minimum_severity: high\nmax_comments: 3\npaths:\n  ignor: [x]\n" },
      /yml:2: max_comments is not a known key \(known keys: paths, instructions, minimum_severity\); a\/\.hunkwise\.yml:4: paths\.ignor is not a known key \(did you mean ignore\?\)$/,
    ],
    ["is too large", { "a/.hunkwise.yml": `# ${"x".repeat(70_000)}` }, /a\/\.hunkwise\.yml: is larger/],
    ["is binary", { "a/.hunkwise.yml": "paths:\0" }, /a\/\.hunkwise\.yml: is not UTF-8 text/],
    [
      "is a link",
      { "a/.hunkwise.yml": { text: "b", mode: "120000" } },
      /a\/\.hunkwise\.yml: is not a regular/,
    ],
    [
      "is at the root",
      { ".hunkwise.yml": "paths: { private: [x] }" },
      /: \.hunkwise\.yml: is not allowed at the root/,
    ],
    [
      "is beside another one",
      { "a/.hunkwise.yml": "", "a/.hunkwise.yaml": "" },
      /a\/\.hunkwise\.yaml: is not allowed next to \.hunkwise\.yml/,
    ],
    [
      "is one of too many",
      Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`${n}/.hunkwise.yml`, ""])),
      /is one of more than 200 files/,
    ],
    [
      "lists too many private paths",
      { "a/.hunkwise.yml": `paths:\n  private:\n${"    - x\n".repeat(2_001)}` },
      /a\/\.hunkwise\.yml: paths\.private exceeds the limit of 2000 patterns/,
    ],
    [
      "takes instructions beyond what a model reads",
      { "a/.hunkwise.yml": long("a"), "b/.hunkwise.yml": long("b") },
      /: b\/\.hunkwise\.yml: instructions exceeds the limit/,
    ],
  ])("Private paths of folders refuse the configuration if a file %s", async (_, files, message) => {
    expect(await failureOf(files)).toMatchObject({
      ...{ code: "config_invalid", message: expect.stringMatching(message) },
      remedy: expect.stringMatching(/^Correct it on the base branch; .+\.$/),
    });
  });

  it("Instructions of the repository's own file do not count among those of folders", async () => {
    const own = Array.from({ length: 20 }, () => ({ path: "*", text: "x".repeat(4_000) }));
    const root = { ...defaultRepoConfig, instructions: own };
    const { instructions } = await withNested(root, baseOf({ "a/.hunkwise.yml": "" }));
    expect(instructions).toHaveLength(20);
  });

  it("Private paths of folders refuse it if a file is too large to be read at all", async () => {
    const tooLarge = async () => {
      throw new AppError("too_large", "100 MB");
    };
    const tree = { ...baseOf({ "a/.hunkwise.yml": "" }), readBlob: tooLarge };
    await expect(withNested(defaultRepoConfig, tree)).rejects.toMatchObject({
      ...{
        code: "config_invalid",
        message: expect.stringMatching(/a\/\.hunkwise\.yml: is larger than 64 KB/),
      },
    });
  });

  it("Private paths of folders refuse it if a file is text in another encoding", async () => {
    const base = baseOf({ "a/.hunkwise.yml": "paths: { private: ['ñåê/**'] }\n" });
    const readBlob = async (oid: string) => ({ ...(await base.readBlob(oid)), encoding: "latin1" as const });
    await expect(withNested(defaultRepoConfig, { ...base, readBlob })).rejects.toMatchObject({
      code: "config_invalid",
      message: expect.stringContaining("UTF-8"),
    });
  });

  it("Private paths of folders are read from a folder whose name holds signs of patterns", async () => {
    const files = {
      "app/[id]/.hunkwise.yml": "paths: { private: ['*'] }",
      "a\n!x/.hunkwise.yml": "paths: { private: ['*', '!y'] }",
    };
    const paths = ["app/[id]/x", "app/i/x", "a\n!x/x", "a\n!x/y", "app/x"];
    expect(await privateOf(files, [], paths)).toEqual(["app/[id]/x", "a\n!x/x"]);
  });
});

describe("a check of nested files", () => {
  it("A check of nested files tells all that is wrong, in every file", async () => {
    const texts = new Map([
      ["a/.hunkwise.yml", "paths:\n  private: [x"],
      [".hunkwise.yml", "effort: low"],
      ["b/.hunkwise.yml", "minimum_severity: high"],
      ["c/.hunkwise.yml", null],
    ]);
    const found = (await checkNested(texts)).map(({ file, line, key }) => [file, line, key]);
    expect(found).toEqual([
      ["a/.hunkwise.yml", 2, null],
      [".hunkwise.yml", null, null],
      [".hunkwise.yml", 1, "effort"],
      ["c/.hunkwise.yml", null, null],
    ]);
  });

  it("A check of nested files tells that there are too many", async () => {
    const texts = new Map(Array.from({ length: 201 }, (_, n) => [`${n}/.hunkwise.yml`, ""]));
    expect(await checkNested(texts)).toHaveLength(1);
  });
});

describe("loadRepoConfig", () => {
  const files = (content: Record<string, string>) => async (path: string) => content[path];

  it("Loading a configuration prefers .yml, then .yaml, then the organization's file", async () => {
    const yml = { ".github/hunkwise.yml": "max_comments: 1" };
    const other = { ".github/hunkwise.yaml": "max_comments: 2" };
    const organization = files({ ".github/hunkwise.yml": "max_comments: 3" });
    expect(
      await loadRepoConfig(files({ ...yml, ...other }), { readOrganization: organization }),
    ).toMatchObject({
      config: { max_comments: 1 },
      path: ".github/hunkwise.yml",
      inherited: false,
    });
    expect((await loadRepoConfig(files(other), { readOrganization: organization })).config.max_comments).toBe(
      2,
    );
    expect(await loadRepoConfig(files({}), { readOrganization: organization })).toMatchObject({
      config: { max_comments: 3 },
      inherited: true,
    });
    expect(await loadRepoConfig(files({}))).toEqual({
      ...{ config: defaultRepoConfig, path: null, inherited: false },
      given: { organization: {}, repository: {} },
    });
  });

  it("Loading a configuration fails when the file cannot be asked for", async () => {
    const down = async () => {
      throw new Error("GitHub is down");
    };
    await expect(loadRepoConfig(down)).rejects.toThrow("GitHub is down");
  });

  const loading = (text: string) => loadRepoConfig(files({ ".github/hunkwise.yml": text }));

  it("Loading a configuration refuses a file with anything wrong in it, by file, line and key", async () => {
    await expect(loading("paths:\n  privat: [secrets/]\ncolor: red\n")).rejects.toMatchObject({
      code: "config_invalid",
      line: "The configuration cannot be used: .github/hunkwise.yml:2: paths.privat is not a known key (did you mean private?); .github/hunkwise.yml:3: color is not a known key (known keys: review, paths, instructions, effort, minimum_severity, rules, max_comments, comment_severity, comments, language, budget, findings, conversation, check, commands, prove, policy). Correct it on the base branch; `hunkwise config check` lists all problems. Until then, no model reads anything.",
    });
  });

  it.each([
    ["too_large", /: \.github\/hunkwise\.yml: is larger than 64 KB/],
    ["github_invalid", /: \.github\/hunkwise\.yml: is not a regular file/],
  ] as const)(
    "Loading a configuration refuses a file that is there and is read with %s",
    async (code, message) => {
      const unread = () => Promise.reject(new AppError(code, "no"));
      await expect(loadRepoConfig(unread)).rejects.toMatchObject({
        ...{ code: "config_invalid", message: expect.stringMatching(message) },
      });
    },
  );

  it("A refused configuration names a few of many problems", async () => {
    const many = Array.from({ length: 12 }, (_, n) => `wrong${n}: 1`).join("\n");
    await expect(loading(many)).rejects.toThrow(/wrong4 [^;]*; 7 more$/);
  });

  const organization = (answer: string | AppError) =>
    loadRepoConfig(files({}), { readOrganization: answering(answer) });
  const answering = (answer: string | AppError) => async () => {
    if (typeof answer === "string") return answer;
    throw answer;
  };

  it.each<[string, string | AppError, RegExp]>([
    [
      "is broken",
      "paths: { privat: [customer-names/] }",
      /the organization's \.github\/hunkwise\.yml is not valid \(in line 1\)$/,
    ],
    ["may not be read", new AppError("github_forbidden", "customer-names"), /hunkwise\.yml cannot be read$/],
  ])(
    "Loading a configuration refuses an organization's file that %s without what is in it",
    async (_, answer, message) => {
      const failure = await organization(answer).catch((error: unknown) => error);
      expect(failure).toMatchObject({ code: "config_invalid", message: expect.stringMatching(message) });
      expect((failure as AppError).line).not.toContain("customer-names");
    },
  );

  const own = files({ ".github/hunkwise.yml": "effort: low" });
  const withOwn = (answer: string | AppError, requiresPolicy = false) =>
    loadRepoConfig(own, { readOrganization: answering(answer), requiresPolicy });

  it("Loading a configuration joins an organization's file that has a policy, and no other", async () => {
    const above = "effort: high\nmax_comments: 9\n";
    const { config, path, inherited } = await withOwn(`${above}policy: { enforce: [effort] }`);
    expect({ effort: config.effort, most: config.max_comments, path, inherited }).toEqual({
      ...{ effort: "high", most: 9, path: ".github/hunkwise.yml", inherited: false },
    });
    expect((await withOwn(above)).config).toEqual({ ...defaultRepoConfig, effort: "low" });
  });

  it("Loading a configuration gives a policy no effect in the file of a repository", async () => {
    const policy = "effort: low\npolicy: { enforce: [check] }";
    for (const text of [policy, `${policy}\ncheck: { fail: true }`])
      expect((await loading(text)).config).not.toHaveProperty("policy");
  });

  it.each<[string, string | AppError]>([
    ["may not be read", new AppError("github_forbidden", "no")],
    ["is a link", new AppError("github_invalid", "no")],
    ["is too large", new AppError("too_large", "no")],
    ["is broken", "check: { fial: true }\npolicy: { enforce: [check] }"],
    ["enforces what is no key", "policy: { enforce: [chek] }"],
  ])(
    "Loading a configuration refuses a policy that %s, also for a repository with a file",
    async (_, answer) => {
      await expect(withOwn(answer)).rejects.toMatchObject({ code: "config_invalid" });
    },
  );

  it("A broken file of the organization without a policy is ignored if the repository has one", async () => {
    expect((await withOwn("check: { fial: true }")).config.effort).toBe("low");
  });

  it.each<[string, string | undefined]>([
    ["does not exist, as far as the token can see", undefined],
    ["has none", "check: { fail: true }"],
    ["is broken", "check: { fial: true }"],
  ])("A missing required policy is refused if the organization's file %s", async (_, text) => {
    for (const read of [own, files({})]) {
      const readOrganization = async (path: string) => (path.endsWith("yml") ? text : undefined);
      await expect(loadRepoConfig(read, { readOrganization, requiresPolicy: true })).rejects.toMatchObject({
        ...{ code: "config_invalid", message: expect.stringMatching(/policy|is not valid/) },
      });
      if (text === undefined) expect((await loadRepoConfig(read, { readOrganization })).config).toBeDefined();
    }
  });

  it("Loading a configuration fails when the organization's file cannot be asked for now", async () => {
    const away = new AppError("github_failed", "502", { retryable: true });
    await expect(organization(away)).rejects.toBe(away);
  });
});
