import fc from "fast-check";
import type { ImportedCommit } from "../../support/git-repo.ts";

/** What happens to a file's lines. Positions count round. */
type Edit =
  | { kind: "replace"; at: number; count: number; lines: string[] }
  /** A block that is found somewhere else afterwards, or in two places. */
  | { kind: "move" | "repeat"; at: number; count: number; to: number };

type Fate =
  | "edited"
  | "added"
  | "deleted"
  | "renamed"
  | "executable"
  | "binary"
  | "emptied"
  | "filled"
  | "untouched";

export interface GeneratedFile {
  fate: Fate;
  lines: string[];
  edits: Edit[];
  /** Line ends at the merge base and at head, and whether the last line has one. */
  ends: { base: "\n" | "\r\n"; head: "\n" | "\r\n"; lastOfBase: boolean; lastOfHead: boolean };
}

/** A change to a file's first lines, far from all others. */
export interface Unrelated {
  at: number;
  remove: number;
  insert: number;
  /** Whether the inserted lines are such as stand below, too. */
  copies: boolean;
}

/** Lines of code that say nothing about where they stand, and some that look like something else. */
const line = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.constantFrom("}", "  }", "", "  return;", "\treturn;", "call();", "call(a);", "  x = 1;"),
  },
  {
    weight: 3,
    arbitrary: fc.constantFrom(
      ...[
        "+plus",
        "-minus",
        "- item",
        "12 apples",
        "12|cell",
        "7:30",
        "@@ -1 +1 @@",
        "\\ No newline at end of file",
      ],
      ...["--- a/x", "日本();", "café", "\u2028", "a\u00a0b", "x\ry", "\ufeff"],
    ),
  },
  { weight: 4, arbitrary: fc.nat(999).map((id) => `  const value${id} = ${id};`) },
);

const lines = (max: number, min = 0) => fc.array(line, { minLength: min, maxLength: max });

const edit: fc.Arbitrary<Edit> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("replace" as const),
      at: fc.nat(200),
      count: fc.nat(4),
      lines: lines(4),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constantFrom("move" as const, "repeat" as const),
      at: fc.nat(200),
      count: fc.integer({ min: 1, max: 6 }),
      to: fc.nat(200),
    }),
  },
);

const eol = fc.constantFrom("\n" as const, "\n" as const, "\n" as const, "\r\n" as const);

const file: fc.Arbitrary<GeneratedFile> = fc.record({
  fate: fc.oneof(
    { weight: 8, arbitrary: fc.constant("edited" as const) },
    { weight: 2, arbitrary: fc.constant("renamed" as const) },
    {
      weight: 5,
      arbitrary: fc.constantFrom<Fate[]>(
        ...(["added", "deleted", "executable", "binary", "emptied", "filled", "untouched"] as const),
      ),
    },
  ),
  lines: lines(70, 1),
  edits: fc.array(edit, { minLength: 1, maxLength: 6 }),
  ends: fc.record({ base: eol, head: eol, lastOfBase: fc.boolean(), lastOfHead: fc.boolean() }),
});

export const generatedFiles = fc.array(file, { minLength: 3, maxLength: 7 });

/** Files of which the change leaves most lines alone. */
export const editedFiles = fc.array(
  fc.tuple(file, lines(70, 30)).map(([one, lines]): GeneratedFile => {
    const fate = one.fate === "renamed" ? "renamed" : "edited";
    return { ...one, lines, fate, ends: { ...one.ends, head: one.ends.base } };
  }),
  { minLength: 3, maxLength: 5 },
);

export const unrelated: fc.Arbitrary<Unrelated> = fc.record({
  at: fc.nat(2),
  remove: fc.nat(2),
  insert: fc.nat(4),
  copies: fc.boolean(),
});

/** Lines before all others, of which no two are alike. */
export const PREAMBLE_LINES = 14;
const preamble = Array.from({ length: PREAMBLE_LINES }, (_, index) => `// ${index + 1} of the preamble`);

function applied(before: readonly string[], edits: readonly Edit[]): string[] {
  let after = [...before];
  for (const one of edits) {
    const at = one.at % (after.length + 1);
    if (one.kind === "replace") {
      after.splice(at, one.count, ...one.lines);
      continue;
    }
    const block = after.slice(at, at + one.count);
    if (one.kind === "move") after.splice(at, block.length);
    after = after.toSpliced(one.to % (after.length + 1), 0, ...block);
  }
  return after;
}

const joined = (all: readonly string[], eol: string, last: boolean) =>
  all.join(eol) + (last && all.length > 0 ? eol : "");

const baseText = ({ lines, ends }: GeneratedFile) =>
  joined([...preamble, ...lines], ends.base, ends.lastOfBase);

/** The file at head; with `above`, its first lines are changed too. */
function headText({ lines, edits, ends }: GeneratedFile, above?: Unrelated): string {
  const added = Array.from({ length: above?.insert ?? 0 }, (_, index) =>
    above?.copies ? lines[index % lines.length]! : `// ${index + 1} that is unrelated`,
  );
  const first = above ? preamble.toSpliced(above.at, above.remove, ...added) : preamble;
  return joined([...first, ...applied(lines, edits)], ends.head, ends.lastOfHead);
}

type Contents = ImportedCommit["files"];

const path = (index: number) => `src/file${index}.txt`;
const newPath = (index: number) => `src/moved/file${index}.txt`;

const binary = (text: string) => Buffer.from(`\0${text}`);

function* base(files: readonly GeneratedFile[]): Generator<[string, string | Buffer]> {
  for (const [index, one] of files.entries()) {
    if (one.fate === "added") continue;
    if (one.fate === "filled") yield [path(index), ""];
    else yield [path(index), one.fate === "binary" ? binary("old") : baseText(one)];
  }
}

function* head(
  files: readonly GeneratedFile[],
  above?: Unrelated,
): Generator<[string, string | Buffer | { mode: "100755"; data: string } | null]> {
  for (const [index, one] of files.entries()) {
    const text = headText(one, above);
    if (one.fate === "untouched") continue;
    if (one.fate === "deleted") yield [path(index), null];
    else if (one.fate === "binary") yield [path(index), binary(text)];
    else if (one.fate === "emptied") yield [path(index), ""];
    else if (one.fate === "executable") yield [path(index), { mode: "100755", data: baseText(one) }];
    else if (one.fate === "renamed") {
      yield [path(index), null];
      yield [newPath(index), text];
    } else yield [path(index), text];
  }
}

/** `main`; `topic` with the change; `shifted` with the same change and an unrelated one in the first lines of every file. */
export function commitsOf(files: readonly GeneratedFile[], above: Unrelated): ImportedCommit[] {
  return [
    { branch: "main", files: base(files) as Contents },
    { branch: "topic", parents: ["main"], files: head(files) as Contents },
    { branch: "shifted", parents: ["main"], files: head(files, above) as Contents },
  ];
}
