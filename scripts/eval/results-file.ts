import { appendFile, readFile, truncate } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";
import { requireWritable } from "../../src/cli/output.ts";
import { AppError } from "../../src/errors.ts";
import { byteLength, splitLines } from "../../src/text/cut.ts";
import { CaseResult, type Settings } from "./case-result.ts";
import { type EvalCase, parseJson } from "./load-cases.ts";

/** Results as they come, one JSON object a line, so that a run that was stopped goes on where it was. */
export interface ResultsFile {
  /** What an earlier run with the same settings found out about the case as it is now. */
  resultOf(one: EvalCase, settings: Settings): CaseResult | undefined;
  append(result: CaseResult): Promise<void>;
}

/** Without a path nothing is kept. */
export const noResultsFile: ResultsFile = { resultOf: () => undefined, append: async () => {} };

/**
 * Opens a file of results, which need not be there. A last line without its end, which a killed run leaves, is taken away.
 * Rejects with `config_invalid` and the line for a file of anything else, with `usage` where nothing can be written.
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

/** Only of a file that is ours. */
async function takeAwayRest(path: string, text: string, whole: string): Promise<void> {
  if (!text.slice(whole.length).startsWith('{"case":'))
    throw new AppError("config_invalid", `${path} is no file of results`, {
      remedy: "Name another one with --output.",
    });
  await truncate(path, byteLength(whole));
}
