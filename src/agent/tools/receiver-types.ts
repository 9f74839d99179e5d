import { type CodeFile, type DefinitionSite, isType } from "../../repo/code/code-file.ts";
import { basesOf, isTypeName, typeNameOf, wordsDeclaring } from "../../repo/code/declared-types.ts";
import type { Definition } from "../../repo/code/source.ts";
import type { LineMatch } from "../../repo/git/workspace.ts";

/* Types by single lines of text: what types extend, what names are declared as, and what the text before a call says. */

const word = String.raw`[\p{L}_$][\p{L}\p{N}_$]*`;
/** ripgrep's pattern for the first lines of types that extend something, and for the blocks that implement a trait. */
export const HEADS = String.raw`^[^"'=;]{0,80}\b(?:class|interface|struct|record|object|enum|trait|protocol)\s+\w+.*(?:\b(?:extends|implements)\b|[:(<])|^\s*(?:unsafe )?impl\b.*\bfor\b|^type \w+ interface\b`;
const head = new RegExp(
  String.raw`\b(?:class|interface|struct|record|object|enum|trait|protocol)\s+(${word})`,
  "u",
);
const implementing = new RegExp(
  String.raw`^\s*(?:unsafe )?impl\b(?:<.{0,100}?>)?\s+(?:\w+::)*(${word}).{0,100}?\sfor\s+&?(?:mut )?(?:\w+::)*(${word})`,
  "u",
);

/** What types extend or implement, by name. */
type Supertypes = ReadonlyMap<string, ReadonlySet<string>>;

/** By these lines, and by the whole heads of types in the file of a definition. */
export function supertypesIn(
  lines: readonly Pick<LineMatch, "path" | "text">[],
  { file }: DefinitionSite,
): Supertypes {
  const own = file.definitions
    .filter(isType)
    .map((one) => [one.name, basesOf(one, file).map(lastName)] as const);
  const found = new Map(own.map(([name, bases]) => [name, new Set(bases)]));
  for (const { path, text } of lines) {
    const line = text.slice(0, MAX_LINE);
    const [, trait, type = head.exec(line)?.[1]] = implementing.exec(line) ?? [];
    if (type === undefined) continue;
    const one = { name: type, kind: "class", start: 1, end: 1, signatureEnd: 1 } as Definition;
    const bases = trait === undefined ? basesOf(one, { path, lines: [line] }) : [trait];
    found.set(type, new Set([...(found.get(type) ?? []), ...bases.map(lastName)]));
  }
  return found;
}

const MAX_LINE = 500;
const lastName = (name: string) => name.split(/\.|::/).at(-1) ?? "";

/** The names that can be reached from some of them, with these; bounded, because a hostile graph is endless. */
function reachable(
  graph: Supertypes,
  from: Iterable<string>,
  goesOn: (name: string) => boolean,
): Set<string> {
  const found = new Set(from);
  // The loop also visits the names that it adds.
  for (const name of found)
    for (const next of graph.get(name) ?? []) if (found.size < MAX_TYPES && goesOn(next)) found.add(next);
  return found;
}

const MAX_TYPES = 200;

/**
 * The types that an expression may be declared as if a call of a member on it may run the one of this type: the type, the types below it that
 * inherit the member, and all types above these.
 */
export function typesWith(type: string, supertypes: Supertypes, overrides: ReadonlySet<string>): Set<string> {
  const below = new Map<string, Set<string>>();
  for (const [name, bases] of supertypes)
    for (const base of bases) below.set(base, (below.get(base) ?? new Set()).add(name));
  const heirs = reachable(below, [type], (name) => !overrides.has(name));
  return reachable(supertypes, heirs, () => true);
}

/** The types that a line may declare for the value of a name, or for the result of a function: those behind it and before it. */
export function typesDeclaredFor(name: string, text: string): string[] {
  const parameters = String.raw`(?:<[^<>()]{0,80}>)?\((?:[^()]|\([^()]{0,200}\)){0,200}\)`;
  const behind = new RegExp(String.raw`(?<![\w$.])${name}[?!]?(?:${parameters})?(?=\s|:|->)(.*)`, "u");
  const before = new RegExp(
    String.raw`(?<![\w$])(${word})(?:<[^<>]{0,100}>)?[\s*&]+${name}\s*(?:[(,;)=]|$)`,
    "u",
  );
  const [one, other] = [behind, before].map((pattern) => pattern.exec(text.slice(0, MAX_LINE))?.[1] ?? "");
  return [typeNameOf(one ?? ""), other].flatMap((type) => (type ? [lastName(type)] : []));
}

/** What the text before a call ends with: a type, if it is a cast or a new object, or the name of a variable, a field or a function. */
export interface Link {
  /** Empty if only declarations of the name tell. */
  types: readonly string[];
  name: string;
  isCall: boolean;
}

const cast = new RegExp(
  String.raw`^\(+\s*(${word}(?:\.${word})*)(?:<[^()]{0,80}>)?\s*\)\s*[\w.]+(?:\([^()]*\))?\s*\)$|\bas[!?]?\s+(${word}(?:\.${word})*)(?:<[^()]{0,80}>)?\s*\)$|\.\(\*?(${word}(?:\.${word})*)\)$`,
  "u",
);
const created = new RegExp(String.raw`^\(?new\s+(${word}(?:\.${word})*)`, "u");
const wrapping =
  /(?:\.(?:await|unwrap\(\)|expect\([^()]*\)|clone\(\)|as_ref\(\)|as_mut\(\)|lock\(\)|borrow\(\))|!+|\?)$/;

function linkOf(receiver: string): Link | null {
  let text = receiver.trim();
  while (wrapping.test(text)) text = text.replace(wrapping, "").trimEnd();
  const [, ...types] = cast.exec(text) ?? created.exec(text) ?? [];
  const type = types.find((one) => one !== undefined);
  if (type !== undefined) return { types: [lastName(type)], name: "", isCall: false };
  const isCall = text.endsWith(")");
  // All of it is in brackets.
  if (isCall && withoutCall(text) === "") return linkOf(text.slice(1, -1).replace(/^await\s+/, ""));
  const name = /([\p{L}_$][\p{L}\p{N}_$]*)\s*$/u.exec(isCall ? withoutCall(text) : text)?.[1];
  return name === undefined ? null : { types: [], name, isCall };
}

/** As {@link linkOf}, with the types that the function around, or its file, declares for a variable or a field; or the call that gives the variable. */
export function linkAt(receiver: string, file: CodeFile, around: Definition | null): Link | null {
  const link = linkOf(receiver);
  if (link === null || link.isCall || link.types.length > 0) return link;
  if (link.name === receiver && around !== null) {
    const [start, end] = [around.start, Math.min(around.end, around.start + MAX_LINES)];
    const words = [...wordsDeclaring(receiver, { ...file, start, end })].map(lastName);
    if (words.some(isTypeName)) return { ...link, types: words };
    const given = assignedTo(receiver, file.lines.slice(start - 1, end));
    if (given !== null) return given;
  }
  const typed =
    typedNames.get(file) ?? Map.groupBy(file.definitions, ({ name, type }) => (type === null ? "" : name));
  typedNames.set(file, typed);
  return { ...link, types: (typed.get(link.name) ?? []).map(({ type }) => lastName(type ?? "")) };
}

const MAX_LINES = 300;
const typedNames = new WeakMap<CodeFile, ReadonlyMap<string, readonly Definition[]>>();

/** What a call ends with whose result the lines assign to a variable, also as the first of several; null if none does. */
function assignedTo(variable: string, lines: readonly string[]): Link | null {
  const name = variable.replaceAll("$", "\\$");
  const assigns = new RegExp(
    String.raw`(?<![\w$.])${name}(?:\s*,[^=]{0,100})?\s*:?=(?![=>])\s*(?:await\s+)?(.*?)\(?[;,{\s]*$`,
  );
  for (const line of lines) {
    const [, value] = (line.includes(variable) && assigns.exec(line.slice(0, MAX_LINE))) || [];
    const link = value === undefined ? null : linkOf(value);
    if (link && (link.isCall || link.types.length > 0)) return link;
  }
  return null;
}

/** A text without the brackets at its end; empty if nothing is before them. */
function withoutCall(text: string): string {
  let depth = 0;
  for (let at = text.length - 1; at >= 0; at--) {
    if (text[at] === ")") depth += 1;
    else if (text[at] === "(" && --depth === 0) return text.slice(0, at);
  }
  return "";
}
