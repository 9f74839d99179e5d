import type { TriedOut } from "../review/fix/fix-input.ts";

/** Most commands to name, and most characters of each: the arguments are a model's. */
const most = { commands: 8, characters: 300 };

const limits = {
  timeout: "it took too long",
  memory: "it used too much memory",
  files: "it created too many files",
  output: "it printed too much",
};

/**
 * How a repair was tried out, in one sentence.
 *
 * @param code renders the text of a model or a repository for its place
 */
export function triedWords({ commands, why_none }: TriedOut, code: (text: string) => string): string {
  const shown = (text: string) =>
    code(text.length > most.characters ? `${text.slice(0, most.characters).toWellFormed()}…` : text);
  const ends = commands.slice(0, most.commands).map(({ command, folder, exit_code, ended }) => {
    const where = folder === "." ? "" : ` in ${shown(folder)}`;
    const why = ended === null ? "" : ` (${limits[ended]})`;
    return `${shown(command)}${where} ended with exit code ${exit_code}${why}`;
  });
  if (commands.length > ends.length) ends.push(`and ${commands.length - ends.length} more`);
  if (ends.length > 0) return `Commands run on exactly these files: ${ends.join("; ")}.`;
  return `No command was run to test the repair: ${why_none ?? "no reason given"}.`;
}
