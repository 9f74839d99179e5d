import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { quotePath } from "./names.ts";

/** A repository whose objects are borrowed. */
export interface ObjectSource {
  /** What holds the objects. */
  commonDir: string;
  shallow: boolean;
  objectFormat: "sha1" | "sha256";
}

/**
 * Makes a bare repository that borrows the objects of another one and nothing else: no configuration, no hooks, no refs.
 * With `attributes: false` the `.gitattributes` files of the work tree count, though no filter they name is configured.
 */
export async function createScratchRepository(
  gitDir: string,
  source: ObjectSource,
  options: { headSha: string; attributes: boolean },
): Promise<void> {
  await mkdir(join(gitDir, "objects", "info"), { recursive: true });
  await Promise.all([mkdir(join(gitDir, "refs")), mkdir(join(gitDir, "info"))]);
  const sha256 = source.objectFormat === "sha256" ? "[extensions]\n\tobjectFormat = sha256\n" : "";
  const version = sha256 === "" ? 0 : 1;
  await Promise.all([
    writeFile(join(gitDir, "HEAD"), `${options.headSha}\n`),
    writeFile(
      join(gitDir, "config"),
      `[core]\n\trepositoryFormatVersion = ${version}\n\tbare = true\n${sha256}`,
    ),
    writeFile(
      join(gitDir, "objects", "info", "alternates"),
      `${quotePath(join(source.commonDir, "objects"))}\n`,
    ),
    writeFile(join(gitDir, "info", "attributes"), options.attributes ? HARDENED_ATTRIBUTES : ""),
    source.shallow ? copyFile(join(source.commonDir, "shallow"), join(gitDir, "shallow")) : undefined,
  ]);
}

/**
 * Content of `info/attributes`, which outranks every `.gitattributes` of the repository: no filter runs, bytes on the disk
 * equal the blob, and `-diff` hides no code.
 */
export const HARDENED_ATTRIBUTES = "* !filter !ident !text !eol !working-tree-encoding !diff !merge !crlf\n";
