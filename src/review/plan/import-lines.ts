import { dirname, posix } from "node:path";
import { extensionOf } from "../../code/languages.ts";
import { stemOf } from "./file-kind.ts";

/** Languages whose files import each other. */
export type Family =
  | "js"
  | "python"
  | "go"
  | "jvm"
  | "c"
  | "rust"
  | "ruby"
  | "php"
  | "csharp"
  | "style"
  | "dart";

/**
 * Where an import may lead: to a `path` of the repository, with or without an extension; to any file whose path ends in a
 * `suffix`; or to the files of the `folder` that a package's name ends in.
 */
export type Target = { by: "path" | "suffix" | "folder"; path: string };

/** The targets of one import, the likeliest first: the first that is there counts. */
export type Import = readonly Target[];

const families: Record<Family, readonly string[]> = {
  js: ["js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "vue", "svelte", "astro"],
  python: ["py", "pyi"],
  go: ["go"],
  jvm: ["java", "kt", "kts", "scala", "groovy"],
  c: ["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "inl", "cu", "cuh", "m", "mm"],
  rust: ["rs"],
  ruby: ["rb", "rake"],
  php: ["php"],
  csharp: ["cs"],
  style: ["css", "scss", "sass", "less"],
  dart: ["dart"],
};

const familyByExtension = new Map(
  Object.entries(families).flatMap(([family, extensions]) =>
    extensions.map((extension) => [extension, family as Family] as const),
  ),
);

export function familyOf(path: string): Family | null {
  return familyByExtension.get(extensionOf(path)) ?? null;
}

/** More imports of one file are not looked at. */
const MAX_IMPORTS = 100;

/**
 * What a file seems to import, by patterns of lines. No parser: a sentence in a comment may look like an import, and then leads
 * nowhere or, at worst, puts two files side by side. All patterns are linear, whatever the text.
 */
export function importsOf(path: string, text: string): Import[] {
  const family = familyOf(path);
  if (family === null) return [];
  const { pattern, read } = readers[family];
  const imports: Import[] = [];
  for (const match of text.matchAll(pattern)) {
    imports.push(...read(match.slice(1), path));
    if (imports.length >= MAX_IMPORTS) break;
  }
  return imports;
}

interface Reader {
  pattern: RegExp;
  /** `groups` are those of one match. */
  read(groups: readonly (string | undefined)[], path: string): Import[];
}

const folderOf = (path: string) => dirname(path);
const join = (...parts: string[]) => posix.join(...parts);
const at = (path: string): Target => ({ by: "path", path });
const ending = (path: string): Target => ({ by: "suffix", path });

const readers: Record<Family, Reader> = {
  js: {
    pattern: /\b(?:from|import|require)(?:[ \t]*\([ \t]*|[ \t]*)["']([^"'\n]{1,300})["']/g,
    read: ([name = ""], path) => [byModule(name, path)],
  },
  style: {
    pattern: /@(?:import|use|forward)[ \t]+(?:url\()?["']([^"'\n]{1,300})["']/g,
    read: ([name = ""], path) => [[at(join(folderOf(path), name)), ...partial(name, path)]],
  },
  dart: {
    pattern: /^(?:import|export|part)[ \t]+["']([^"'\n]{1,300})["']/gm,
    read: ([name = ""], path) => [
      name.startsWith("package:")
        ? [ending(`lib/${name.slice(name.indexOf("/") + 1)}`)]
        : [at(join(folderOf(path), name))],
    ],
  },
  python: {
    pattern:
      /^[ \t]*(?:from[ \t]+([\w.]{1,200})[ \t]+import[ \t]+\(?([\w, \t]{0,300})|import[ \t]+([\w., \t]{1,300}))/gm,
    read: ([module, names = "", modules = ""], path) =>
      module === undefined
        ? modules.split(",").map((one) => byDots(one.trim().split(/\s/)[0] ?? "", path))
        : pythonNames(module, names, path),
  },
  go: {
    pattern: /^[ \t]*(?:import[ \t]+)?(?:[\w.]{1,100}[ \t]+)?"([\w./~-]{1,300})"/gm,
    read: ([name = ""]) => [[{ by: "folder", path: name }]],
  },
  csharp: {
    pattern: /^[ \t]*(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?([\w.]{1,300});/gm,
    read: ([name = ""]) => [[{ by: "folder", path: name.replaceAll(".", "/") }]],
  },
  jvm: {
    pattern: /^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]{1,300})/gm,
    read: ([name = ""]) => [withoutEnds(name.split("."), 3)],
  },
  php: {
    pattern: /^[ \t]*use[ \t]+(?:(?:function|const)[ \t]+)?\\?([\w\\]{1,300})/gm,
    // A namespace's first part is a folder of another name as a rule: `App\` stands for `src/`.
    read: ([name = ""]) => [
      [ending(name.replaceAll("\\", "/")), ending(name.split("\\").slice(1).join("/"))],
    ],
  },
  c: {
    pattern: /^[ \t]*#[ \t]*(?:include|import)[ \t]*["<]([^">\n]{1,300})[">]/gm,
    read: ([name = ""], path) => [
      [at(join(folderOf(path), name)), ending(name.replace(/^(?:\.\.?\/)+/, ""))],
    ],
  },
  rust: {
    pattern:
      /^[ \t]*(?:pub(?:\([\w: ]{1,40}\))?[ \t]+)?(?:mod[ \t]+(\w{1,100})[ \t]*;|use[ \t]+((?:crate|super|self)(?:::\w{1,100}){1,10}))/gm,
    read: ([module, use = ""], path) => [
      module === undefined ? byUse(use, path) : [at(join(insideOf(path), module))],
    ],
  },
  ruby: {
    pattern: /^[ \t]*require(_relative)?[ \t(]+["']([\w./-]{1,300})["']/gm,
    read: ([relative, name = ""], path) => [relative ? [at(join(folderOf(path), name))] : inPackage(name)],
  },
};

/** A name with a folder in it; without one it is a package that somebody else wrote. */
const inPackage = (path: string): Import => (path.includes("/") ? [ending(path)] : []);

function byModule(name: string, path: string): Import {
  if (name.startsWith(".")) return [at(join(folderOf(path), name))];
  const alias = /^[@~#]\//.exec(name);
  return alias ? [ending(name.slice(alias[0].length))] : inPackage(name);
}

/** `@use "base/colors"` means `base/_colors.scss`. */
function partial(name: string, path: string): Import {
  const cut = name.lastIndexOf("/") + 1;
  return [at(join(folderOf(path), `${name.slice(0, cut)}_${name.slice(cut)}`))];
}

function pythonNames(module: string, names: string, path: string): Import[] {
  const separator = module.endsWith(".") ? "" : ".";
  const listed = names.split(",").map((name) => name.trim().split(/\s/)[0] ?? "");
  // What is imported is a module of the package or stands in the package itself.
  return listed.map((name) =>
    name === ""
      ? byDots(module, path)
      : [...byDots(module + separator + name, path), ...byDots(module, path)],
  );
}

function byDots(module: string, path: string): Import {
  const dots = /^\.*/.exec(module)?.[0].length ?? 0;
  const inner = module.slice(dots).replaceAll(".", "/");
  if (dots > 0) return [at(join(folderOf(path), ...Array(dots - 1).fill(".."), inner))];
  return inner === "" ? [] : [at(join(folderOf(path), inner)), at(inner), ...inPackage(inner)];
}

/** All of the name, then without its last parts: a member, or a class within a class. At least two parts. */
function withoutEnds(segments: readonly string[], tries: number): Import {
  const lengths = Array.from({ length: tries }, (_, less) => segments.length - less);
  return lengths.filter((length) => length >= 2).map((length) => ending(segments.slice(0, length).join("/")));
}

const crateRoots = new Set(["mod", "lib", "main"]);

/** The folder in which the modules of a Rust file lie. */
function insideOf(path: string): string {
  return crateRoots.has(stemOf(path)) ? folderOf(path) : join(folderOf(path), stemOf(path));
}

function byUse(use: string, path: string): Import {
  const [start, ...rest] = use.split("::");
  const root =
    start === "crate" ? crateOf(path) : start === "self" ? insideOf(path) : join(insideOf(path), "..");
  return rest.map((_, less) => at(join(root, ...rest.slice(0, rest.length - less))));
}

/** The `src` folder that a Rust file lies in. */
function crateOf(path: string): string {
  const end = `/${folderOf(path)}/`.lastIndexOf("/src/");
  return end < 0 ? folderOf(path) : path.slice(0, end + "src".length);
}
