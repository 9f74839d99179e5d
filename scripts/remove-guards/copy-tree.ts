import { cp, mkdir, readdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import { TempFolder } from "../../test/support/git-repo.ts";

/** What neither the product nor its tests read, and what is linked instead. */
const leftOut = new Set([".git", "dist", "node_modules"]);

/** A copy of the project in which files may be changed; it is gone when disposed of. */
export interface Copy extends AsyncDisposable {
  root: string;
}

export async function copyTree(from: string): Promise<Copy> {
  const folder = new TempFolder("guards");
  const root = join(folder.path, "copy");
  await mkdir(root);
  for (const name of await readdir(from))
    if (!leftOut.has(name)) await cp(join(from, name), join(root, name), { recursive: true });
  await linkPackages(join(from, "node_modules"), join(root, "node_modules"));
  return {
    root,
    [Symbol.asyncDispose]: async () => {
      await rm(root, { recursive: true, force: true });
      folder[Symbol.dispose]();
    },
  };
}

/** One link a package: what the test runner remembers of its runs stays with the copy. */
async function linkPackages(from: string, to: string): Promise<void> {
  await mkdir(to);
  for (const name of await readdir(from))
    if (!name.startsWith(".vite")) await symlink(join(from, name), join(to, name));
}
