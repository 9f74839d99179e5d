import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { AppError, errorLine } from "../../src/errors.ts";
import { CaseFile, KnownFile } from "./case-format.ts";

/** A pull request with its known issues. */
export interface EvalCase extends KnownFile {
  /** Name of the folder. */
  name: string;
  folder: string;
  pull: CaseFile;
  /** The patch as text; null if the case is not a patch. */
  patch: string | null;
  /** Digest of the whole case: equal digests mean equal cases. */
  digest: string;
}

/**
 * Reads the cases of a folder in the order of their names. Rejects with `usage` for a folder without cases and for unknown names, and with
 * `config_invalid` and the file's name for a file that does not match docs/quality.md.
 */
export async function loadCases(folder: string, only: readonly string[] = []): Promise<EvalCase[]> {
  const names = await caseNames(folder);
  const unknown = only.filter((name) => !names.includes(name));
  if (unknown.length > 0)
    throw new AppError("usage", `no case '${unknown.join("', '")}' in ${folder}`, {
      remedy: `There are ${names.join(", ")}.`,
    });
  return Promise.all(
    names.filter((name) => only.length === 0 || only.includes(name)).map((name) => loadCase(folder, name)),
  );
}

async function caseNames(folder: string): Promise<string[]> {
  const entries = await readdir(folder).catch((error: unknown) => {
    throw new AppError("usage", `the cases cannot be read: ${errorLine(error)}`, { cause: error });
  });
  const names = entries.filter((name) => existsSync(join(folder, name, "case.json")));
  if (names.length === 0)
    throw new AppError("usage", `no cases in ${folder}`, {
      remedy: "Name a folder with a folder for each case, each with a case.json.",
    });
  return names.sort();
}

async function loadCase(parent: string, name: string): Promise<EvalCase> {
  const folder = join(parent, name);
  const [file, knownFile] = [join(folder, "case.json"), join(folder, "known.json")];
  const caseText = await readFile(file, "utf8");
  const knownText = await readFile(knownFile, "utf8").catch(() => null);
  const pull = parseJson(CaseFile, caseText, file);
  // case.json itself may contain the known issues.
  const { known, acceptable } =
    knownText === null ? parseJson(KnownFile, caseText, file) : parseJson(KnownFile, knownText, knownFile);
  const patch = pull.diff === undefined ? null : await patchOf(folder, pull.diff);
  const digest = createHash("sha256")
    .update(JSON.stringify([caseText, knownText, patch]))
    .digest("hex")
    .slice(0, 16);
  return { name, folder, pull, known, acceptable, patch, digest };
}

/** A patch has several lines; a file name has one. */
async function patchOf(folder: string, diff: string): Promise<string> {
  if (diff.includes("\n")) return diff;
  if (!/^\w[\w.-]*$/.test(diff))
    throw new AppError(
      "config_invalid",
      `${join(folder, "case.json")}: diff '${diff}' is no name of a file beside it`,
    );
  return readFile(join(folder, diff), "utf8").catch((error: unknown) => {
    throw new AppError(
      "config_invalid",
      `${join(folder, "case.json")}: the diff cannot be read: ${errorLine(error)}`,
      {
        cause: error,
      },
    );
  });
}

/** Parses `text`, the content of `file`. Throws `config_invalid` with the first error. */
export function parseJson<Schema extends z.ZodType>(
  schema: Schema,
  text: string,
  file: string,
): z.output<Schema> {
  let raw: unknown;
  try {
    raw = JSON.parse(text);
  } catch (error) {
    throw new AppError("config_invalid", `${file} is not JSON: ${errorLine(error)}`, { cause: error });
  }
  const parsed = schema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = z.core.toDotPath(issue?.path ?? []);
  throw new AppError("config_invalid", `${file}: ${path === "" ? "" : `${path} `}${issue?.message}`, {
    remedy: "See docs/quality.md for the format of a case.",
  });
}
