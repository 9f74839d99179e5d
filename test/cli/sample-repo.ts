import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Content, GitRepo } from "../support/git-repo.ts";

/** `main` and on top of it `topic`, checked out, with one fault that the analyzers find (high) and a lock file. */
export function faultyRepo(more: Record<string, Content | null> = {}): GitRepo {
  const repo = GitRepo.create();
  repo.commit("Start", { "cart.py": "def total(items):\n    return sum(items)\n", ...more });
  repo.branch("topic");
  repo.commit("Count what was seen", {
    "cart.py": "def total(items, seen=[]):\n    seen.append(items)\n    return sum(seen)\n",
    "package-lock.json": '{ "lockfileVersion": 3, "packages": {} }\n',
  });
  return repo;
}

/** The same with a change in which there is nothing to find. */
export function soundRepo(): GitRepo {
  const repo = GitRepo.create();
  repo.commit("Start", { "cart.py": "def total(items):\n    return sum(items)\n" });
  repo.branch("topic");
  repo.commit("Name it", { "cart.py": "def total(prices):\n    return sum(prices)\n" });
  return repo;
}

/** Every entry below a folder with its size, times and content: equal lists mean that nothing was touched. */
export function fingerprintOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .sort()
    .map((name) => {
      const path = join(folder, name);
      const { mode, mtimeMs, ctimeMs, size } = lstatSync(path);
      const content = lstatSync(path).isFile() ? readFileSync(path) : "";
      const hash = createHash("sha256").update(content).digest("hex");
      return [name, mode, mtimeMs, ctimeMs, size, hash].join(" ");
    });
}
