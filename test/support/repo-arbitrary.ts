import fc from "fast-check";

/** One change in a commit. `file` is an index into the files of the tree, modulo their number. */
export type Step =
  | { kind: "add"; path: string; content: GeneratedContent }
  | { kind: "edit"; file: number; at: number; remove: number; insert: string[] }
  /** Many hunks in the longest file. */
  | { kind: "scatter"; every: number }
  | { kind: "bulk"; file: number; at: number; lines: number }
  | { kind: "replace"; file: number; content: GeneratedContent }
  | { kind: "rename" | "copy"; file: number; to: string; alsoEdit: boolean; twice: boolean }
  | { kind: "delete" | "executable" | "newline" | "crlf"; file: number }
  | { kind: "symlink"; file: number; target: string }
  | { kind: "submodule"; file: number; commit: number };

export type GeneratedContent =
  | { kind: "lines"; lines: string[]; eol: "\n" | "\r\n"; lastEol: boolean }
  | { kind: "numbered"; count: number }
  | { kind: "bytes"; bytes: Uint8Array };

export interface RepositorySpec {
  files: { path: string; content: GeneratedContent; executable: boolean }[];
  /** Changes on `main` after the branch point. */
  baseSteps: Step[];
  /** The commits of `topic`. */
  headCommits: Step[][];
}

const segments = [
  ...[
    "a",
    "b",
    "src",
    "x.ts",
    "y.py",
    ".hidden",
    "README.md",
    "b c",
    " lead",
    "trail ",
    "é",
    "日本語",
    "e\u0301",
    "😀",
  ],
  ...[
    'q"uote',
    "it's",
    "tab\there",
    "new\nline",
    "cr\rname",
    "back\\slash",
    "bell\u0007",
    "a => b",
    "{a,b}",
    "*.txt",
    "[x]",
  ],
  ...[
    "-dash",
    "--output=x",
    "-e",
    ":(exclude)x",
    "#hash",
    "!not",
    "$HOME",
    "~",
    "%2e%2e",
    "...",
    "a b/",
    "diff --git a",
    "\u202e",
  ],
].map((name) => name.replace("/", ""));

const hostileFiles: Record<string, string[]> = {
  ".gitattributes": [
    "* -diff",
    "* binary",
    "*.ts filter=evil ident",
    "* text eol=crlf",
    "* working-tree-encoding=UTF-16",
    "*.md diff=evil",
  ],
  ".ignore": ["*"],
  ".rgignore": ["*"],
  ".gitignore": ["*", "/src"],
};

const line = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom(
      "alpha",
      "beta",
      "",
      "  return 1;",
      "}",
      "{",
      "café",
      "x\ty",
      "日本",
      "needle",
      "Needle needle",
    ),
  },
  {
    weight: 2,
    arbitrary: fc.string({ maxLength: 12, unit: "grapheme" }).map((text) => text.replace(/[\n\0]/g, "")),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      "diff --git a/x b/x",
      "--- a/x",
      "+++ b/x",
      "-- a/x",
      "++ b/x",
      "@@ -1,3 +1,4 @@",
      "\\ No newline at end of file",
      "index 1234567..89abcde 100644",
      "rename from a",
      "Binary files a/x and b/x differ",
      "GIT binary patch",
      "+plus",
      "-minus",
      " space",
      "\ufeffbom",
      "inner\rreturn",
      "\u2028",
    ),
  },
);

const text: fc.Arbitrary<GeneratedContent> = fc.record({
  kind: fc.constant("lines" as const),
  lines: fc.array(line, { maxLength: 25 }),
  eol: fc.constantFrom("\n" as const, "\n" as const, "\r\n" as const),
  lastEol: fc.boolean(),
});

const content: fc.Arbitrary<GeneratedContent> = fc.oneof(
  { weight: 8, arbitrary: text },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("numbered" as const),
      count: fc.constantFrom(40, 150, 700, 700),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.uint8Array({ maxLength: 60 }).map((bytes) => ({ kind: "bytes" as const, bytes })),
  },
  {
    weight: 1,
    arbitrary: fc.constant({ kind: "bytes" as const, bytes: Uint8Array.from([0, 1, 2, 10, 65]) }),
  },
  {
    weight: 1,
    arbitrary: fc.constant({ kind: "bytes" as const, bytes: Buffer.from("caf\xe9\nna\xefve\n", "latin1") }),
  },
);

const path = fc
  .array(fc.constantFrom(...segments), { minLength: 1, maxLength: 3 })
  .map((parts) => parts.join("/"));

const plainFile = fc.record({ path, content, executable: fc.boolean() });
const hostileFile = fc.constantFrom(...Object.entries(hostileFiles)).chain(([name, lines]) =>
  fc.record({
    path: fc.constant(name),
    content: fc.constantFrom(...lines).map((one) => linesOf([one])),
    executable: fc.constant(false),
  }),
);

const index = fc.nat(30);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("add" as const), path, content }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("edit" as const),
      file: index,
      at: fc.nat(40),
      remove: fc.nat(3),
      insert: fc.array(line, { maxLength: 4 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("scatter" as const),
      every: fc.constantFrom(3, 9, 10),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("bulk" as const),
      file: index,
      at: fc.nat(40),
      lines: fc.constantFrom(120, 1000, 5000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("replace" as const), file: index, content }) },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("rename" as const, "copy" as const),
      file: index,
      to: path,
      alsoEdit: fc.boolean(),
      twice: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constantFrom("delete" as const, "executable" as const, "newline" as const, "crlf" as const),
      file: index,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("symlink" as const),
      file: index,
      target: fc.constantFrom("/etc/passwd", "../..", "a", "x y"),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("submodule" as const),
      file: index,
      commit: fc.integer({ min: 1, max: 9 }),
    }),
  },
);

/**
 * Repositories with rare content: renames, copies, deletions, binaries, changes of mode and type, symlinks, submodules, CRLF, missing
 * newlines at the end, spaces, quotes, tabs, newlines and non-ASCII in paths, content that looks like diff headers, files with 70 hunks,
 * hunks of 5,000 lines, attributes and ignore files that try to hide code.
 */
export const repositorySpec: fc.Arbitrary<RepositorySpec> = fc.record({
  files: fc
    .tuple(fc.array(plainFile, { minLength: 1, maxLength: 8 }), fc.array(hostileFile, { maxLength: 2 }))
    .map(([plain, hostile]) => [...plain, ...hostile]),
  baseSteps: fc.array(step, { maxLength: 3 }),
  headCommits: fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 2 }),
});

function linesOf(lines: string[]): GeneratedContent {
  return { kind: "lines", lines, eol: "\n", lastEol: true };
}

/** Cases that random choice rarely generates: a file of 70 hunks and a hunk of 5,000 lines. For `examples` of fast-check. */
export const worstCase: RepositorySpec = {
  files: [
    { path: "many hunks.txt", content: { kind: "numbered", count: 700 }, executable: false },
    { path: "a/large\thunk", content: { kind: "numbered", count: 40 }, executable: false },
    { path: ".gitattributes", content: linesOf(["* -diff"]), executable: false },
  ],
  baseSteps: [{ kind: "edit", file: 0, at: 0, remove: 1, insert: ["main"] }],
  headCommits: [
    [
      { kind: "scatter", every: 10 },
      { kind: "bulk", file: 1, at: 20, lines: 5000 },
    ],
  ],
};
