import type { TriedOut } from "../review/fix/fix-input.ts";

const limits = {
  timeout: "it took too long",
  memory: "it took too much memory",
  files: "it made too many files",
  output: "it printed too much",
};

/**
 * How a repair was tried out, in one sentence.
 *
 * @param code shows what a model or a repository wrote, as the place takes it
 */
export function triedWords({ commands, why_none }: TriedOut, code: (text: string) => string): string {
  const ends = commands.map(({ command, folder, exit_code, ended }) => {
    const where = folder === "." ? "" : ` in ${code(folder)}`;
    const why = ended === null ? "" : ` (${limits[ended]})`;
    return `${code(command)}${where} ended with exit code ${exit_code}${why}`;
  });
  if (ends.length > 0) return `Tried out on exactly these files: ${ends.join("; ")}.`;
  return `No command was run to try it out: ${why_none ?? "nobody says why"}.`;
}
