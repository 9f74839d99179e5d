import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { HARDENED_ATTRIBUTES } from "../../src/repo/git/scratch.ts";
import { type Content, GitRepo, type Mode } from "./git-repo.ts";
import type { GeneratedContent, RepositorySpec, Step } from "./repo-arbitrary.ts";

/** A file in the generator: its lines with their ends, or bytes. */
interface GeneratedFile {
  mode: Mode;
  data: Buffer;
}

type Tree = Map<string, GeneratedFile>;

export interface HostileRepository extends Disposable {
  repo: GitRepo;
  base: "main";
  head: "topic";
  shas: { base: string; head: string; mergeBase: string };
}

/** Makes the repository: bare, with `main` and `topic`. Tests may run git itself there: the attributes hide nothing from it. */
export function buildRepository(spec: RepositorySpec): HostileRepository {
  const repo = GitRepo.create({ bare: true });
  mkdirSync(join(repo.dir, "info"), { recursive: true });
  writeFileSync(join(repo.dir, "info", "attributes"), HARDENED_ATTRIBUTES);
  const start: Tree = new Map();
  for (const file of spec.files) {
    put(start, file.path, { mode: file.executable ? "100755" : "100644", data: bytesOf(file.content) });
  }
  const main = applied(start, spec.baseSteps);
  const trees = [start];
  for (const steps of spec.headCommits) trees.push(applied(trees.at(-1)!, steps));
  const shas = repo.importCommits([
    { branch: "main", message: "Start", files: changesBetween(new Map(), start) },
    {
      branch: "topic",
      message: "Subject\n\nBody with é",
      parents: ["main"],
      files: changesBetween(start, trees[1]!),
    },
    ...trees.slice(2).map((tree, at) => ({ branch: "topic", files: changesBetween(trees[at + 1]!, tree) })),
    { branch: "main", message: "Main goes on", files: changesBetween(start, main) },
  ]);
  return {
    repo,
    base: "main",
    head: "topic",
    shas: { mergeBase: shas[0]!, head: shas.at(-2)!, base: shas.at(-1)! },
    [Symbol.dispose]: () => repo.dispose(),
  };
}

function bytesOf(content: GeneratedContent): Buffer {
  if (content.kind === "bytes") return Buffer.from(content.bytes);
  if (content.kind === "numbered")
    return Buffer.from(Array.from({ length: content.count }, (_, at) => `line ${at}\n`).join(""));
  return Buffer.from(
    content.lines.join(content.eol) + (content.lastEol && content.lines.length > 0 ? content.eol : ""),
  );
}

/** Adds a file if no folder and no file conflicts with its path. */
function put(tree: Tree, path: string, file: GeneratedFile): boolean {
  for (const other of tree.keys()) {
    if (other.startsWith(`${path}/`) || path.startsWith(`${other}/`)) return false;
  }
  tree.set(path, file);
  return true;
}

function applied(tree: Tree, steps: readonly Step[]): Tree {
  const result: Tree = new Map(tree);
  for (const one of steps) apply(result, one);
  return result;
}

/** The path of the file with the most bytes. */
function longest(tree: Tree): string | undefined {
  return [...tree].reduce(
    (best, one) => (one[1].data.length > (best?.[1].data.length ?? -1) ? one : best),
    [...tree][0],
  )?.[0];
}

function apply(tree: Tree, one: Step): void {
  if (one.kind === "add") {
    put(tree, one.path, { mode: "100644", data: bytesOf(one.content) });
    return;
  }
  const paths = [...tree.keys()];
  const at = one.kind === "scatter" ? longest(tree) : paths[one.file % Math.max(paths.length, 1)];
  const file = at === undefined ? undefined : tree.get(at);
  if (at === undefined || file === undefined) return;
  if ("to" in one) {
    const edited = one.alsoEdit ? withLines(file, (lines) => [...lines, "added by the move\n"]) : file;
    if (one.kind === "rename") tree.delete(at);
    const moved = put(tree, one.to, edited);
    if (!moved && one.kind === "rename") tree.set(at, file);
    // If a file moves to two places, git treats one as the rename and the other as new.
    if (moved && one.twice) put(tree, `${one.to} too`, file);
    return;
  }
  const result = changed(file, one);
  if (result) tree.set(at, result);
  else tree.delete(at);
}

type Change = Exclude<Step, { kind: "add" | "rename" | "copy" }>;

function changed(file: GeneratedFile, one: Change): GeneratedFile | undefined {
  switch (one.kind) {
    case "edit":
      return withLines(file, (lines) =>
        lines.toSpliced(
          one.at % (lines.length + 1),
          one.remove,
          ...one.insert.map((line) => asBytes(`${line}\n`)),
        ),
      );
    case "scatter":
      return withLines(file, (lines) =>
        lines.map((text, at) => (at % one.every === 0 ? `changed ${text}` : text)),
      );
    case "bulk": {
      const bulk = Array.from({ length: one.lines }, (_, at) => `bulk ${at}\n`);
      return withLines(file, (lines) => lines.toSpliced(one.at % (lines.length + 1), 0, ...bulk));
    }
    case "replace":
      return { mode: file.mode, data: isPlain(file) ? bytesOf(one.content) : file.data };
    case "executable":
      return isPlain(file) ? { mode: file.mode === "100755" ? "100644" : "100755", data: file.data } : file;
    case "newline":
      return withLines(file, (lines) =>
        lines.at(-1)?.endsWith("\n") ? lines.with(-1, lines.at(-1)!.slice(0, -1)) : [...lines, "\n"],
      );
    case "crlf":
      return withLines(file, (lines) => lines.map((text) => text.replace(/\r?\n$/, "\r\n")));
    case "symlink":
      return { mode: "120000", data: Buffer.from(one.target) };
    case "delete":
      return undefined;
    case "submodule":
      return { mode: "160000", data: Buffer.from(String(one.commit).repeat(40)) };
  }
}

const isPlain = (file: GeneratedFile) => file.mode.startsWith("100");
/** Text as a string with one character per byte, so that lines can be edited in any encoding. */
const asBytes = (text: string) => Buffer.from(text, "utf8").toString("latin1");

/** Edits a plain file by lines, byte for byte; returns other files unchanged. */
function withLines(file: GeneratedFile, edit: (lines: string[]) => string[]): GeneratedFile {
  if (!isPlain(file)) return file;
  const lines = file.data.toString("latin1").match(/[^\n]*\n|[^\n]+$/g) ?? [];
  return { mode: file.mode, data: Buffer.from(edit([...lines]).join(""), "latin1") };
}

/** The changes between two trees for fast-import; deletions come first, so that a folder can become a file. */
function changesBetween(from: Tree, to: Tree): (readonly [string, Content | null])[] {
  const gone = [...from.keys()].filter((path) => !to.has(path)).map((path) => [path, null] as const);
  const come = [...to].filter(([path, file]) => from.get(path) !== file);
  return [...gone, ...come.map(([path, { mode, data }]) => [path, { mode, data }] as const)];
}
