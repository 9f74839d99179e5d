import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { AppError, errorLine } from "../../src/core/errors.ts";
import { type CaseChange, CaseFile, type EvalCase, KnownFile, parseJson } from "./case-format.ts";
import { casesOfBenchmark } from "./public-benchmarks.ts";

/**
 * Reads the cases of a folder with a folder for each case, or of a public benchmark: one of its files, or a folder of them. In the order of
 * their names. Rejects with `usage` for a place without cases and for unknown names, and with `config_invalid` and the file's name for a
 * file that does not match docs/quality.md.
 */
export async function loadCases(place: string, only: readonly string[] = []): Promise<EvalCase[]> {
  const readers = await readersOf(place);
  const names = [...readers.keys()].sort();
  const unknown = only.filter((name) => !readers.has(name));
  if (unknown.length > 0)
    throw new AppError("usage", `no case '${unknown.join("', '")}' in ${place}`, {
      remedy: `There are ${names.join(", ")}.`,
    });
  const wanted = names.filter((name) => only.length === 0 || only.includes(name));
  return Promise.all(wanted.flatMap((name) => readers.get(name)?.() ?? []));
}

type Readers = Map<string, () => Promise<EvalCase>>;

/** A way to read each case of a place, by its name. */
async function readersOf(place: string): Promise<Readers> {
  const isFile = await stat(place).then(
    (found) => found.isFile(),
    (error: unknown) => {
      throw new AppError("usage", `the cases cannot be read: ${errorLine(error)}`, { cause: error });
    },
  );
  if (isFile) return readersOfBenchmark([place]);
  const entries = await readdir(place);
  const names = entries.filter((name) => existsSync(join(place, name, "case.json")));
  if (names.length > 0) return new Map(names.map((name) => [name, () => loadCase(place, name)]));
  const files = entries.filter((name) => name.endsWith(".json")).sort();
  if (files.length > 0) return readersOfBenchmark(files.map((name) => join(place, name)));
  throw new AppError("usage", `no cases in ${place}`, {
    remedy:
      "Name a folder with a folder for each case, each with a case.json, or the published files of a benchmark.",
  });
}

/** A file of AACR-Bench in the form of its issues, with the remarks that its annotators found wrong. */
const REJECTED_REMARKS = "negative_samples.json";

async function readersOfBenchmark(files: readonly string[]): Promise<Readers> {
  const readers: Readers = new Map();
  const wanted = files.filter((file) => basename(file) !== REJECTED_REMARKS);
  if (wanted.length === 0)
    throw new AppError("usage", `${files.join(", ")} holds only what the annotators of AACR-Bench rejected`, {
      remedy: "Name its positive_samples.json.",
    });
  for (const file of wanted)
    for (const one of casesOfBenchmark(await readFile(file, "utf8"), file)) {
      if (readers.has(one.name))
        throw new AppError("config_invalid", `${file} has the case ${one.name}, which was read before`, {
          remedy: "Name the files of one version of the benchmark.",
        });
      readers.set(one.name, async () => one);
    }
  return readers;
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
  const change: CaseChange =
    pull.change.kind === "commits"
      ? pull.change
      : { kind: "patch", patch: await patchOf(folder, pull.change.diff), base: pull.change.base };
  const patch = change.kind === "patch" ? change.patch : null;
  const digest = createHash("sha256")
    .update(JSON.stringify([caseText, knownText, patch]))
    .digest("hex")
    .slice(0, 16);
  return { ...pull, name, change, known, acceptable, digest };
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
