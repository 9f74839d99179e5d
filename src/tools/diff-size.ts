import { countLines, MAX_DIFF_LINES } from "../diff/survey.ts";
import { AppError } from "../errors.ts";
import { count } from "./show.ts";

const isTooLarge = (error: unknown) => error instanceof AppError && error.code === "too_large";

/**
 * A patch that is small enough to be parsed. Rejects with `too_large`, saying what to do, when it has more than
 * MAX_DIFF_LINES lines or could not be read for its size.
 *
 * @param what whose patch it is, in words
 */
export async function boundedPatch(
  what: string,
  contextLines: number,
  reading: Promise<string>,
): Promise<string> {
  const refusal = () =>
    new AppError(
      "too_large",
      `The diff of ${what} with ${count(contextLines, "line")} of context has more than ${count(MAX_DIFF_LINES, "line")}`,
      { remedy: "Ask for fewer context_lines, or read the file in parts with read_file_part" },
    );
  const patch = await reading.catch((error: unknown) => {
    throw isTooLarge(error) ? refusal() : error;
  });
  if (countLines(patch) > MAX_DIFF_LINES) throw refusal();
  return patch;
}
