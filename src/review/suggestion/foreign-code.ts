import { dataFormatOf } from "../../analyzers/data-formats.ts";
import { hasGrammar } from "../../analyzers/syntax-faults.ts";
import { extensionOf } from "../../syntax/grammars.ts";
import { isProse, lexisOf } from "./lexis.ts";
import { maskLines } from "./mask.ts";
import { type Overlay, replacement } from "./overlay.ts";

/** Code that is native to some languages, and wrong or another thing in all others. */
interface Trait {
  pattern: RegExp;
  /** Extensions of the languages that have it. */
  native: ReadonlySet<string>;
  /** Whether it is a line's shape, which is wrong in data too. */
  isShape?: boolean;
}

const scripts = "js jsx mjs cjs ts mts cts tsx vue svelte astro html htm coffee";
const cFamily = "c h cc cpp cxx hh hpp hxx m mm ino cu glsl hlsl";
const jvm = "java kt kts scala sc groovy gradle";
const shells = "sh bash zsh ksh";
const rubies = "rb rake gemspec cr";

const trait = (pattern: RegExp, native: string, isShape = false): Trait => ({
  pattern,
  native: new Set(native.split(" ")),
  isShape,
});

const traits: readonly Trait[] = [
  trait(/^\s*(?:def|class|if|elif|for|while|with|except)\s+[^\s:{};][^{};]*:\s*$/, "py pyi gd nim php", true),
  trait(
    /^\s*(?:\}?\s*else\s+)?(?:if|for|while|switch)\b.*\{\s*$/,
    `${scripts} ${cFamily} ${jvm} cs go rs swift php pl pm dart zig sol proto scss less ps1 r v tf bicep`,
    true,
  ),
  trait(
    /^\s*(?:return|break|continue)\b[^:]*;\s*$/,
    `${scripts} ${cFamily} ${jvm} cs rs php pl pm dart zig sol lua css scss less sql glsl`,
    true,
  ),
  trait(
    /[\w)\]"];\s*$/,
    `${scripts} ${cFamily} ${jvm} cs rs php pl pm dart zig sol proto css scss less sql nix thrift`,
    true,
  ),
  trait(/^\s*(?:else|try|finally):\s*$/, "py pyi gd nim php"),
  trait(
    /^\s*<\/?[A-Za-z][\w-]*(?:\s[^<>]*)?>/,
    "jsx tsx js html htm vue svelte astro php xml hbs erb mdx cs swift hs",
    true,
  ),
  trait(/\belif\b/, `py pyi gd nim ${shells}`),
  trait(/\b(?:None|True|False)\b/, "py pyi nim hs rs scala sc fs fsx elm purs gd"),
  trait(/\bself\./, `py pyi ${rubies} rs swift lua gd m mm ${scripts}`),
  trait(/\bisinstance\(|\b__\w+__\b|^\s*from\s+\S+\s+import\s/, "py pyi"),
  trait(/\blen\(/, "py pyi go gd nim v zig"),
  trait(/\bprint\(/, `py pyi swift lua dart r jl ${jvm} php gd ${rubies} nim pl pm v`),
  trait(/\bconsole\.(?:log|error|warn|info|debug)\(/, scripts),
  trait(/[=!]==/, `${scripts} php swift kt kts ${rubies} ex exs jl`),
  trait(/\bfunction\b/, `${scripts} php lua ${shells} jl r ps1 sql`),
  trait(
    /=>/,
    `${scripts} php scala sc rs ${rubies} pl pm cs dart ex exs hs jl tf zig kt groovy gradle java nim`,
  ),
  trait(/\bundefined\b/, `${scripts} zig hs`),
  trait(/\bnull\b/, `${scripts} ${jvm} cs php dart sql tf zig v graphql gql sol ${cFamily}`),
  trait(/\bnil\b/, `go ${rubies} lua swift ex exs nim m mm`),
  trait(/(?<!:):=/, "go py pyi mk nim sql v"),
  trait(/^\s*func\s/, "go swift nim gd"),
  trait(/\bfn\s+\w+\s*[(<]/, "rs zig ex exs v"),
  trait(/^\s*(?:\w+\s+)*fun\s+\w+/, "kt kts fs"),
  trait(/\bfmt\.[A-Z]\w*\(/, "go"),
  trait(/\bSystem\.(?:out|err)\.|^\s*@Override\b/, jvm),
  trait(/\b(?:println|eprintln|format|vec|panic|assert|assert_eq|write|todo)!\s*[([]/, "rs"),
  trait(/\blet\s+mut\b|&mut\b|\bpub\s+fn\b|\.unwrap\(\)/, "rs"),
  trait(/^\s*#\s*include\b|\bstd::(?:cout|cerr|endl|string|vector)\b/, cFamily),
  trait(/\bnew\s+[A-Z]\w*/, `${scripts} ${jvm} cs php cpp cc cxx hpp mm dart pl pm fs vb sol`),
  trait(/\bNULL\b/, `${cFamily} sql php r`),
  trait(/\bpublic\s+(?:(?:static|final|async|override)\s+)*[\w<>[\]]+\s+\w+\s*\(/, `${jvm} cs`),
  trait(/\bdo\s*\|[^|]*\||^\s*puts\s|\battr_\w+\s+:|\.nil\?/, rubies),
  trait(/^\s*(?:fi|esac|done)\b|;\s*then\b|\[\[ /, shells),
  trait(/^\s*end\s*$/, `${rubies} lua ex exs jl v sql`),
];

/** Lines that are longer were written by machines, and patterns would take long on them. */
const mostCharacters = 2_000;

const has = (lines: readonly string[], pattern: RegExp) =>
  lines.some((line) => line.length <= mostCharacters && pattern.test(line));

/**
 * Why a suggestion looks as if it were written in another language than its file: it holds what neither the language nor
 * the file has. Grammars refuse most of that by themselves, but by far not all.
 */
export function foreignCode(overlay: Overlay): string | null {
  const { path } = overlay;
  if (isProse(path) || dataFormatOf(path) === "JSON") return null;
  const lexis = lexisOf(path);
  const isYaml = dataFormatOf(path) === "YAML";
  const codeOf = (lines: readonly string[]) => maskLines(lines, lexis).map(({ code }) => code);
  const added = codeOf(overlay.after).slice(overlay.start, overlay.newEnd);
  const suspects = traits.filter(
    ({ pattern, native, isShape }) =>
      (!isYaml || isShape) && !native.has(extensionOf(path)) && has(added, pattern),
  );
  const own = suspects.length > 0 ? codeOf(overlay.before) : [];
  if (suspects.some(({ pattern }) => !has(own, pattern)))
    return "it looks like code of another language than the file's";
  if (hasGrammar(path) || isYaml) return null;
  return sharesWords(overlay, added.join(" ")) ? null : "it has hardly a word in common with the file";
}

const keywords = new Set(
  `and begin bool break case catch char class const continue def default defer double echo elif else elsif end ensure enum
  except exit export extends extern false final finally float fn for foreach func function goto if impl import in include int
  interface let local long match mod module mut namespace new next nil None not null or package pass private protected pub
  public raise require rescue return self short signed sizeof static string struct super switch then this throw trait true
  try type typedef union unless unsafe unsigned until use using val var void when where while with yield`.split(
    /\s+/,
  ),
);

/** Whether a third of the words of the new code stand in the file already, or belong to most languages. */
function sharesWords(overlay: Overlay, added: string): boolean {
  const words = new Set(added.match(/[A-Za-z_]{3,}/g) ?? []);
  if (words.size < 3 || replacement(overlay).length === 0) return true;
  const known = new Set(overlay.before.flatMap((line) => line.match(/[A-Za-z_]{3,}/g) ?? []));
  const shared = [...words].filter((word) => known.has(word));
  const common = [...words].filter((word) => keywords.has(word) && !known.has(word));
  return shared.length * 3 >= words.size - common.length;
}
