import { appendFile, readFile, truncate } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { requireWritable } from "../../src/cli/output.ts";
import { AppError } from "../../src/core/errors.ts";
import { byteLength, splitLines } from "../../src/core/text/cut.ts";
import { type EvalCase, parseJson } from "./case-format.ts";
import { CaseResult, type Settings } from "./case-result.ts";

/** Results in the order of completion, one JSON object per line, so that a stopped run can continue. The last one of a case counts. */
export interface ResultsFile {
  /** The result of an earlier run with the same settings for the unchanged case. */
  resultOf(one: EvalCase, settings: Settings): CaseResult | undefined;
  append(result: CaseResult): Promise<void>;
}

/** Without a path, nothing is stored. */
export const noResultsFile: ResultsFile = { resultOf: () => undefined, append: async () => {} };

/**
 * Opens a file of results, which may not exist yet. Removes an incomplete last line, which a killed run leaves. Rejects with
 * `config_invalid` and the line number for any other file, and with `usage` if it is not writable.
 */
export async function openResultsFile(path: string): Promise<ResultsFile> {
  await requireWritable(path);
  const text = await readFile(path, "utf8").catch(() => "");
  const whole = text.slice(0, text.lastIndexOf("\n") + 1);
  const results = splitLines(whole).map((line, index) => parseJson(CaseResult, line, `${path}:${index + 1}`));
  if (whole !== text) await takeAwayRest(path, text, whole);
  return {
    resultOf: ({ name, digest }, settings) =>
      results.findLast(
        (one) => one.case === name && one.digest === digest && isDeepStrictEqual(one.settings, settings),
      ),
    append: (result) => appendFile(path, `${JSON.stringify(result)}\n`),
  };
}

/** Changes only files that this script wrote. */
async function takeAwayRest(path: string, text: string, whole: string): Promise<void> {
  if (!text.slice(whole.length).startsWith('{"case":'))
    throw new AppError("config_invalid", `${path} is no file of results`, {
      remedy: "Name another one with --output.",
    });
  await truncate(path, byteLength(whole));
}
