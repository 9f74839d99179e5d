import { describe, expect, it } from "vitest";
import { reviewedNow } from "../../../src/review/followup/known-change.ts";
import { withSurroundings } from "../../../src/review/followup/surroundings.ts";
import { createDiffSource } from "../../../src/tools/diff-source.ts";
import type { ChangedFile } from "../../../src/tools/tool.ts";
import { GitRepo } from "../../support/git-repo.ts";
import { openRepository } from "../../tools/context.ts";
import { contentHash, coverageWithout, knownIn } from "./rounds.ts";

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
  it.each(Object.entries(attacks))("is new after %s", async (_, [path, first, second]) => {
    const [count] = await newOf([[first, second]], path);
    expect(count).toBeGreaterThan(0);
  });

  it.each(Object.entries(attacks))("is known where nothing happens: %s", async (_, [path, first, second]) => {
    expect(
      await newOf(
        [
          [first, first],
          [second, second],
        ],
        path,
      ),
    ).toEqual([0, 0]);
  });

  it("is known after a rebase that shifts it and changes other functions", async () => {
    const rebased = `import x from "x";\n${fn("h")}${fn("g", "other();")}`;
    const pairs: [Texts, Texts][] = [
      [
        { base: fn("g") + fn("f"), head: fn("g") + fn("f", "ok();") },
        { base: rebased + fn("f"), head: rebased + fn("f", "ok();") },
      ],
    ];
    expect(await newOf(pairs, js)).toEqual([0]);
  });

  it("is known in a changelog that grew elsewhere, and new where its neighbours changed", async () => {
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

  it("is new in documentation that moved, because agents may obey it under another name", async () => {
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

  it("is known when the change goes on in another function", async () => {
    const pairs: [Texts, Texts][] = [
      [
        { base: fn("g") + fn("f"), head: fn("g") + fn("f", "ok();") },
        { base: fn("g") + fn("f"), head: fn("g", "more();") + fn("f", "ok();") },
      ],
    ];
    expect(await newOf(pairs, js)).toEqual([1]);
  });
});
