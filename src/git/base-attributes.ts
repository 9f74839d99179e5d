import { tmpdir } from "node:os";
import { join } from "node:path";
import { attributeValue, type LinguistAttributes } from "../diff/origin.ts";
import { splitNul } from "../text/decode.ts";
import type { ObjectPlace } from "./checkout-place.ts";
import { nameBytes } from "./names.ts";
import { runGit } from "./run-git.ts";
import { makeTempFolder, removeFolder } from "./temp-folder.ts";

const FILE = ".gitattributes";
const ATTRIBUTES = ["linguist-generated", "linguist-vendored"];
const NUL = Buffer.from([0]);
const NEWLINE = 10;
const MISSING = " missing\n";

/**
 * Matching takes git time that grows with a path's depth to the power of a pattern's `**` (measured: seven of them and 60
 * folders take 20 s), and the pull request chooses its paths. Nobody's code lies deeper.
 */
export const MAX_ATTRIBUTES_DEPTH = 50;
/** What is slow at that depth still ends. A thousand paths and everyday patterns take some hundredths of a second. */
const TIME_LIMIT_MS = 10_000;

/** The folders above a path and its name, as far as we look. */
const segmentsOf = (path: string) => path.split("/", MAX_ATTRIBUTES_DEPTH + 2);
const isTooDeep = (path: string) => segmentsOf(path).length > MAX_ATTRIBUTES_DEPTH + 1;

/**
 * What the `.gitattributes` files of the base's tip say about paths, whatever the head made of those files. Where there are
 * some, paths that are too deep to be matched in reasonable time are left out. Rejects with `git_timeout` when patterns and
 * paths were made to be slow all the same.
 *
 * `git check-attr` has `--source` from 2.40 on and we take git from 2.39 on, so it reads an index that holds the
 * `.gitattributes` files alone. A symbolic link of that name is read as its target's path, which holds no rule.
 */
export async function baseAttributes(
  place: ObjectPlace,
  paths: readonly string[],
  timeoutMs = TIME_LIMIT_MS,
): Promise<Map<string, LinguistAttributes>> {
  const records = await attributeFiles(place, paths, timeoutMs);
  if (records.length === 0) return new Map(paths.map((path) => [path, { generated: null, vendored: null }]));
  const folder = await makeTempFolder(tmpdir());
  try {
    const indexFile = join(folder, "index");
    const command = { git: place, gitDir: place.gitDir, indexFile, timeoutMs };
    const input = Buffer.concat(records);
    await runGit({
      ...command,
      what: "index attributes",
      args: ["update-index", "-z", "--index-info"],
      input,
    });
    return await checkAttributes(
      command,
      paths.filter((path) => !isTooDeep(path)),
    );
  } finally {
    await removeFolder(folder);
  }
}

/** The base's `.gitattributes` files in all folders above the paths, as records for `update-index --index-info`. */
async function attributeFiles(
  place: ObjectPlace,
  paths: readonly string[],
  timeoutMs: number,
): Promise<Buffer[]> {
  const names = [...foldersAbove(paths)].map((folder) => nameBytes(`${folder}${FILE}`));
  const objects = names.map((name) => Buffer.concat([Buffer.from(`${place.shas.base}:`), name]));
  const { stdout } = await runGit({
    git: place,
    gitDir: place.gitDir,
    what: "cat-file",
    args: ["cat-file", "--batch-check=%(objectname) %(objecttype)", "-z", "--buffer"],
    input: Buffer.concat(objects.flatMap((object) => [object, NUL])),
    timeoutMs,
  });
  const records: Buffer[] = [];
  let at = 0;
  for (const [index, object] of objects.entries()) {
    // Of what is not there git repeats the name, line feeds and all.
    if (stdout.subarray(at, at + object.length).equals(object)) {
      at += object.length + MISSING.length;
      continue;
    }
    const end = stdout.indexOf(NEWLINE, at);
    const [oid, type] = stdout.toString("latin1", at, end).split(" ");
    at = end + 1;
    const name = names[index] ?? NUL;
    if (type === "blob") records.push(Buffer.from(`100644 ${oid}\t`), name, NUL);
  }
  return records;
}

/** Each with a slash behind it; the root as "". */
function foldersAbove(paths: readonly string[]): Set<string> {
  const folders = new Set([""]);
  for (const path of paths) {
    let folder = "";
    for (const segment of segmentsOf(path).slice(0, -1)) {
      folder += `${segment}/`;
      folders.add(folder);
    }
  }
  return folders;
}

interface IndexCommand {
  git: ObjectPlace;
  gitDir: string;
  indexFile: string;
  timeoutMs: number;
}

async function checkAttributes(
  command: IndexCommand,
  paths: readonly string[],
): Promise<Map<string, LinguistAttributes>> {
  const { stdout } = await runGit({
    ...command,
    what: "check-attr",
    args: ["check-attr", "--cached", "--stdin", "-z", ...ATTRIBUTES],
    input: Buffer.concat(paths.flatMap((path) => [nameBytes(path), NUL])),
  });
  // Three fields for each attribute of each path: the path, the attribute's name, its state.
  const fields = splitNul(stdout, (field) => field.toString("latin1"));
  return new Map(
    paths.map((path, at) => {
      const [generated = "", vendored = ""] = [fields[6 * at + 2], fields[6 * at + 5]];
      return [path, { generated: attributeValue(generated), vendored: attributeValue(vendored) }];
    }),
  );
}
