import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startRuleMatcher } from "../../../../src/border/rule-matcher.ts";
import { runTask } from "../../../../src/border/run-task.ts";
import { startRuleProcess } from "../../../../src/border/start-process.ts";
import { createDiffSource } from "../../../../src/repo/diff-source.ts";
import { openWorkspace } from "../../../../src/repo/git/object-workspace.ts";
import { reviewTask } from "../../../../src/tasks/review/review-task.ts";
import { ownFindings } from "../../../../src/tasks/rules/own/own-findings.ts";
import { ownRulesFolder } from "../../../../src/tasks/rules/own/rule-files.ts";
import { type RuleLimits, type RuleMatcher, ruleLimits } from "../../../../src/tasks/rules/own/rule-run.ts";
import { createRuleSwitch } from "../../../../src/tasks/rules/rule-matches.ts";
import { placeOf } from "../../../support/checkout-place.ts";
import { type Content, GitRepo } from "../../../support/git-repo.ts";
import { startProcessHere } from "../../../support/process-here.ts";
import { reviewInput } from "../../../support/review-input.ts";
import { callRule, deadlyRule, longText, slowRule } from "./rule-samples.ts";

const signal = new AbortController().signal;
const ruleFile = (name: string) => `${ownRulesFolder}/${name}.yml`;

interface Change {
  base?: Record<string, Content>;
  head: Record<string, Content | null>;
}

interface Options {
  rules?: Record<string, unknown>;
  privatePaths?: string[];
  limits?: Partial<RuleLimits>;
  startRules?: () => RuleMatcher;
}

/** The findings of own rules in a change, and how often a process was started. */
async function run({ base = {}, head }: Change, options: Options = {}) {
  using repo = GitRepo.create();
  repo.commit("Base", { "a.ts": "a();\n", ...base });
  repo.branch("topic");
  repo.commit("Change", head);
  using held = await placeOf(repo, repo.sha("main"), repo.sha("topic"));
  await using workspace = openWorkspace(held.place);
  const isPrivate = (path: string) => options.privatePaths?.includes(path) ?? false;
  const diffs = createDiffSource(workspace, { ignore: [], private: options.privatePaths ?? [], isPrivate });
  let starts = 0;
  const startRules = () => {
    starts += 1;
    return options.startRules?.() ?? startRuleMatcher();
  };
  const isOff = createRuleSwitch({ rules: (options.rules ?? {}) as never });
  const limits = { ...ruleLimits, ...options.limits };
  const files = await diffs.files();
  const found = await ownFindings(files, { workspace, diffs, signal, isPrivate, isOff, startRules, limits });
  const places = (all: typeof found.findings) => all.map((one) => `${one.path}:${one.line} ${one.source}`);
  return { ...found, starts, found: places(found.findings), off: places(found.silenced) };
}

describe("a repository's own rules", () => {
  it("Own rules report matches on added lines, with their text, severity and fix", async () => {
    const rule = `id: no-raw
language: ts
severity: error
message: |
  Do not call $F with $A
  It is not safe: $F, $$$B
note: Use "safe".
url: https://example.org/raw
rule: { pattern: "$F.raw($A)" }
fix: $F.safe($A)
`;
    const { findings, warnings } = await run({
      base: { [ruleFile("raw")]: rule, "old.ts": "db.raw(1);\nb();\n" },
      head: { "a.ts": "a();\nif (x) db.raw('one; two'); // as it was\n", "old.ts": "db.raw(1);\nc();\n" },
    });
    expect(warnings).toEqual([]);
    expect(findings).toMatchObject([
      {
        ...{ path: "a.ts", line: 2, start_line: null, severity: "high", category: "correctness" },
        ...{
          source: "own-rules/no-raw",
          verification: "unverified",
          quote: "if (x) db.raw('one; two'); // as it was",
        },
        suggestion: "if (x) db.safe('one; two'); // as it was",
        // The words of the change that are more than a name are not part of the rule's words.
        title: "Do not call db with $A",
        body: 'Do not call db with $A\nIt is not safe: db, $$$B\n\nUse "safe".\n\nhttps://example.org/raw',
      },
    ]);
  });

  it("Own rules use utils, constraints and transform as ast-grep does", async () => {
    const rule = `id: all
language: ts
message: use $NEW
rule: { all: [{ matches: call }, { pattern: "$NAME()" }] }
constraints: { NAME: { regex: ^old } }
utils: { call: { kind: call_expression } }
transform: { NEW: { replace: { source: $NAME, replace: ^old, by: new } } }
fix: $NEW()
`;
    const { findings } = await run({
      base: { [ruleFile("all")]: rule },
      head: { "a.ts": "oldA();\nothers();\n" },
    });
    expect(findings).toMatchObject([{ line: 1, title: "use newA", suggestion: "newA();" }]);
  });

  it("No process is started without a rule for a changed file", async () => {
    const head = { "a.ts": "b();\n" };
    const python = callRule("py", "b").replace("TypeScript", "Python");
    const elsewhere = `${callRule("b", "b")}files: [src/**]\n`;
    expect(await run({ head })).toMatchObject({ starts: 0, warnings: [] });
    expect(await run({ base: { [ruleFile("py")]: python }, head })).toMatchObject({ starts: 0, found: [] });
    expect(await run({ base: { [ruleFile("b")]: elsewhere }, head })).toMatchObject({ starts: 0, found: [] });
    expect((await run({ base: { [ruleFile("b")]: callRule("b", "b") }, head })).starts).toBe(1);
  });

  it("A change that adds, changes or deletes own rules changes nothing for itself", async () => {
    const base = { [ruleFile("b")]: callRule("no-b", "b"), [ruleFile("c")]: callRule("no-c", "c") };
    const head = {
      ...{ "a.ts": "b();\nc();\nd();\n", [ruleFile("b")]: null },
      ...{ [ruleFile("c")]: callRule("no-c", "d"), [ruleFile("d")]: callRule("no-d", "d") },
    };
    expect((await run({ base, head })).found).toEqual(["a.ts:1 own-rules/no-b", "a.ts:2 own-rules/no-c"]);

    const { "a.ts": _, [ruleFile("b")]: gone, ...merged } = head;
    expect(gone).toBeNull();
    const after = await run({ base: merged as Record<string, string>, head: { "a.ts": head["a.ts"] } });
    expect(after.found).toEqual(["a.ts:3 own-rules/no-c", "a.ts:3 own-rules/no-d"]);
  });

  it("Own rules are switched off by name, and by a comment unless they are about security", async () => {
    const base = { [ruleFile("b")]: callRule("no-b", "b") };
    const head = {
      "a.ts":
        "b(1);\n// ast-grep-ignore: no-c, no-b\nb(2);\nb(3); // ast-grep-ignore\n// ast-grep-ignore: no-c\nb(4);\n",
    };
    expect((await run({ base, head })).found).toEqual(["a.ts:1 own-rules/no-b", "a.ts:6 own-rules/no-b"]);
    const unsafe = { [ruleFile("b")]: `${callRule("no-b", "b")}metadata: { category: security }\n` };
    const lines = [1, 3, 4, 6].map((line) => `a.ts:${line} own-rules/no-b`);
    expect((await run({ base: unsafe, head })).found).toEqual(lines);
    for (const key of ["no-b", "own-rules/no-b", "own-rules"])
      expect(await run({ base, head }, { rules: { [key]: "off" } })).toMatchObject({
        ...{ found: [], off: ["a.ts:1 own-rules/no-b", "a.ts:6 own-rules/no-b"] },
      });
  });

  it("Own rules read no private file, and private rule files are not read", async () => {
    const base = { [ruleFile("b")]: callRule("no-b", "b"), [ruleFile("c")]: callRule("no-c", "c") };
    const head = { "a.ts": "b();\nc();\n", "p.ts": "b();\n" };
    const { found } = await run({ base, head }, { privatePaths: ["p.ts", ruleFile("c")] });
    expect(found).toEqual(["a.ts:1 own-rules/no-b"]);
  });

  it("A rule that is slow, deadly or refused is named, and the others run", async () => {
    const base = {
      [ruleFile("0")]:
        `${slowRule("slow")}---\n${callRule("no-b", "b")}---\n${deadlyRule("deadly")}---\n${callRule("no-c", "c")}`,
      [ruleFile("1")]: `id: kind\nlanguage: ts\nrule: { kind: nothing }\n---\n${callRule("no-d", "d")}`,
      [ruleFile("2")]: "id: [",
      "link.txt": "x",
      [ruleFile("3")]: { mode: "120000", data: "../../../link.txt" } as const,
    };
    const head = { "a.ts": `b();\nc();\nd();\n${longText}`, "z.ts": "b(); c(); d();\n" };
    const { found, warnings, starts } = await run({ base, head });
    const calls = ["no-b", "no-c", "no-d"];
    expect(found).toEqual([
      ...calls.map((id, at) => `a.ts:${at + 1} own-rules/${id}`),
      ...calls.map((id) => `z.ts:1 own-rules/${id}`),
    ]);
    expect(starts).toBe(3);
    expect(warnings).toEqual([
      expect.stringMatching(/^A rule of \S+\/2\.yml did not run: line 1: /),
      expect.stringMatching(/^A rule of \S+\/3\.yml did not run: is not a regular file/),
      // The shorter file comes first: it has nothing from the failures in the longer one.
      `The rule kind of ${ruleFile("1")} did not run: \`rule\` is not configured correctly. Kind \`nothing\` is invalid.`,
      expect.stringMatching(/^The rule slow of \S+ did not run: it took more than 2 seconds on a\.ts, /),
      expect.stringMatching(
        /^The rule deadly of \S+ did not run: the process that matched it ended on a\.ts\.$/,
      ),
    ]);
  });

  it("Own rules end with their time and their number of processes, in few warnings", async () => {
    const deadly = Array.from({ length: 12 }, (_, at) => deadlyRule(`d${at}`)).join("---\n");
    const base = { [ruleFile("d")]: `${callRule("first", "b")}---\n${deadly}---\n${callRule("last", "b")}` };
    const head = { "a.ts": "b(1);\n" };
    const few = await run({ base, head }, { limits: { starts: 3 } });
    expect(few).toMatchObject({ found: ["a.ts:1 own-rules/first"], starts: 3 });
    expect(few.warnings).toHaveLength(6);
    expect(few.warnings.slice(2)).toEqual([
      expect.stringMatching(/ended on a\.ts\.$/),
      expect.stringMatching(/too many rules before it had to be stopped\.$/),
      expect.stringMatching(/too many rules before it had to be stopped\.$/),
      expect.stringMatching(/^8 more rules did not run; /),
    ]);
    const none = await run({ base, head }, { limits: { all: 0 } });
    expect(none).toMatchObject({ found: [], starts: 0 });
    expect(none.warnings[0]).toMatch(/the time for the repository's own rules was over\.$/);
  });

  it("A rule that matches everywhere reports 30 matches, and the others all", async () => {
    const base = {
      [ruleFile("b")]: `id: all\nlanguage: ts\nrule: { kind: number }\n---\n${callRule("no-c", "c")}`,
    };
    const head = { "a.ts": `${"x(1);\n".repeat(100)}c();\n`, "b.ts": "x(1, 2);\n" };
    const { found, warnings } = await run({ base, head });
    expect(found.filter((one) => one.endsWith("/all"))).toHaveLength(30);
    expect(found).toContain("a.ts:101 own-rules/no-c");
    expect(warnings).toEqual([
      "More matches of the repository's own rules are not part of the review: 71 of all.",
    ]);
  });

  it("Code that is guessed, nested too deeply or generated has no match", async () => {
    const base = { [ruleFile("b")]: callRule("no-b", "b") };
    const head = {
      "broken.ts": "if (b( {\n",
      "deep.ts": `${"[".repeat(500)}b()${"]".repeat(500)}\n`,
      "long.ts": `b();${"x".repeat(1_000)}\n`,
      "ok.ts": "b();\n",
    };
    expect((await run({ base, head })).found).toEqual(["ok.ts:1 own-rules/no-b"]);
  });

  it("A rule process ends with the review", async () => {
    const ending = new AbortController();
    const started = startRuleProcess();
    const matcher = startRuleMatcher(() => started);
    const text = longText;
    const opened = await matcher.ask(
      { type: "open", dialect: "TypeScript", text, lines: [1] },
      60_000,
      signal,
    );
    expect(opened).toEqual({ type: "opened", isReadable: true });
    const config = {
      rule: { inside: { kind: "program", stopBy: "end", has: { stopBy: "end", pattern: "zz($X)" } } },
    };
    const asked = matcher.ask({ type: "match", config, variables: [] }, 600_000, ending.signal);
    ending.abort();
    await expect(asked).rejects.toBe(ending.signal.reason);
    matcher[Symbol.dispose]();
    expect(await started.ended).toBe("ended with SIGKILL");
  });
});

describe("other analyzers", () => {
  const code = "debugger;\nb();\nconst key = 'x';\nif (a = 1) c();\n[1, 2].sort();\n<<<<<<< HEAD\n";
  let plain: unknown[];

  /** Everything that a review reports except for own rules, with its ids. */
  async function others(rules: Record<string, Content>) {
    using repo = GitRepo.create();
    repo.commit("Base", { "a.ts": "a();\n", ...rules });
    repo.branch("topic");
    repo.commit("Change", { "a.ts": `${code}${longText}`, "b.py": "def f(x=[]):\n    x.append(1)\n" });
    using held = await placeOf(repo, repo.sha("main"), repo.sha("topic"));
    const result = await runTask(reviewTask, reviewInput({ models: null }), {
      ...{ place: held.place, models: null, signal },
      ...{ trajectory: { append: async () => {} }, onProgress() {}, started: startProcessHere() },
    });
    const { findings, coverage, outcome: _, ...rest } = result as typeof result & { outcome?: unknown };
    return {
      findings: findings.filter(({ finding }) => !finding.source.startsWith("own-rules/")),
      own: findings.filter(({ finding }) => finding.source.startsWith("own-rules/")).length,
      rest: { coverage, unanalyzed: rest.unanalyzed, stop: rest.stop_reason, masked: rest.masked },
      warnings: rest.warnings,
    };
  }

  beforeAll(async () => {
    const { findings, rest, own, warnings } = await others({});
    expect(findings.length).toBeGreaterThanOrEqual(4);
    expect([own, warnings]).toEqual([0, []]);
    plain = [findings, rest];
  });
  afterAll(() => {
    plain = [];
  });

  const key = fc.constantFrom(
    "pattern",
    "kind",
    "regex",
    "has",
    "inside",
    "all",
    "any",
    "not",
    "matches",
    "stopBy",
    "nthChild",
  );
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.constantFrom("$A", "end", "call_expression", "(a{100}){100}", "(", "$$$B($A)", 1, null, ""),
      fc.dictionary(key, tie("tree"), { maxKeys: 3 }),
      fc.array(tie("tree"), { maxLength: 3 }),
    ),
  }));
  const deep = fc
    .integer({ min: 1, max: 3_000 })
    .map((levels) => `${"{not: ".repeat(levels)}{regex: .}${"}".repeat(levels)}`);
  const huge = fc.integer({ min: 1, max: 20_000 }).map((size) => `{ regex: "(${"a|b".repeat(size)}){9}" }`);
  const rule = fc
    .tuple(
      fc.oneof({ weight: 4, arbitrary: tree.map((one) => JSON.stringify(one)) }, deep, huge),
      fc.constantFrom("ts", "py", "swift"),
      fc.integer({ min: 0, max: 3 }),
    )
    .map(([body, language, id]) => `id: r${id}\nlanguage: ${language}\nseverity: error\nrule: ${body}\n`);
  const document = fc.oneof(
    { weight: 6, arbitrary: rule },
    fc.constant(callRule("good", "b")),
    fc.constant(deadlyRule("deadly")),
    fc.constant(slowRule("slow")),
    fc.string({ unit: "binary", maxLength: 200 }),
    fc.constantFrom("a: &a [*a, *a]", "{{{{", "id: x\nid: y", "\0", "%YAML 9\n---\n", "[".repeat(5_000)),
  );
  const files = fc.array(
    fc.array(document, { minLength: 1, maxLength: 8 }).map((all) => all.join("\n---\n")),
    { minLength: 1, maxLength: 3 },
  );

  it("Other analyzers report the same with any rule files, however broken, slow or deadly", async () => {
    const long = process.env.HUNKWISE_LONG === "1";
    let own = 0;
    let named = 0;
    await fc.assert(
      fc.asyncProperty(files, async (texts) => {
        const found = await others(Object.fromEntries(texts.map((text, at) => [ruleFile(`${at}`), text])));
        expect([found.findings, found.rest]).toEqual(plain);
        own += found.own;
        named += found.warnings.length;
      }),
      { numRuns: long ? 200 : 6, seed: long ? Date.now() % 2 ** 31 : 7, endOnFailure: true },
    );
    expect(own).toBeGreaterThan(0);
    expect(named).toBeGreaterThan(0);
  });
});
