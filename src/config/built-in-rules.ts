import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const analyzers = [
  "ast-grep",
  "broken-code",
  "broken-data",
  "debugger-leftovers",
  "focused-tests",
  "hidden-characters",
  "hiding-attributes",
  "lock-files",
  "merge-markers",
  "own-rules",
  "parse-errors",
  "secrets",
];

let known: ReadonlySet<string> | undefined;

/** Names of the analyzers, and of their rules in `rules/`. Read once, and only if a file defines rules of its own. */
export function builtInRules(): ReadonlySet<string> {
  const folder = join(import.meta.dirname, "../../rules");
  const idsIn = (file: string) =>
    (JSON.parse(readFileSync(join(folder, file), "utf8")) as { id: string }[]).map(({ id }) => id);
  known ??= new Set([
    ...analyzers,
    ...readdirSync(folder).flatMap((file) => (file.endsWith(".json") ? idsIn(file) : [])),
  ]);
  return known;
}
