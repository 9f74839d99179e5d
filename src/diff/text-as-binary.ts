/** So many bytes at a file's beginning decide whether git takes it for binary: a NUL among them is enough. */
export const PROBED_BYTES = 8_000;

/** Compressed data, images and machine code stay well below this share, sources well above. */
const READABLE_SHARE = 0.95;

/** Tab, line feed, form feed, carriage return. */
const whiteSpace = new Set([0x09, 0x0a, 0x0c, 0x0d]);

const isReadable = (code: number) => (code >= 0x20 && code < 0x7f) || whiteSpace.has(code) || code >= 0x100;

/**
 * What runs, or says what runs, whatever bytes stand in its comments: languages do not refuse a file for them. A name without an
 * extension may be that of a script.
 */
const named =
  /(?:^|\/)\.?[^./]+$|\.(?:[cm]?[jt]sx?|vue|svelte|astro|pyi?|rb|rake|gemspec|php|phtml|pl|pm|lua|r|jl|sh|bash|zsh|fish|ksh|awk|ps[dm]?1|bat|cmd|vbs|wsf|applescript|c|cc|cpp|cxx|h|hh|hpp|hxx|ipp|inl|cu|m|mm|s|asm|go|rs|swift|zig|d|nim|v|java|kts?|scala|sc|sbt|groovy|gradle|clj[cs]?|exs?|erl|hrl|hs|lhs|ml|mli|fsx?|fsi|cs|csx|vb|dart|sol|sql|graphql|proto|html?|xhtml|xml|xsl|svg|css|s[ac]ss|less|ya?ml|jsonc?|json5|toml|ini|cfg|conf|properties|env|tf|tfvars|hcl|nix|bzl|cmake|mk|make|dockerfile|csproj|fsproj|vbproj|props|targets|service|rst|mdx?|adoc|txt|ipynb|j2|erb|ejs|hbs|tmpl|tpl)$/i;

/** The decoded {@link PROBED_BYTES} with which a file begins. */
export interface FileStart {
  text: string;
  /** "latin1" if a line was not UTF-8: what lies at U+0080 to U+00FF then says nothing. */
  encoding: "utf8" | "latin1";
}

/**
 * Whether a file that git calls binary is text: a single NUL in a comment is enough to hide a script from every diff, and UTF-16 has
 * one in every other byte. What has the name of a text, or is valid UTF-8, is one, whatever it holds; anything else if it reads as one
 * once its NULs are left out.
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
