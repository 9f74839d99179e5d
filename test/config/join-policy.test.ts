import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { joinPolicy, originOf } from "../../src/config/join-policy.ts";
import { mergeNested } from "../../src/config/load-config.ts";
import { namedRules } from "../../src/config/named-rules.ts";
import { type Overrides, withOverrides } from "../../src/config/overrides.ts";
import { parseRepoConfig } from "../../src/config/parse-config.ts";
import {
  type EffectiveConfig,
  minimumSeverityAt,
  NestedConfig,
  RepoConfig,
  settingKeys,
} from "../../src/config/repo-config.ts";
import { severities } from "../../src/core/finding.ts";
import { createPrivacy } from "../../src/repo/diff/filter.ts";
import { createPathMatcher } from "../../src/repo/diff/paths.ts";
import { createRuleSwitch } from "../../src/tasks/rules/rule-matches.ts";

const workflow = (name: string) => ({ workflow: name, artifact: "results" });
const testRun = (files: string) => ({ files, command: "npx vitest run {file}" });
const rule = (path: string) => ({ path, text: `Look at ${path}` });

/** For each key: the organization's value, the repository's, and both together where the key is not enforced. */
const table: Record<string, [organization: unknown, repository: unknown, joined: unknown]> = {
  "review.enabled": [true, false, false],
  "review.drafts": [true, false, false],
  "review.base_branches": [["main"], ["release/*"], ["main", "release/*"]],
  "review.ignore_authors": [["a[bot]"], ["b[bot]"], ["a[bot]", "b[bot]"]],
  "review.labels": [["a"], ["b"], ["a", "b"]],
  "review.ignore_labels": [["a"], ["b"], ["a", "b"]],
  "review.ignore_titles": [["WIP"], ["skip"], ["WIP", "skip"]],
  "paths.ignore": [["docs/"], ["!docs/x", "gen/"], ["docs/", "!docs/x", "gen/"]],
  "paths.private": [["*.pem"], ["*.key"], ["*.pem", "# the repository's", "*.key"]],
  instructions: [[rule("a")], [rule("b"), rule("a")], [rule("a"), rule("b")]],
  effort: ["high", "low", "low"],
  minimum_severity: ["low", "critical", "critical"],
  rules: [
    { "py-eval": { off: ["a/"] }, secrets: "off" },
    { "py-eval": "off", "focused-tests": "off" },
    { "py-eval": "off", secrets: "off", "focused-tests": "off" },
  ],
  max_comments: [9, 0, 0],
  comment_severity: ["low", "critical", "critical"],
  "comments.agent_prompt": [true, false, false],
  language: ["German", "French", "French"],
  "budget.turns": [50, 1, 1],
  "budget.tokens": [1_000_000, 1_000, 1_000],
  "budget.cost_usd": [1, null, null],
  "budget.minutes": [10, 1, 1],
  "budget.day.tokens": [1_000_000, null, null],
  "budget.day.cost_usd": [5, null, null],
  "findings.workflows": [[workflow("a.yml")], [workflow("b.yml")], [workflow("a.yml"), workflow("b.yml")]],
  "findings.wait_minutes": [5, 0, 0],
  "conversation.describe": [false, true, true],
  "check.threshold": ["medium", "never", "never"],
  "check.fail": [true, false, false],
  "check.limit": ["failure", "neutral", "neutral"],
  "commands.test": ["npm test", "true", "true"],
  "commands.lint": ["npm run lint", "true", "true"],
  "commands.build": ["npm run build", "true", "true"],
  "prove.enabled": [true, false, false],
  "prove.severity": ["high", "low", "low"],
  "prove.run": [[testRun("a/")], [testRun("b/")], [testRun("a/"), testRun("b/")]],
  "prove.prepare": ["npm ci", null, null],
};

function fileWith(key: string, value: unknown): Record<string, unknown> {
  return key
    .split(".")
    .reverse()
    .reduce<unknown>((inner, name) => ({ [name]: inner }), value) as Record<string, unknown>;
}
const settingOf = (config: unknown, key: string) =>
  key.split(".").reduce<unknown>((value, name) => (value as Record<string, unknown>)[name], config);
const join = (organization: object, repository: object, enforce: readonly string[] = []) =>
  joinPolicy({ organization: { ...organization, policy: { enforce } }, repository: { ...repository } });

describe("an organization's policy", () => {
  it("A policy has a row in this table for each key of a repository", () => {
    expect(Object.keys(table)).toEqual(settingKeys);
  });

  describe.each(Object.entries(table))("%s", (key, [above, below, joined]) => {
    it("This key is joined from both files", () => {
      expect(settingOf(join(fileWith(key, above), fileWith(key, below)), key)).toEqual(joined);
    });

    it("This key has the value of the one file that sets it", () => {
      expect(settingOf(join(fileWith(key, above), {}), key)).toEqual(above);
      const expected = key === "paths.private" ? ["# the repository's", ...(below as string[])] : below;
      expect(settingOf(join({}, fileWith(key, below)), key)).toEqual(expected);
    });

    const groups = key.split(".").map((_, at, names) => names.slice(0, at + 1).join("."));
    it.each(groups)(
      "This key has the organization's value, or the default, if %s is enforced",
      (enforced) => {
        const isPrivate = key === "paths.private";
        const set = join(fileWith(key, above), fileWith(key, below), [enforced]);
        expect(settingOf(set, key)).toEqual(isPrivate ? joined : above);
        const unset = join({}, fileWith(key, below), [enforced]);
        const fallback = settingOf(RepoConfig.parse({}), key);
        expect(settingOf(unset, key)).toEqual(
          isPrivate ? ["# the repository's", ...(below as string[])] : fallback,
        );
      },
    );

    it("This key can be enforced by its name in the file", () => {
      const parsed = parseRepoConfig(JSON.stringify({ ...fileWith(key, above), policy: { enforce: [key] } }));
      expect(parsed).toMatchObject({ ok: true, config: { policy: { enforce: [key] } } });
    });
  });

  it("A policy refuses to enforce what is no key", () => {
    for (const key of ["chek.fail", "check.fail.x", "rules.", "policy", "", "paths.only"])
      expect(parseRepoConfig(JSON.stringify({ policy: { enforce: [key] } })).ok).toBe(false);
  });

  it("A policy refuses lists that are too long together", () => {
    const workflows = (prefix: string) =>
      Array.from({ length: 4 }, (_, at) => workflow(`${prefix}${at}.yml`));
    expect(() =>
      join({ findings: { workflows: workflows("a") } }, { findings: { workflows: workflows("b") } }),
    ).toThrow(
      expect.objectContaining({
        code: "config_invalid",
        message: expect.stringContaining("findings.workflows"),
      }),
    );
  });

  it("A policy does not join the organization's own file with itself", () => {
    const file = { paths: { ignore: ["a"], private: ["*.pem", "!x.pem"] }, instructions: [rule("a")] };
    const { policy, ...config } = join(file, file);
    expect(config).toEqual(RepoConfig.parse(file));
  });

  it("A policy keeps one rule under each of its names", () => {
    const config = join(
      { rules: { "secrets/generic": { off: ["fixtures/"] } } },
      { rules: { "github-token": "off", "secrets/github-token": "off", secrets: "off", "py-eval": "off" } },
      ["rules.secrets"],
    );
    const isOff = createRuleSwitch(config);
    const off = (source: string, path: string) => isOff({ source, path });
    expect(off("secrets/github-token", "a.ts")).toBe(false);
    expect(off("secrets/generic", "a.ts")).toBe(false);
    expect(off("secrets/generic", "fixtures/a.ts")).toBe(true);
    expect(off("ast-grep/py-eval", "a.py")).toBe(true);
    expect(
      createRuleSwitch(join({}, { rules: { secrets: "off" } }, ["rules.github-token"]))({
        source: "secrets/github-token",
        path: "a",
      }),
    ).toBe(false);
    expect(
      createRuleSwitch(join({}, { rules: { secrets: "off" } }, ["rules"]))({
        source: "secrets/github-token",
        path: "a",
      }),
    ).toBe(false);
  });

  it("A policy keeps its rule in files for which a repository does not switch it off", () => {
    const above = { rules: { "no-raw-sql": { what: "No SQL", where: ["src/"], blocking: true } } };
    const below = (setting: unknown) => ({ rules: { "no-raw-sql": setting } });
    const [rule] = namedRules(join(above, below({ off: ["legacy/**", "!x"] })));
    expect(rule).toMatchObject({ name: "no-raw-sql", where: ["src/", "!legacy/**"], blocking: true });
    expect(namedRules(join(above, below("off")))).toEqual([]);
    expect(namedRules(join(above, below({ what: "Other" })))).toMatchObject([
      { what: "Other", blocking: false },
    ]);
    for (const setting of ["off", { off: ["**"] }, { what: "Other" }])
      for (const enforced of ["rules", "rules.no-raw-sql"])
        expect(namedRules(join(above, below(setting), [enforced]))).toMatchObject([
          { what: "No SQL", where: ["src/"], blocking: true },
        ]);
  });

  it("A policy is not changed by files of folders", () => {
    const root = join({ paths: { ignore: ["a"] }, instructions: [rule("a")], minimum_severity: "low" }, {}, [
      "paths",
      "instructions",
      "minimum_severity",
    ]);
    const folder = NestedConfig.parse({
      paths: { ignore: ["**"], private: ["*.key"] },
      instructions: [rule("**")],
      minimum_severity: "critical",
    });
    const { config } = mergeNested(root, [{ path: "lib/.hunkwise.yml", folder: "lib", config: folder }]);
    expect(config).toEqual({ ...root, paths: { ignore: ["a"], private: ["/lib/**/*.key"] } });
  });

  it("An override changes nothing of a policy, unless more is reported or less is spent", () => {
    const root = join({ effort: "high", minimum_severity: "medium", budget: { cost_usd: 1 } }, {}, [
      "effort",
      "minimum_severity",
      "budget",
      "paths",
      "instructions",
    ]);
    const asked: Overrides = { effort: "low", only: ["docs/"], guidance: "Report nothing" };
    expect(withOverrides(root, { ...asked, minimumSeverity: "high", maxCostUsd: 2 })).toEqual(root);
    expect(withOverrides(root, { ...asked, minimumSeverity: "low", maxCostUsd: 0.5 })).toEqual({
      ...root,
      minimum_severity: "low",
      budget: { ...root.budget, cost_usd: 0.5 },
    });
  });

  it("originOf says where each value comes from", () => {
    const given = {
      organization: { effort: "high", check: { fail: true }, paths: { ignore: ["a"] }, rules: { a: "off" } },
      repository: {
        ...{ effort: "low", max_comments: 1, paths: { ignore: ["b"] } },
        rules: { b: "off", "secrets/github-token": "off" },
      },
    };
    const policy = RepoConfig.parse({ policy: { enforce: ["check", "rules.secrets"] } }).policy;
    const origin = (key: string) => originOf(key, given, { path: "FILE", policy });
    expect(["effort", "max_comments", "language", "check.fail", "check.limit"].map(origin)).toEqual([
      ...["FILE", "FILE", "default", "organization, enforced", "default, enforced"],
    ]);
    expect(["paths.ignore", "rules.a", "rules.b", "rules.secrets/github-token"].map(origin)).toEqual([
      ...["organization and FILE", "organization", "FILE", "FILE, without effect: enforced"],
    ]);
  });
});

describe("a request against the policy", () => {
  const keys = fc.subarray([...settingKeys], { minLength: 1 });
  const names = fc.constantFrom("a", "b", "lib/x", "x.pem", "keys/", "*.pem", "lib/", "**");
  const patterns = fc.array(
    fc.tuple(fc.boolean(), names).map(([isException, name]) => (isException ? `!${name}` : name)),
    { maxLength: 4 },
  );
  const file = fc
    .record({ set: keys, from: fc.constantFrom(0, 1), ignore: patterns, private: patterns })
    .map(({ set, from, ...paths }) => {
      const made: Record<string, Record<string, unknown>> = { paths };
      for (const key of set.filter((one) => !one.startsWith("paths."))) {
        const [name = "", ...rest] = key.split(".");
        const value = table[key]?.[from];
        made[name] = rest.length === 0 ? (value as never) : deepSet(made[name] ?? {}, rest, value);
      }
      return made;
    });
  /** Less may be spent, more reported, and more kept private. */
  const isJoined = new Set(["paths.private", "minimum_severity", "budget.cost_usd"]);
  const paths = ["a", "b", "lib/x", "lib/a", "x.pem", "lib/x.pem", "keys/x", "c"];

  it("A request against the policy changes no enforced value and makes nothing public", () => {
    fc.assert(
      fc.property(
        file,
        file,
        keys,
        patterns,
        fc.constantFrom(...severities),
        (above, below, enforce, more, severity) => {
          const alone = RepoConfig.parse(above);
          const root = join(above, below, enforce);
          const folder = NestedConfig.parse({
            paths: { ignore: more, private: more },
            minimum_severity: severity,
            instructions: [rule("**")],
          });
          const nested = mergeNested(root, [
            { path: "lib/.hunkwise.yml", folder: "lib", config: folder },
          ]).config;
          const asked: EffectiveConfig = withOverrides(nested, {
            ...{
              effort: "low",
              minimumSeverity: severity,
              maxCostUsd: 1_000,
              only: ["docs/"],
              guidance: "Nothing",
            },
          });
          for (const key of enforce.filter((one) => !isJoined.has(one)))
            expect(settingOf(asked, key)).toEqual(settingOf(alone, key));
          if (enforce.includes("minimum_severity"))
            for (const path of paths)
              expect(severities.indexOf(minimumSeverityAt(asked, path))).toBeGreaterThanOrEqual(
                severities.indexOf(alone.minimum_severity),
              );
          if (enforce.includes("budget.cost_usd"))
            expect(asked.budget.cost_usd ?? 1_000).toBeLessThanOrEqual(alone.budget.cost_usd ?? 1_000);
          if (enforce.includes("paths.ignore")) expect(asked.paths.only).toBeUndefined();
          if (enforce.includes("instructions")) expect(asked.guidance).toBeUndefined();
          const [isPrivate, wasPrivate] = [asked, alone].map((one) => createPrivacy(one.paths.private));
          for (const path of paths) if (wasPrivate?.(path)) expect(isPrivate?.(path)).toBe(true);
          const ignored = createPathMatcher(asked.paths.ignore);
          const before = createPathMatcher(alone.paths.ignore);
          if (enforce.includes("paths.ignore"))
            for (const path of paths) expect(ignored(path).matched).toBe(before(path).matched);
        },
      ),
    );
  });
});

function deepSet(
  group: Record<string, unknown>,
  names: readonly string[],
  value: unknown,
): Record<string, unknown> {
  const [name = "", ...rest] = names;
  const inner = (group[name] ?? {}) as Record<string, unknown>;
  return { ...group, [name]: rest.length === 0 ? value : deepSet(inner, rest, value) };
}
