import { isOverlong } from "./render.ts";

/** What can be said of a patch without parsing it. */
export interface PatchSurvey {
  hunks: number;
  /** Whether an added or removed line is too long to be shown whole. */
  overlongChange: boolean;
}

/** Diffs of more lines are not parsed: every line becomes an object, and nobody reads so many. */
export const MAX_DIFF_LINES = 200_000;

/** The line feeds of a text: of a patch as many as it has lines, its header's too. */
export function countLines(text: string): number {
  let lines = 0;
  for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) lines += 1;
  return lines;
}

const [AT, PLUS, MINUS] = ["@", "+", "-"].map((sign) => sign.charCodeAt(0));

/**
 * Counts the hunks of one file's patch. For an overview of a thousand files: many times quicker than parsing them. A
 * line of the file always has a sign in front, so behind the header only a hunk's own line begins with `@`.
 */
export function surveyPatch(patch: string): PatchSurvey {
  const survey: PatchSurvey = { hunks: 0, overlongChange: false };
  const firstHunk = patch.startsWith("@@ -") ? 0 : patch.indexOf("\n@@ -") + 1;
  if (firstHunk === 0 && !patch.startsWith("@@ -")) return survey;
  for (let start = firstHunk; start < patch.length; ) {
    const newline = patch.indexOf("\n", start);
    const end = newline < 0 ? patch.length : newline;
    const sign = patch.charCodeAt(start);
    if (sign === AT) survey.hunks += 1;
    else if (sign === PLUS || sign === MINUS)
      survey.overlongChange ||= isOverlong(patch.slice(start + 1, end));
    start = end + 1;
  }
  return survey;
}
