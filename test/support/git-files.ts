import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * What git keeps in plain files, read and written without it: tests would start it hundreds of times for this alone, and a
 * large process takes longer to start another one than git takes to answer.
 */

const objectName = /^[0-9a-f]{40,64}\n$/;

/** What a full ref points at; undefined where that stands in no file of its own, so that git has to be asked. */
export function looseRef(gitDir: string, ref: string): string | undefined {
  const content = contentOf(join(gitDir, ref));
  return content !== undefined && objectName.test(content) ? content.trim() : undefined;
}

/** What HEAD points at, on a branch or not; undefined where git has to be asked. */
export function looseHead(gitDir: string): string | undefined {
  const content = contentOf(join(gitDir, "HEAD"));
  if (content === undefined || objectName.test(content)) return content?.trim();
  const ref = /^ref: (\S+)\n$/.exec(content)?.[1];
  return ref === undefined ? undefined : looseRef(gitDir, ref);
}

/** Makes what `git init` makes, on branch `main`. */
export function initRepository(gitDir: string, bare: boolean): void {
  for (const folder of ["info", "objects/info", "objects/pack", "refs/heads", "refs/tags"]) {
    mkdirSync(join(gitDir, folder), { recursive: true });
  }
  const core = {
    repositoryformatversion: 0,
    filemode: true,
    bare,
    ...(bare ? {} : { logallrefupdates: true }),
  };
  const lines = Object.entries(core).map(([key, value]) => `\t${key} = ${value}\n`);
  writeFileSync(join(gitDir, "config"), `[core]\n${lines.join("")}`);
  writeFileSync(join(gitDir, "HEAD"), "ref: refs/heads/main\n");
}

/** Whether refs may also stand together in one file. */
export function hasPackedRefs(gitDir: string): boolean {
  return existsSync(join(gitDir, "packed-refs"));
}

function contentOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
