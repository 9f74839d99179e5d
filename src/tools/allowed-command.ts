import { ToolError } from "./tool.ts";

/** A word of a command line as a shell takes it, in either kind of quotes or in none. */
const words = /"([^"]*)"|'([^']*)'|(\S+)/g;
/** In a word without quotes, what means something to a shell. */
const meaning = /[;&|<>`$(){}*?!#~\\"'\n]/;

/**
 * The command line that is meant: an allowed one by its name or as it is written, and behind it plain words as further arguments, which
 * may say what to test. It is no wall (that is the sandbox): it says what the maintainers want run.
 *
 * @throws ToolError that names what is allowed
 */
export function allowedCommand(asked: string, allowed: Readonly<Record<string, string>>): string {
  const given = asked.trim();
  const known = Object.entries(allowed).flatMap(([name, line]) => [
    { begins: line, line },
    { begins: name, line },
  ]);
  // `npm test` is also how `npm test -- --run` begins.
  const found = known
    .filter(({ begins }) => given === begins || given.startsWith(`${begins} `))
    .toSorted((a, b) => b.begins.length - a.begins.length)[0];
  if (!found) throw new ToolError(`'${given}' is none of the commands that may be run: ${listed(allowed)}`);
  const rest = [...given.slice(found.begins.length).matchAll(words)].map(([, double, single, bare]) => {
    if (bare === undefined || !meaning.test(bare)) return double ?? single ?? bare ?? "";
    throw new ToolError(
      `only plain arguments may follow '${found.begins}', not '${bare}'; stdout and stderr are both answered, of long output head and tail`,
    );
  });
  return [found.line, ...rest.map(quoted)].join(" ");
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

function listed(allowed: Readonly<Record<string, string>>): string {
  const all = Object.entries(allowed).map(([name, line]) => `${name} (${line})`);
  return all.length > 0 ? all.join(", ") : "none, because .github/hunkwise.yml of the base names none";
}
