import { createHash } from "node:crypto";
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import { entryOf } from "../../scripts/action-tree.ts";
import { bundle } from "../../scripts/bundle.ts";
import { platformsHere } from "../../scripts/grammars.ts";

const root = join(import.meta.dirname, "../..");
/** Inside `node_modules`, so that the program finds its packages. */
const shelf = join(root, "node_modules/.cache/hunkwise-built");
/** The inputs of a built program, and the files that it expects beside itself. */
const sources = [
  "src",
  ...["action-tree", "bundle", "grammars", "licenses"].map((name) => `scripts/${name}.ts`),
  "package-lock.json",
];
const beside = ["package.json", "rules", "action.yml", "app.yml", "app.contents-write.yml"];

/** A build that takes longer counts as abandoned. */
const PATIENCE_MS = 600_000;
const OLD_MS = 3_600_000;

/** A name that depends on the name, size and time of each source file. */
function nameOfSources(): string {
  const hash = createHash("sha256");
  const note = (path: string) => {
    const stat = statSync(join(root, path));
    if (stat.isDirectory()) for (const name of readdirSync(join(root, path)).sort()) note(`${path}/${name}`);
    else hash.update(`${path} ${stat.size} ${stat.mtimeMs}\n`);
  };
  for (const path of [...sources, ...beside]) note(path);
  return hash.digest("hex").slice(0, 16);
}

/**
 * The program as `npm run build` makes it from the current sources: the tests start what users start, and it loads in half the time. The
 * first caller builds it; the others wait.
 *
 * @returns the path of its `cli.js`
 */
async function builtProgram(): Promise<string> {
  const place = join(shelf, nameOfSources());
  const entry = join(place, "dist/cli.js");
  const given = Date.now();
  while (!existsSync(entry)) {
    if (claim(`${place}.making`)) await make(place);
    else if (Date.now() - given > PATIENCE_MS) rmSync(`${place}.making`, { recursive: true, force: true });
    else await sleep(100);
  }
  return entry;
}

function claim(folder: string): boolean {
  mkdirSync(shelf, { recursive: true });
  try {
    mkdirSync(folder);
    return true;
  } catch {
    return false;
  }
}

async function make(place: string): Promise<void> {
  const making = `${place}.making`;
  try {
    if (existsSync(place)) return;
    for (const name of beside) cpSync(join(root, name), join(making, name), { recursive: true });
    await bundle(join(making, "dist"), { only: platformsHere });
    writeFileSync(
      join(making, "action.js"),
      entryOf(parse(readFileSync(join(making, "action.yml"), "utf8"))),
    );
    renameSync(making, place);
    removeOld();
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** Removes programs of outdated sources; another run may still load from newer ones. */
function removeOld(): void {
  for (const name of readdirSync(shelf)) {
    const folder = join(shelf, name);
    const made = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - made > OLD_MS) rmSync(folder, { recursive: true, force: true });
  }
}

export const programEntry = await builtProgram();
