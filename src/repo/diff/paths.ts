import { shownBytes } from "./file-diff.ts";

/** Characters that HFS+ ignores when it compares names: zero-width characters, direction marks, the byte order mark. */
const ignoredInNames = /[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]/g;
/** NTFS ignores dots and spaces at the end of a name, accepts a short name for the long one, and has stream names after a colon. */
const gitFolder = /^(?:\.git|git~\d)[. ]*(?::.*)?$/is;
/** The separator here, and the one on other systems. */
const separators = /[/\\]/;

type PathFault = "empty" | "nul" | "absolute" | "upwards" | "git";

/** Whether some file system treats this name as `.git`, in upper or lower case. */
const isGitFolder = (name: string) => gitFolder.test(name.replace(ignoredInNames, ""));

/** What is wrong with a path, by its text; undefined if it leads neither out of the repository nor into `.git`, on any system. */
export function pathFault(path: string): PathFault | undefined {
  if (path === "") return "empty";
  if (path.includes("\0")) return "nul";
  if (path.startsWith("/")) return "absolute";
  const names = path.split(separators);
  if (names.includes("..")) return "upwards";
  return names.some(isGitFolder) ? "git" : undefined;
}

/** Maximum bytes of a path as a model reads it, quoted and escaped. No file system accepts longer ones, but a tree may contain them. */
export const MAX_PATH_BYTES = 4_096;

/** Escaping and quoting turn one UTF-16 unit into at most this many bytes. */
const WORST_ESCAPE = 8;

/** Whether a path of a tree is longer than the tools accept. */
export function isPathTooLong(path: string): boolean {
  return path.length * WORST_ESCAPE > MAX_PATH_BYTES && shownBytes(JSON.stringify(path)) > MAX_PATH_BYTES;
}

/*
 * Patterns of gitignore, matched in at most as many steps as the product of the lengths of pattern and path. The package `ignore` uses regular
 * expressions, which take many seconds for hostile patterns, such as four stars next to `[+-9]`: it is only the oracle of the tests.
 */

/** Maximum characters of a path. No file system accepts longer ones. */
const MAX_PATH = 4_096;

interface PathMatch {
  matched: boolean;
  /** A negative pattern (`!src/vendor/ours/**`) took back exactly this path. */
  takenBack: boolean;
}

interface PathRule {
  isNegative: boolean;
  /** Only matches folders: the pattern ends with a slash. */
  isFolder: boolean;
  /** Matches at any depth: the pattern has no other slash. */
  isName: boolean;
  glob: Glob;
}

/** A rule, and the parts of its glob that may match the next name of a path. */
interface Candidate {
  rule: PathRule;
  parts: readonly number[];
}

interface Folder {
  name: string;
  matched: boolean;
  /** Rules that may match something in it, in the order of the patterns. */
  candidates: readonly Candidate[];
}

/**
 * Tests a path against gitignore patterns, as git does; case matters. A trailing slash marks a folder. `overlong` answers for paths that are
 * too long to match.
 */
export function createPathMatcher(
  patterns: readonly string[],
  overlong = false,
): (path: string) => PathMatch {
  const candidates = patterns.flatMap(readRules).map((rule) => ({ rule, parts: reachable(rule.glob, 0) }));
  if (candidates.length === 0) return () => ({ matched: false, takenBack: false });
  const root: Folder = { name: "", matched: false, candidates };
  /** The folders of the previous path: most paths come in the order of their folders. */
  const known: Folder[] = [];
  return (path) => {
    if (path.length > MAX_PATH) return { matched: overlong, takenBack: false };
    const isFolder = path.endsWith("/");
    const names = path.slice(0, isFolder ? -1 : undefined).split("/");
    const name = names.pop() ?? "";
    const folder = descend(root, names, known);
    if (folder.matched) return { matched: true, takenBack: false };
    const rule = lastHit(folder.candidates, name, isFolder);
    return { matched: rule?.isNegative === false, takenBack: rule?.isNegative === true };
  };
}

/** The rules of a pattern, which matches what one of them matches. None if it matches nothing. */
function readRules(pattern: string): PathRule[] {
  const isNegative = pattern.startsWith("!");
  const body = withoutEnd(isNegative ? pattern.slice(1) : pattern);
  if (body === "" || (!isNegative && body.startsWith("#"))) return [];
  const isFolder = body.endsWith("/");
  const inner = isFolder ? body.slice(0, -1) : body;
  if (inner === "") return [];
  const isName = !inner.includes("/");
  const rooted = inner.startsWith("/") ? inner.slice(1) : inner;
  const globs = (isName ? [rooted] : withoutStarsBehindText(rooted)).map(readGlob);
  return globs.flatMap((glob) => (glob ? [{ isNegative, isFolder, isName, glob }] : []));
}

/** What an escape is for in a pattern of gitignore, and braces, which have a meaning for others. */
const ESCAPED = "*?[]\\#! {}";
/** Beginnings of paths on a machine; the repository is below them, so they are not in it. */
const absolute = /^(?:[A-Za-z]:|~)[\\/]|^\/(?:home|Users|Volumes)\/[^/*]+\//;

/**
 * Why a pattern can match no path as git writes them: `./src`, `C:\src`, `a//b`. Null if it can, and for comments (`# keys`).
 * @param isPrivate whether also an escaped star counts, which ends a name on no usual system and a folder on Windows (`keys\*`)
 */
export function patternFault(pattern: string, isPrivate: boolean): string | null {
  const body = withoutEnd(pattern.replace(/^!/, ""));
  if (/^#(?:\s|$)/.test(pattern)) return null;
  if (body === "") return "has no text";
  if (pattern.startsWith("#")) return "begins with `#`, like a comment; write `\\#`";
  if (absolute.test(body)) return "begins like an absolute path, but `/` is the root of the repository";
  // With a class as one character: its slashes divide nothing.
  let plain = "";
  for (let at = 0; at < body.length; ) {
    const read = readSign(body, at);
    if (read === null) return "has a `[` without its end, or ends with a backslash";
    if (read.sign === NO_CHARACTER) return "has a range in brackets whose end comes before its beginning";
    const isStars = read.sign === "*" && (isPrivate || body[read.end] === "*");
    if (body[at] === "\\" && (isStars || !ESCAPED.includes(String(read.sign))))
      return "has a backslash where a path has a slash; write `/`, and `[*]` for a star in a name";
    plain += body[at] === "[" ? "?" : body.slice(at, read.end);
    at = read.end;
  }
  const names = plain.replace(/^\/|\/$/g, "").split("/");
  return names.some((name) => name === "" || name === "." || name === "..")
    ? "has a part `.`, `..` or nothing between slashes, which no path has; begin at the root or folder without them"
    : null;
}

/** Text, `**` right behind it, and the end of that name; further `**` between slashes change nothing. */
const starsBehindText = /^([^*?[\\]*[^*?[\\/])\*\*+(?:\/\*\*+)*(\/|$)/;

// git compares the text before the first special character by itself, so `**` behind it counts as if the pattern began with it:
// `a**/b` also matches `ab` and `a/x/b`, against gitignore(5). These patterns say the same without it. match_pathname in dir.c
function withoutStarsBehindText(pattern: string): string[] {
  const found = starsBehindText.exec(pattern);
  if (!found) return [pattern];
  const [{ length }, text, end] = found;
  const rest = pattern.slice(length);
  return end === "/" ? [`${text}*/**/${rest}`, `${text}${rest}`] : [`${text}*`, `${text}*/**`];
}

/** A pattern without trailing white space, except a space after a backslash. */
function withoutEnd(pattern: string): string {
  let end = pattern.length;
  while (end > 0 && " \r\n".includes(pattern.charAt(end - 1))) end -= 1;
  let backslashes = 0;
  while (pattern[end - 1 - backslashes] === "\\") backslashes += 1;
  return pattern.slice(0, backslashes % 2 === 1 && pattern[end] === " " ? end + 1 : end);
}

/** Goes down from the root; everything in a matched folder is matched, whatever other rules say. */
function descend(root: Folder, names: readonly string[], known: Folder[]): Folder {
  let folder = root;
  for (const [depth, name] of names.entries()) {
    if (known[depth]?.name !== name) {
      known.length = depth;
      known.push(enter(folder, name));
    }
    folder = known[depth] ?? folder;
    if (folder.matched) break;
  }
  return folder;
}

function enter({ candidates }: Folder, name: string): Folder {
  const within: Candidate[] = [];
  for (const candidate of candidates) {
    if (candidate.rule.isName) within.push(candidate);
    else {
      const parts = partsBehind(candidate, name);
      if (parts.length > 0) within.push({ rule: candidate.rule, parts });
    }
  }
  const matched = lastHit(candidates, name, true)?.isNegative === false;
  return { name, matched, candidates: within };
}

/** The last rule that matches the name decides. */
function lastHit(candidates: readonly Candidate[], name: string, isFolder: boolean): PathRule | undefined {
  return candidates.findLast(
    ({ rule, parts }) =>
      (isFolder || !rule.isFolder) && isLast(rule, parts) && isPart(rule.glob.at(-1), name),
  )?.rule;
}

const isLast = ({ glob }: PathRule, parts: readonly number[]) => parts.at(-1) === glob.length - 1;

const isPart = (part: Glob[number] | undefined, name: string) =>
  part === ANY_NAMES || (part !== undefined && matchesName(part, name));

/** The parts that may match the next name. */
function partsBehind({ rule: { glob }, parts }: Candidate, name: string): readonly number[] {
  const behind = new Set<number>();
  for (const part of parts) {
    if (glob[part] === ANY_NAMES) for (const next of reachable(glob, part)) behind.add(next);
    else if (part < glob.length - 1 && isPart(glob[part], name))
      for (const next of reachable(glob, part + 1)) behind.add(next);
  }
  return behind.size === 0 ? none : [...behind];
}

const none: readonly number[] = [];

/** `**` also matches zero names, except at the end of a pattern: `a/**` does not match `a`. */
function reachable(glob: Glob, part: number): readonly number[] {
  return glob[part] === ANY_NAMES && part < glob.length - 1 ? [part, part + 1] : [part];
}

/** Matches any number of names of a path: `**` between slashes. */
const ANY_NAMES = Symbol("**/");

/** Whether a pattern for one character, as `?` or `[a-z]`, matches one; characters are code points. */
type CharacterClass = (code: number) => boolean;
const ANY_CHARACTER: CharacterClass = () => true;
const NO_CHARACTER: CharacterClass = () => false;
const STAR = Symbol("*");
const STARS = Symbol("**");
const SLASH = Symbol("/");

type Written = string | CharacterClass | typeof STAR | typeof STARS;

/** A pattern for one name of a path: plain text, or signs. */
type NamePattern = string | readonly Written[];

/** A glob in parts, one for each name of a path. */
type Glob = readonly (NamePattern | typeof ANY_NAMES)[];

/** Parses a pattern without its `!` and the slashes at its ends. Null if it matches nothing. https://git-scm.com/docs/gitignore, wildmatch.c */
function readGlob(pattern: string): Glob | null {
  const parts: Glob[number][] = [];
  let signs: Written[] = [];
  for (let at = 0; at < pattern.length; ) {
    const read = readSign(pattern, at);
    if (read === null) return null;
    at = read.end;
    if (read.sign === SLASH) {
      addPart(parts, signs);
      signs = [];
    } else signs.push(read.sign);
  }
  addPart(parts, signs);
  return parts;
}

function readSign(pattern: string, at: number): { sign: Written | typeof SLASH; end: number } | null {
  const char = characterAt(pattern, at);
  const end = at + char.length;
  switch (char) {
    case "/":
      return { sign: SLASH, end };
    case "?":
      return { sign: ANY_CHARACTER, end };
    case "*": {
      let behind = end;
      while (pattern[behind] === "*") behind += 1;
      return { sign: behind > end ? STARS : STAR, end: behind };
    }
    case "[": {
      const read = readClass(pattern, end);
      return read && { sign: read.matches, end: read.end };
    }
    case "\\": {
      const meant = characterAt(pattern, end);
      return meant === "" ? null : { sign: meant === "/" ? SLASH : meant, end: end + meant.length };
    }
    default:
      return { sign: char, end };
  }
}

const characterAt = (text: string, at: number) => {
  const code = text.codePointAt(at);
  return code === undefined ? "" : String.fromCodePoint(code);
};

/** Two stars between slashes match any names, and repeating them changes nothing; within a name they count as one star. */
function addPart(parts: Glob[number][], signs: readonly Written[]): void {
  if (signs.length === 1 && signs[0] === STARS) {
    if (parts.at(-1) !== ANY_NAMES) parts.push(ANY_NAMES);
  } else parts.push(signs.every((sign) => typeof sign === "string") ? signs.join("") : signs);
}

/**
 * Whether the pattern matches a name, in at most as many steps as the product of both lengths: where the signs after a star do not fit, that
 * star takes one more character, and no earlier star is tried again, because that never helps.
 */
function matchesName(pattern: NamePattern, name: string): boolean {
  if (typeof pattern === "string") return pattern === name;
  const characters = [...name];
  let [sign, at] = [0, 0];
  let star: { sign: number; at: number } | null = null;
  while (at < characters.length) {
    const now = pattern[sign];
    if (now === STAR || now === STARS) {
      sign += 1;
      star = { sign, at };
    } else if (now !== undefined && isSign(now, characters[at] ?? "")) {
      sign += 1;
      at += 1;
    } else if (star === null) return false;
    else {
      star.at += 1;
      ({ sign, at } = star);
    }
  }
  return pattern.slice(sign).every((one) => one === STAR || one === STARS);
}

const isSign = (sign: string | CharacterClass, character: string) =>
  typeof sign === "string" ? sign === character : sign(character.codePointAt(0) ?? 0);

interface ReadClass {
  matches: CharacterClass;
  end: number;
}

const CONTROL = 0x1f;
const DELETE = 0x7f;

const madeOf = (pattern: RegExp) => (code: number) => pattern.test(String.fromCodePoint(code));

/** ASCII only, as in git. */
const named: Readonly<Record<string, CharacterClass>> = {
  alnum: madeOf(/^[0-9A-Za-z]/),
  alpha: madeOf(/^[A-Za-z]/),
  blank: madeOf(/^[ \t]/),
  cntrl: (code) => code <= CONTROL || code === DELETE,
  digit: madeOf(/^[0-9]/),
  graph: madeOf(/^[!-~]/),
  lower: madeOf(/^[a-z]/),
  print: madeOf(/^[ -~]/),
  punct: madeOf(/^[!-/:-@[-`{-~]/),
  space: madeOf(/^[ \t-\r]/),
  upper: madeOf(/^[A-Z]/),
  xdigit: madeOf(/^[0-9A-Fa-f]/),
};

/** Parses the class after its opening bracket. Null if it does not end, or names a class that git does not know: then nothing matches. */
function readClass(pattern: string, start: number): ReadClass | null {
  const isNegated = pattern[start] === "!" || pattern[start] === "^";
  const members: CharacterClass[] = [];
  let at = start + Number(isNegated);
  // A bracket that comes first is a member.
  while (members.length === 0 || pattern[at] !== "]") {
    const read = readKind(pattern, at) ?? readRange(pattern, at);
    if (read === "nothing") return null;
    members.push(read.matches);
    at = read.end;
  }
  const isEmpty = !isNegated && members.every((one) => one === NO_CHARACTER);
  const matches: CharacterClass = (code) => members.some((one) => one(code)) !== isNegated;
  return { matches: isEmpty ? NO_CHARACTER : matches, end: at + 1 };
}

/** `[:alpha:]` within a class; undefined for anything else, including an unclosed `[:`. */
function readKind(pattern: string, at: number): ReadClass | "nothing" | undefined {
  if (!pattern.startsWith("[:", at)) return undefined;
  const end = pattern.indexOf("]", at + 2);
  if (end < 0) return "nothing";
  if (pattern[end - 1] !== ":" || end - 1 === at + 1) return undefined;
  const name = pattern.slice(at + 2, end - 1);
  const matches = Object.hasOwn(named, name) ? named[name] : undefined;
  return matches ? { matches, end: end + 1 } : "nothing";
}

function readRange(pattern: string, at: number): ReadClass | "nothing" {
  const low = readMember(pattern, at);
  if (low === null) return "nothing";
  const behind = pattern[low.end + 1];
  const isRange = pattern[low.end] === "-" && behind !== undefined && behind !== "]";
  const high = isRange ? readMember(pattern, low.end + 1) : low;
  if (high === null) return "nothing";
  if (high.code < low.code) return { matches: NO_CHARACTER, end: high.end };
  return { matches: (code) => code >= low.code && code <= high.code, end: high.end };
}

function readMember(pattern: string, at: number): { code: number; end: number } | null {
  const place = at + Number(pattern[at] === "\\");
  const code = pattern.codePointAt(place);
  return code === undefined ? null : { code, end: place + (code > 0xffff ? 2 : 1) };
}
