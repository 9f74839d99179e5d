import { hasLockName, reasonByName } from "./skipped-names.ts";
import { takesEffect } from "./takes-effect.ts";

/** `left_out`: the base's attributes say so. `named`: only the name or the header, which the pull request chooses. */
export interface Origin {
  reason: string;
  account: "left_out" | "named";
}

const origins = ["generated", "vendored", "snapshot"];

/** Whether the reason of a skipped file is where it comes from. */
export const isOrigin = (reason: string): boolean => origins.includes(reason);

/** The base branch's information about a path of a changed file. The pull request's own information could be used to hide code. */
export interface BaseFacts {
  /** Null if git could not read them. The base may have taken the file back, so its name is not enough to skip it. */
  attributes: LinguistAttributes | null;
  /** Whether the file's header marks it as generated, both at base at that path and at head. Called if nothing else decides. */
  headerSaysGenerated(): Promise<boolean>;
}

/**
 * Why a file is not handwritten, and whether the base says so or its name or header; null if it may be. The base's attributes go first:
 * `-linguist-generated` and `-linguist-vendored` both take back a file that its name would skip (github-linguist, docs/overrides.md), because
 * its lists and ours divide the names differently; the former also one that its header would skip. They skip no workflow, package file or
 * hook: tools mark the ones that they generate, but a manual edit runs as well.
 */
export async function skipByOrigin(path: string, base: BaseFacts): Promise<Origin | null> {
  const { attributes } = base;
  const byBase = reasonByAttributes(path, base);
  if (byBase !== null) return { reason: byBase, account: "left_out" };
  const isTakenBack = attributes === null || attributes.generated === false || attributes.vendored === false;
  const named = isTakenBack ? null : reasonByName(path);
  if (named !== null) return { reason: named, account: "named" };
  if (isReadAnyway(path) || attributes?.generated === false) return null;
  return (await base.headerSaysGenerated()) ? { reason: "generated", account: "named" } : null;
}

const isReadAnyway = (path: string) => takesEffect(path) && !hasLockName(path);

export function reasonByAttributes(path: string, { attributes }: BaseFacts): "generated" | "vendored" | null {
  if (isReadAnyway(path)) return null;
  return attributes?.generated ? "generated" : attributes?.vendored ? "vendored" : null;
}

/** The attributes of one path that GitHub's linguist reads (github-linguist, docs/overrides.md); null if there are none. */
export interface LinguistAttributes {
  generated: boolean | null;
  vendored: boolean | null;
}

/** The value of an attribute for {@link LinguistAttributes}, from its state as `git check-attr` prints it. */
export function attributeValue(state: string): boolean | null {
  if (state === "unspecified") return null;
  return state !== "unset" && state !== "false";
}

/** Bytes of a file that are searched for a header that says "generated". */
export const HEADER_BYTES = 4096;

const HEADER_LINES = 20;

const mark =
  /^\W{0,40}(?:@generated\b(?! not\b|-)|<auto-?generated)|\b(?:auto(?:matically)?|machine)[- ]?generated\b/im;
const untouched = /\b(?:do not|don't|not intended|never)\b.{0,30}\b(?:edit|modif|manual)/i;

/** Whether the beginning of a file says that it is generated. A guess: what is not read because of it makes no check green. */
export function saysGenerated(text: string): boolean {
  const header = text.slice(0, HEADER_BYTES).split("\n", HEADER_LINES).join("\n");
  return mark.test(header) || (/\bgenerated\b/i.test(header) && untouched.test(header));
}

/** git considers a file binary if one of these first bytes is NUL. */
export const PROBED_BYTES = 8_000;

/** Compressed data, images and machine code are well below this share, sources well above. */
const READABLE_SHARE = 0.95;

const whiteSpace = new Set([0x09, 0x0a, 0x0c, 0x0d]);

const isReadable = (code: number) => (code >= 0x20 && code < 0x7f) || whiteSpace.has(code) || code >= 0x100;

/** Code and configuration that runs code: languages accept NUL bytes in comments. Without an extension, it may be a script. */
const named =
  /(?:^|\/)\.?[^./]+$|\.(?:[cm]?[jt]sx?|vue|svelte|astro|pyi?|rb|rake|gemspec|php|phtml|pl|pm|lua|r|jl|sh|bash|zsh|fish|ksh|awk|ps[dm]?1|bat|cmd|vbs|wsf|applescript|c|cc|cpp|cxx|h|hh|hpp|hxx|ipp|inl|cu|m|mm|s|asm|go|rs|swift|zig|d|nim|v|java|kts?|scala|sc|sbt|groovy|gradle|clj[cs]?|exs?|erl|hrl|hs|lhs|ml|mli|fsx?|fsi|cs|csx|vb|dart|sol|sql|graphql|proto|html?|xhtml|xml|xsl|svg|css|s[ac]ss|less|ya?ml|jsonc?|json5|toml|ini|cfg|conf|properties|env|tf|tfvars|hcl|nix|bzl|cmake|mk|make|dockerfile|csproj|fsproj|vbproj|props|targets|service|rst|mdx?|adoc|txt|ipynb|j2|erb|ejs|hbs|tmpl|tpl)$/i;

/** The first {@link PROBED_BYTES} of a file, decoded. */
interface FileStart {
  text: string;
  /** "latin1" if a line was not UTF-8: characters at U+0080 to U+00FF then say nothing. */
  encoding: "utf8" | "latin1";
}

/**
 * Whether a file that git considers binary is text: a single NUL in a comment hides a script from every diff. A file with the name of a text,
 * or with valid UTF-8, is text; any other file is text if it reads as text without its NULs.
 */
export function readsAsText(path: string, { text, encoding }: FileStart): boolean {
  let [characters, readable] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === 0) continue;
    characters += 1;
    if (isReadable(code)) readable += 1;
  }
  if (characters === 0) return false;
  return encoding === "utf8" || named.test(path) || readable / characters >= READABLE_SHARE;
}
