import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { deflateSync } from "node:zlib";
import { type Content, GitRepo } from "../support/git-repo.ts";

const small = {
  before: "def total(items):\n    return sum(items)\n",
  after: "def total(prices):\n    return sum(prices)\n",
};

export const baseFiles = { "cart.py": small.before };

/** A repository whose branch `topic` changes one file normally and adds the others. */
export function bombOfFiles(files: Iterable<readonly [string, Content]>): GitRepo {
  const repo = GitRepo.create({ bare: true });
  repo.importCommits([{ branch: "main", files: Object.entries(baseFiles) }]);
  addBombOfFiles(repo, files);
  return repo;
}

/** Makes the branch `topic` in a bare repository whose `main` holds `baseFiles`. */
export function addBombOfFiles(repo: GitRepo, files: Iterable<readonly [string, Content]>): void {
  repo.importCommits([{ branch: "topic", parents: ["main"], files: [["cart.py", small.after], ...files] }]);
}

/** What the last level of a bomb of trees refers to. */
type Leaf = "file" | "empty folder";

/** The same with a folder `bomb` of few trees: `levels` of them, each with `width` references to the next. */
export function bombOfTrees(levels: number, width: number, leaf: Leaf = "file"): GitRepo {
  const repo = GitRepo.create({ bare: true });
  repo.importCommits([{ branch: "main", files: Object.entries(baseFiles) }]);
  addBombOfTrees(repo, levels, width, leaf);
  return repo;
}

/** Makes the branch `topic` in a bare repository whose `main` holds `baseFiles`. */
export function addBombOfTrees(repo: GitRepo, levels: number, width: number, leaf: Leaf = "file"): void {
  addBombOfFiles(repo, [["seed", "1\n"]]);
  let inner =
    leaf === "file"
      ? { mode: "100644", oid: repo.git("rev-parse", "topic:seed") }
      : { mode: "40000", oid: writeObject(repo, "tree", Buffer.alloc(0)) };
  for (let level = 0; level < levels; level++) {
    const names = Array.from({ length: width }, (_, at) => String.fromCharCode(97 + at));
    const entries = names.map((name) => entry(inner.mode, name, inner.oid));
    inner = { mode: "40000", oid: writeObject(repo, "tree", Buffer.concat(entries)) };
  }
  const top = ["bomb", "cart.py"].map((name) =>
    name === "bomb"
      ? entry("40000", name, inner.oid)
      : entry("100644", name, repo.git("rev-parse", "topic:cart.py")),
  );
  const tree = writeObject(repo, "tree", Buffer.concat(top));
  const commit = repo.git("commit-tree", tree, "-p", "main", "-m", "Unfold");
  repo.git("update-ref", "refs/heads/topic", commit);
}

const entry = (mode: string, name: string, oid: string) =>
  Buffer.concat([Buffer.from(`${mode} ${name}\0`), Buffer.from(oid, "hex")]);

/** Writes a loose object without git: ten thousand git processes would take a minute. */
function writeObject({ dir }: GitRepo, type: string, content: Buffer): string {
  const whole = Buffer.concat([Buffer.from(`${type} ${content.length}\0`), content]);
  const oid = createHash("sha1").update(whole).digest("hex");
  const folder = join(dir, "objects", oid.slice(0, 2));
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, oid.slice(2)), deflateSync(whole), { flag: "w" });
  return oid;
}

/** Files of `bytes` bytes each, all different and small enough to review one by one. */
export function* readableFiles(count: number, bytes: number): Generator<readonly [string, string]> {
  const lines = "value = 123456\n".repeat(Math.floor(bytes / 15));
  for (let at = 0; at < count; at++) yield [`part-${String(at).padStart(5, "0")}.py`, `# ${at}\n${lines}`];
}
