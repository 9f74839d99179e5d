import { GlobProgram, type GlobToken, isNoSlash } from "./glob-program.ts";

/** A glob of ripgrep's for whole paths. */
export interface PathGlob {
  /** What matches it is left out, and everything else is in. */
  isNegative: boolean;
  /** It is about folders alone. */
  isFolder: boolean;
  program: GlobProgram;
}

/**
 * Reads `--glob=...` as ripgrep does (crates `ignore` and `globset`): a line of gitignore the other way round, with `{a,b}`, and
 * of bytes. Null for an empty one and a comment. Throws a SyntaxError where ripgrep refuses it too.
 */
export function readPathGlob(given: string): PathGlob | null {
  if (given.startsWith("#")) return null;
  let line = given.endsWith("\\ ") ? given : given.trimEnd();
  if (line === "") return null;
  const isQuoted = /^\\[!#]/.test(line);
  const isNegative = !isQuoted && line.startsWith("!");
  if (isQuoted || isNegative) line = line.slice(1);
  const isBound = line.startsWith("/");
  if (isBound && !isQuoted) line = line.slice(1);
  const isFolder = line.endsWith("/");
  if (isFolder) line = line.slice(0, -1).replace(/\\$/, "");
  const isAnywhere = !isBound && !line.includes("/") && line !== "**";
  const glob = isAnywhere ? `**/${line}` : line;
  return { isNegative, isFolder, program: readGlob(glob.endsWith("/**") ? `${glob}/*` : glob) };
}

/** A glob by itself; no sign of it stands for a slash but `**`. Throws a SyntaxError for a broken one. */
export function readGlob(glob: string): GlobProgram {
  return new GlobProgram(new GlobReader(glob).read());
}

/** The tokens of a glob, with a list for each of the alternatives that are open. */
class GlobReader {
  readonly #signs: readonly string[];
  #at = 0;
  /** The innermost alternatives last; each is the list of its branches so far. */
  readonly #open: GlobToken[][][] = [[[]]];

  constructor(glob: string) {
    this.#signs = [...glob];
  }

  read(): GlobToken[] {
    for (let sign = this.#next(); sign !== undefined; sign = this.#next()) this.#take(sign);
    if (this.#open.length > 1) throw new SyntaxError("an alternative is not closed");
    const tokens = this.#branch;
    return tokens.length === 1 && tokens[0] === "prefix" ? ["prefix", "star"] : tokens;
  }

  get #branch(): GlobToken[] {
    return this.#open.at(-1)?.at(-1) ?? [];
  }

  #next(): string | undefined {
    return this.#signs[this.#at++];
  }

  #take(sign: string): void {
    const isWithin = this.#open.length > 1;
    if (sign === "?") this.#branch.push(isNoSlash);
    else if (sign === "*") this.#takeStar();
    else if (sign === "[") this.#branch.push(this.#readClass());
    else if (sign === "{") this.#open.push([[]]);
    else if (sign === "}") this.#close();
    else if (sign === "," && isWithin) this.#open.at(-1)?.push([]);
    else this.#branch.push(...literal(sign === "\\" ? this.#behindBackslash() : sign));
  }

  #behindBackslash(): string {
    const sign = this.#next();
    if (sign === undefined) throw new SyntaxError("a backslash stands at the end");
    return sign;
  }

  #close(): void {
    if (this.#open.length === 1) throw new SyntaxError("an alternative is closed that was not open");
    const branches = this.#open.pop() ?? [];
    const written = branches.filter((tokens) => tokens.length > 0);
    if (written.length > 0) this.#branch.push({ branches: written });
  }

  /** `**` between slashes stands for folders; anywhere else it is two stars. */
  #takeStar(): void {
    const before = this.#signs[this.#at - 2];
    if (this.#signs[this.#at] !== "*") {
      this.#branch.push("star");
      return;
    }
    this.#at += 1;
    const behind = this.#signs[this.#at];
    const isBranchEnd = this.#open.length > 1 && (behind === "," || behind === "}");
    const isEnd = behind === undefined || (isBranchEnd && this.#branch.length > 0);
    const startsBranch = this.#open.length > 1 && (before === "," || before === "{");
    const mayStart = this.#branch.length === 0 || before === "/" || startsBranch;
    if (!mayStart || !(isEnd || behind === "/")) {
      this.#branch.push("star", "star");
      return;
    }
    if (behind === "/") this.#at += 1;
    if (this.#branch.length === 0) this.#branch.push("prefix");
    else this.#joinFolders(isEnd ? "suffix" : "between");
  }

  /** Takes the slash before it in; several of them in a row are one. */
  #joinFolders(token: "suffix" | "between"): void {
    const last = this.#branch.pop();
    this.#branch.push(last === "prefix" || last === "suffix" ? last : token);
  }

  /** A class of bytes: of a character beyond ASCII, each of its bytes. */
  #readClass(): (byte: number) => boolean {
    const isNegative = "!^".includes(this.#signs[this.#at] ?? " ");
    if (isNegative) this.#at += 1;
    const ranges: [string, string][] = [];
    let isRange = false;
    for (let isFirst = true; ; isFirst = false) {
      const sign = this.#next();
      if (sign === undefined) throw new SyntaxError("a class is not closed");
      if (sign === "]" && !isFirst) break;
      if (sign === "-" && !isFirst && !isRange) {
        isRange = true;
        continue;
      }
      if (isRange) widen(ranges, sign);
      else ranges.push([sign, sign]);
      isRange = false;
    }
    if (isRange) ranges.push(["-", "-"]);
    const bytes = new Set(ranges.flatMap(bytesOf));
    return (byte) => bytes.has(byte) !== isNegative;
  }
}

function widen(ranges: [string, string][], to: string): void {
  const last = ranges.at(-1);
  if (last === undefined || last[0] > to) throw new SyntaxError("a range of a class goes backwards");
  last[1] = to;
}

/** What lies between two characters of ASCII; of others the last byte of the one to the first of the other, as ripgrep has it. */
function bytesOf([from, to]: [string, string]): number[] {
  const [first, last] = [[...Buffer.from(from)], [...Buffer.from(to)]];
  if (from === to) return first;
  const [low = 0, high = 0] = [first.at(-1), last[0]];
  const between = Array.from({ length: Math.max(high - low + 1, 0) }, (_, at) => low + at);
  return [...first, ...between, ...last];
}

const literal = (sign: string): GlobToken[] =>
  [...Buffer.from(sign)].map((wanted) => (byte: number) => byte === wanted);
