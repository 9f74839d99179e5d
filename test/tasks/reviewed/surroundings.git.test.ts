import { describe, expect, it } from "vitest";
import type { ChangedFile } from "../../../src/repo/diff-source.ts";
import { createDiffSource } from "../../../src/repo/diff-source.ts";
import { reviewedNow } from "../../../src/tasks/reviewed/known-change.ts";
import { withSurroundings } from "../../../src/tasks/reviewed/surroundings.ts";
import { openRepository } from "../../agent/tools/context.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { seeded } from "../../support/seeded.ts";
import { contentHash, coverageWithout, knownIn } from "../review/followup/rounds.ts";

interface Texts {
  base: string;
  head: string;
}

/** The files of each round, by number, as a review with a history knows them. */
async function roundsOf(rounds: readonly (readonly Texts[])[], path: string): Promise<ChangedFile[][]> {
  using repo = GitRepo.create();
  const nameOf = (at: number) => `f${at}-${path}`;
  repo.importCommits(
    rounds.flatMap((texts, round) => [
      {
        branch: `base${round}`,
        parents: [],
        files: new Map(texts.map(({ base }, at) => [nameOf(at), base])),
      },
      {
        branch: `head${round}`,
        parents: [`base${round}`],
        files: new Map(texts.map(({ head }, at) => [nameOf(at), head])),
      },
    ]),
  );
  const all: ChangedFile[][] = [];
  for (const round of rounds.keys()) {
    await using opened = await openRepository(repo, { base: `base${round}`, head: `head${round}` });
    const diffs = createDiffSource(opened.workspace, { ignore: [], private: [] });
    all.push(await withSurroundings(await diffs.files(), { workspace: opened.workspace, diffs }));
  }
  return all;
}

const noDiffs = { fileDiff: () => Promise.reject(new Error("no diff is read")) };

/** Numbers of the new hunks of the second round, of each file. */
async function newOf(pairs: readonly [Texts, Texts][], path: string): Promise<number[]> {
  const rounds = [pairs.map(([first]) => first), pairs.map(([, second]) => second)];
  const [first = [], second = []] = await roundsOf(rounds, path);
  const known = knownIn(
    { files: second, diffs: { ...noDiffs, files: async () => second } as never },
    reviewedNow(first, coverageWithout(), contentHash),
  );
  return pairs.map((_, at) => {
    const file = second.find(({ change }) => change.path === `f${at}-${path}`);
    return (file?.totalHunks ?? 0) - known.known(`f${at}-${path}`).size;
  });
}

const pad = (name: string) => Array.from({ length: 8 }, (_, at) => `  step("${name} ${at}");`).join("\n");
const fn = (name: string, line = "") => `function ${name}() {\n${line && `  ${line}\n`}${pad(name)}\n}\n`;
const check = "requireAdmin();";
const same = fn("same", check);
const bare = fn("same");
const py = (line: string) => `def f():\n    a()\n    b()\n    c()\n    d()\n    ${line}\n    return 1\n`;

const js = "a.js";
const attacks: Record<string, [path: string, first: Texts, second: Texts]> = {
  "a check that goes from another function": [
    js,
    { base: fn("f", check) + fn("g", check), head: fn("f") + fn("g", check) },
    { base: fn("f", check) + fn("g", check), head: fn("f", check) + fn("g") },
  ],
  "a check that goes from another function of the same text": [
    js,
    { base: same + same, head: bare + same },
    { base: same + same, head: same + bare },
  ],
  "a method of the same name in another class": [
    js,
    {
      base: `class A {\n  m() {\n    a();\n    ${check}\n  }\n}\nclass B {\n  m() {\n    a();\n    ${check}\n  }\n}\n`,
      head: `class A {\n  m() {\n    a();\n  }\n}\nclass B {\n  m() {\n    a();\n    ${check}\n  }\n}\n`,
    },
    {
      base: `class A {\n  m() {\n    a();\n    ${check}\n  }\n}\nclass B {\n  m() {\n    a();\n    ${check}\n  }\n}\n`,
      head: `class A {\n  m() {\n    a();\n    ${check}\n  }\n}\nclass B {\n  m() {\n    a();\n  }\n}\n`,
    },
  ],
  "a call that leaves a comment": [
    js,
    { base: `/*\nold\n*/\n${fn("f")}`, head: `/*\nold\nwipe();\n*/\n${fn("f")}` },
    { base: `/*\nold\n*/\n${fn("f")}`, head: `/*\nold\n*/\n${fn("f", "wipe();")}` },
  ],
  "a comment around a function that goes": [
    js,
    { base: fn("f"), head: `/*\n${fn("f", "wipe();")}*/\n` },
    { base: fn("f"), head: fn("f", "wipe();") },
  ],
  "a condition around a function that goes": [
    js,
    { base: fn("f"), head: `if (false) {\n${fn("f", "wipe();")}}\n` },
    { base: fn("f"), head: fn("f", "wipe();") },
  ],
  "an exit at the top that goes": [
    "a.py",
    { base: `import sys\n${py("e()")}`, head: `import sys\nsys.exit()\n${py("wipe()")}` },
    { base: `import sys\n${py("e()")}`, head: `import sys\n${py("wipe()")}` },
  ],
  "a return in the function that goes": [
    js,
    { base: fn("f"), head: fn("f", "return;").replace(/}\n$/, "  wipe();\n}\n") },
    { base: fn("f"), head: fn("f").replace(/}\n$/, "  wipe();\n}\n") },
  ],
  "a value that is computed at the top and goes": [
    js,
    { base: fn("f"), head: `const x = process.exit();\n${fn("f", "wipe();")}` },
    { base: fn("f"), head: fn("f", "wipe();") },
  ],
  "a statement behind the last bracket that goes": [
    js,
    { base: fn("g") + fn("f"), head: `${fn("g").trimEnd()} process.exit();\n${fn("f", "wipe();")}` },
    { base: fn("g") + fn("f"), head: fn("g") + fn("f", "wipe();") },
  ],
  "a line that moves among equal ones": [
    js,
    { base: "x();\n".repeat(20), head: `${"x();\n".repeat(3)}stop();\n${"x();\n".repeat(17)}` },
    { base: "x();\n".repeat(20), head: `${"x();\n".repeat(12)}stop();\n${"x();\n".repeat(8)}` },
  ],
  "a line that leaves a preprocessor's dead block": [
    "a.c",
    { base: "#if 0\nint a;\n#endif\nint b;\n", head: "#if 0\nint a;\nint c;\n#endif\nint b;\n" },
    { base: "#if 0\nint a;\n#endif\nint b;\n", head: "#if 0\nint a;\n#endif\nint c;\nint b;\n" },
  ],
  "a key that moves in a file without a grammar": [
    "a.conf",
    { base: "a:\n  x\nb:\n  x\n", head: "a:\n  x\n  y\nb:\n  x\n" },
    { base: "a:\n  x\nb:\n  x\n", head: "a:\n  x\nb:\n  x\n  y\n" },
  ],
};

describe("a run of changed lines that was read", () => {
  it.each(Object.entries(attacks))("The run is new after %s", async (_, [path, first, second]) => {
    const [count] = await newOf([[first, second]], path);
    expect(count).toBeGreaterThan(0);
  });

  it.each(Object.entries(attacks))(
    "The run is known if nothing changes: %s",
    async (_, [path, first, second]) => {
      expect(
        await newOf(
          [
            [first, first],
            [second, second],
          ],
          path,
        ),
      ).toEqual([0, 0]);
    },
  );

  it("The run is known after a rebase that shifts it and changes other functions", async () => {
    const rebased = `import x from "x";\n${fn("h")}${fn("g", "other();")}`;
    const pairs: [Texts, Texts][] = [
      [
        { base: fn("g") + fn("f"), head: fn("g") + fn("f", "ok();") },
        { base: rebased + fn("f"), head: rebased + fn("f", "ok();") },
      ],
    ];
    expect(await newOf(pairs, js)).toEqual([0]);
  });

  it("The run is known in a changelog that grew elsewhere, and new if its neighbors changed", async () => {
    const entry = (name: string) => `## ${name}\n\n- One.\n- Two.\n- Three.\n\n`;
    const [before, after] = [entry("1.0") + entry("0.9") + entry("0.8"), "- Fixes the cart.\n"];
    const added = (text: string) => text.replace("- Three.\n", `- Three.\n${after}`);
    const grown = before.replace("## 0.8", "## 0.8 (yanked)");
    const beside = before.replace("- Two.", "- Another two.");
    for (const [text, unread] of [
      [grown, 0],
      [entry("1.1") + before, 0],
      [beside, 1],
    ] as const) {
      const second = text.startsWith("## 1.1") ? entry("1.1") + added(before) : added(text);
      const pairs: [Texts, Texts][] = [
        [
          { base: before, head: added(before) },
          { base: text, head: second },
        ],
      ];
      expect([text, await newOf(pairs, "CHANGES.md")]).toEqual([text, [unread]]);
    }
  });

  it("The run is new in documentation that moved, because agents may obey it under another name", async () => {
    using repo = GitRepo.create();
    const text = Array.from({ length: 20 }, (_, at) => `Line ${at}.\n`).join("");
    const of = (path: string, more = "") => new Map([[path, text + more]]);
    repo.importCommits([
      { branch: "base", files: of("guide.md") },
      { branch: "first", parents: ["base"], files: of("guide.md", "More.\n") },
      {
        branch: "second",
        parents: ["base"],
        files: new Map<string, string | null>([...of("REVIEW.md", "More.\n"), ["guide.md", null]]),
      },
    ]);
    const digests: unknown[] = [];
    for (const head of ["first", "second"]) {
      await using opened = await openRepository(repo, { base: "base", head });
      const diffs = createDiffSource(opened.workspace, { ignore: [], private: [] });
      const files = await withSurroundings(await diffs.files(), { workspace: opened.workspace, diffs });
      digests.push(files.at(-1)?.changes.flat()[0]);
    }
    expect(new Set(digests).size).toBe(2);
  });

  it("The run is known when the change goes on in another function", async () => {
    const pairs: [Texts, Texts][] = [
      [
        { base: fn("g") + fn("f"), head: fn("g") + fn("f", "ok();") },
        { base: fn("g") + fn("f"), head: fn("g", "more();") + fn("f", "ok();") },
      ],
    ];
    expect(await newOf(pairs, js)).toEqual([1]);
  });
});

const padded = (name: string, statements: readonly string[]) =>
  `function ${name}() {\n${pad(`${name} a`)}\n${statements.map((one) => `  ${one}\n`).join("")}${pad(`${name} b`)}\n}\n`;

/** Functions by name with their statements; every second one is in another file. */
type Program = Record<string, readonly string[]>;
const fileOf = (program: Program, file: number) =>
  Object.entries(program)
    .filter((_, at) => at % 2 === file)
    .map(([name, statements]) => padded(name, statements))
    .join("");

/** Names of the functions of `first` that were read and still count as read in `second`. */
async function keptOf(
  all: readonly { base: Program; first: Program; second: Program }[],
): Promise<Set<string>> {
  const textsOf = (head: "first" | "second") =>
    all.flatMap((one) =>
      [0, 1].map((file) => ({ base: fileOf(one.base, file), head: fileOf(one[head], file) })),
    );
  const [first = [], second = []] = await roundsOf([textsOf("first"), textsOf("second")], js);
  const read = new Set(first.flatMap(({ changes }) => changes.flat()));
  const kept = new Set<string>();
  for (const [at, { base, second: head }] of all.entries())
    for (const file of [0, 1]) {
      const names = Object.keys(base).filter(
        (name, place) => place % 2 === file && differs(name, base, head),
      );
      const found = second.find(({ change }) => change.path === `f${2 * at + file}-${js}`);
      expect(found?.changes.length ?? 0).toBe(names.length);
      for (const [hunk, name] of names.entries())
        if (found?.changes[hunk]?.every((digest) => read.has(digest))) kept.add(name);
    }
  return kept;
}

const differs = (name: string, one: Program, other: Program) => String(one[name]) !== String(other[name]);

describe("links between changed definitions", () => {
  const base: Program = { run: ["log();"], check: ["log();"], inner: [], enter: ["run();"], other: [] };
  const first: Program = { ...base, run: ["log();", "check();", "wipe();"] };
  const rows: [string, Program, Program, string][] = [
    ["a guard in a called function", { check: ["log();", "stop();"] }, { check: ["log();"] }, "run"],
    ["a guard that is weakened", { check: ["stop();"] }, { check: ["stop(0);"] }, "run"],
    ["a guard two calls away", { check: ["inner();"], inner: ["stop();"] }, { inner: [] }, "check"],
    ["a guard in the caller", { enter: ["stop();", "run();"] }, { enter: ["run();"] }, "run"],
  ];

  it.each(rows)("A run is new after a typo elsewhere and %s", async (_, more, less, guarded) => {
    const read = { ...first, ...more };
    const kept = await keptOf([{ base, first: read, second: { ...read, ...less, other: ["typo();"] } }]);
    expect(kept).not.toContain(guarded);
    const same = await keptOf([{ base, first: read, second: { ...read, other: ["typo();"] } }]);
    expect(same).toContain(guarded);
  });

  it("Links decide for random programs, and nothing else does", async () => {
    const random = seeded(20_261_130);
    const below = (limit: number) => Math.floor(random() * limit);
    const programs = Array.from({ length: 60 }, (_, number) => {
      const names = Array.from({ length: 8 }, (_, at) => `p${number}f${at}`);
      const statements = () =>
        Array.from({ length: below(3) }, () =>
          random() < 0.7 ? `${names[below(8)]}();` : `log(${below(3)});`,
        );
      const edited = (program: Program, share: number): Program =>
        Object.fromEntries(
          names.map((name) => [name, random() < share ? statements() : (program[name] ?? [])]),
        );
      const base = edited({}, 1);
      const first = edited(base, 0.5);
      const second = edited(first, 0.15);
      // Taken back.
      for (const name of names) if (random() < 0.15) second[name] = base[name] ?? [];
      return { base, first, second };
    });
    const kept = await keptOf(programs);
    let [isNew, isSame] = [0, 0];
    for (const { base, first, second } of programs) {
      const names = Object.keys(base);
      const changed = (name: string) => differs(name, first, second);
      const calls = (name: string) => names.filter((one) => second[name]?.includes(`${one}();`));
      for (const name of names.filter((one) => differs(one, base, first) && differs(one, base, second))) {
        if (changed(name) || calls(name).some(changed)) {
          expect([name, kept.has(name)]).toEqual([name, false]);
          isNew += 1;
        }
        const linked = new Set([name]);
        for (const one of linked)
          for (const other of names)
            if (
              calls(one).includes(other) ||
              first[other]?.includes(`${one}();`) ||
              calls(other).includes(one)
            )
              linked.add(other);
        if (![...linked].some(changed)) {
          expect([name, kept.has(name)]).toEqual([name, true]);
          isSame += 1;
        }
      }
    }
    expect(Math.min(isNew, isSame)).toBeGreaterThan(10);
  });
});
