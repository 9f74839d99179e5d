import { posix } from "node:path";
import { parse } from "jsonc-parser";
import { extensionOf } from "./languages.ts";
import type { Import } from "./source.ts";

/** Extensions of JavaScript and TypeScript, in the order in which they are tried for a specifier without one. */
const scripts = ["ts", "tsx", "mts", "cts", "d.ts", "js", "jsx", "mjs", "cjs", "vue", "svelte", "astro"];

/** Languages whose files import each other. */
const families = {
  js: [...scripts],
  python: ["py", "pyi"],
  go: ["go"],
  jvm: ["java", "kt", "kts", "scala", "groovy"],
  c: ["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "inl", "cu", "cuh", "m", "mm"],
  rust: ["rs"],
  ruby: ["rb", "rake", "gemspec"],
  php: ["php"],
  csharp: ["cs"],
  style: ["css", "scss", "sass", "less"],
  dart: ["dart"],
} as const;
type Family = keyof typeof families;

const familyByExtension = new Map<string, Family>(
  Object.entries(families).flatMap(([family, extensions]) =>
    extensions.map((extension) => [extension, family as Family] as const),
  ),
);

/** The family of a file's language; the extension itself for other languages. */
export function familyOf(path: string): string {
  const extension = extensionOf(path);
  return familyByExtension.get(extension) ?? extension;
}

/** Whether imports of such a file can be found. */
export const hasImports = (path: string): boolean => familyByExtension.has(extensionOf(path));

export const isScript = (path: string): boolean => familyOf(path) === "js";
export const isPython = (path: string): boolean => familyOf(path) === "python";
export const isGo = (path: string): boolean => extensionOf(path) === "go";
/** The folder that contains a path; "." for the root. */
export const folderOf = (path: string): string => posix.dirname(path);

const MAX_IMPORTS = 500;

/** Each group of a pattern is a specifier. */
const patterns: Record<Family, RegExp> = {
  js: /\b(?:from|import|require)(?:[ \t]*\([ \t]*|[ \t]*)["']([^"'\n]{1,300})["']/g,
  python:
    /^[ \t]*(?:from[ \t]+([\w.]{1,200})[ \t]+import[ \t]+\(?([\w, \t]{0,300})|import[ \t]+([\w., \t]{1,300}))/gm,
  go: /^[ \t]*(?:import[ \t]+)?(?:[\w.]{1,100}[ \t]+)?"([\w./~-]{1,300})"/gm,
  jvm: /^[ \t]*import[ \t]+(?:static[ \t]+)?([\w.]{1,300}\*?)/gm,
  c: /^[ \t]*#[ \t]*(?:include|import)[ \t]*["<]([^">\n]{1,300})[">]/gm,
  rust: /^[ \t]*(?:pub(?:\([\w: ]{1,40}\))?[ \t]+)?(?:mod[ \t]+(\w{1,100})[ \t]*;|(?:use|extern[ \t]+crate)[ \t]+(\w{1,100}(?:::\w{1,100}){0,10}))/gm,
  ruby: /^[ \t]*(?:require(?:_relative)?|load|autoload[ \t(]+:\w{1,100},)[ \t(]+["']([\w./-]{1,300})["']/gm,
  php: /^[ \t]*(?:<\?php[ \t]+)?use[ \t]+(?:(?:function|const)[ \t]+)?\\?([\w\\]{1,300})|\b(?:require|include)(?:_once)?[ \t(]+(?:__DIR__[ \t]*\.[ \t]*)?["']([^"'\n]{1,300})["']/gm,
  csharp: /^[ \t]*(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?(?:\w{1,100}[ \t]*=[ \t]*)?([\w.]{1,300});/gm,
  style: /@(?:import|use|forward)[ \t]+(?:url\()?["']([^"'\n]{1,300})["']/g,
  dart: /^[ \t]*(?:import|export|part)[ \t]+["']([^"'\n]{1,300})["']/gm,
};

/** Imports of other languages: shell, Lua, Swift, Scala and similar ones. */
const anyImport =
  /^[ \t]*(?:(?:from|import|use|using|require|include|source|alias)\b|\.[ \t])[ \t]*[("'<]*([\w@./:\\-]{1,300})/gm;

/** Finds imports by line patterns, all linear. A parser takes a hundred times as long, and an import in a comment leads nowhere. */
export function importsOf(path: string, text: string): Import[] {
  const family = familyByExtension.get(extensionOf(path));
  const head = family === "go" ? text.slice(0, goDeclaration.exec(text)?.index) : text;
  const imports: Import[] = [];
  let [line, counted] = [1, 0];
  for (const match of head.matchAll(family ? patterns[family] : anyImport)) {
    if (imports.length >= MAX_IMPORTS) break;
    const at = match.index + match[0].length;
    for (; counted < at; counted++) if (text.charCodeAt(counted) === LINE_FEED) line += 1;
    for (const specifier of specifiersOf(match.slice(1), family)) imports.push({ ...specifier, line });
  }
  return imports;
}

const LINE_FEED = 10;
/** Imports come before declarations: later strings on lines of their own are data. */
const goDeclaration = /^(?:func|type|var|const)\b/m;

function specifiersOf(
  groups: readonly (string | undefined)[],
  family: Family | undefined,
): Omit<Import, "line">[] {
  if (family !== "python") return groups.flatMap((one) => (one ? [{ specifier: one }] : []));
  const [module, from = "", modules = ""] = groups;
  const names = (module === undefined ? modules : from)
    .split(",")
    .map((one) => one.trim().split(/\s/)[0] ?? "")
    .filter((one) => one !== "");
  if (module === undefined) return names.map((name) => ({ specifier: name }));
  // Dots without a name are a folder: the imported names are its modules.
  if (/^\.+$/.test(module))
    return [{ specifier: module }, ...names.map((name) => ({ specifier: module + name }))];
  return [{ specifier: module, names }];
}

/** A package of the repository: the name in its manifest, and the folder of the manifest. */
export interface Package {
  name: string;
  folder: string;
}

const MAX_ALIKE = 256;

export class Modules {
  readonly #files: ReadonlySet<string>;
  readonly #folders: ReadonlyMap<string, readonly string[]>;
  readonly #byStem: ReadonlyMap<string, readonly string[]>;
  readonly #byFolderName: ReadonlyMap<string, readonly string[]>;
  readonly #packages: readonly Package[];
  readonly #known = new Map<string, readonly string[]>();

  constructor(paths: Iterable<string>, packages: readonly Package[] = []) {
    this.#files = new Set(paths);
    this.#packages = packages.toSorted((a, b) => b.name.length - a.name.length);
    this.#folders = Map.groupBy(this.#files, folderOf);
    this.#byStem = Map.groupBy(this.#files, stemOf);
    this.#byFolderName = Map.groupBy(this.#folders.keys(), (folder) => posix.basename(folder));
  }

  filesIn(folder: string): readonly string[] {
    return this.#folders.get(folder) ?? [];
  }

  /** The files that the imports of a file mean. */
  imported(from: string, imports: readonly Import[]): Set<string> {
    const found = new Set<string>();
    for (const { specifier, names = [] } of imports)
      for (const one of [specifier, ...names.map((name) => `${specifier}.${name}`)])
        for (const path of this.resolve(from, one)) found.add(path);
    found.delete(from);
    return found;
  }

  /** The files that a specifier means; none if it is not part of the repository. For a Go package, all of its files. */
  resolve(from: string, specifier: string): readonly string[] {
    if (specifier === "") return [from];
    const key = `${from.endsWith(".rs") ? from : folderOf(from)}\0${familyOf(from)}\0${specifier}`;
    let known = this.#known.get(key);
    if (!known) {
      known = this.#find(from, specifier);
      this.#known.set(key, known);
    }
    return known;
  }

  #find(from: string, specifier: string): readonly string[] {
    const relative = posix.join(folderOf(from), specifier);
    switch (familyByExtension.get(extensionOf(from))) {
      case "js":
        return this.#script(from, specifier);
      case "python":
        return this.#python(from, specifier);
      case "go":
        return this.#go(specifier);
      case "rust":
        return this.#rust(from, specifier.split("::"));
      case "csharp":
        return this.#folderLike(specifier.split("."), 2).filter((path) => path.endsWith(".cs"));
      case "jvm":
        return this.#jvm(from, specifier.split("."));
      case "php": {
        const segments = specifier.split(/[\\/]/).filter(Boolean);
        // The first part of a namespace is usually another folder: `App\` means `src/`.
        return first([
          this.#at(relative),
          this.#ending(from, segments),
          this.#ending(from, segments.slice(1)),
        ]);
      }
      case "style": {
        const partial = posix.join(posix.dirname(relative), `_${posix.basename(relative)}`);
        const names = [relative, partial].flatMap((one) => [one, `${one}.scss`, `${one}.sass`, `${one}.css`]);
        return first(names.map((one) => this.#at(one)));
      }
      case "dart": {
        const inPackage = /^package:[^/]*\/(.+)/.exec(specifier)?.[1];
        if (inPackage === undefined) return this.#at(relative);
        return this.#ending(from, ["lib", ...inPackage.split("/")]);
      }
      case "c": {
        const segments = specifier.split("/").filter((one) => !/^\.{0,2}$/.test(one));
        return first([this.#at(relative), this.#ending(from, segments)]);
      }
      default: {
        const segments = specifier.split(/::|[/\\.:]/).filter((one) => /\w/.test(one));
        const files = [this.#at(relative), this.#at(`${relative}.${extensionOf(from)}`)];
        return first([...files, segments.length > 1 ? this.#ending(from, segments) : []]);
      }
    }
  }

  #at(path: string): readonly string[] {
    return this.#files.has(path) ? [path] : [];
  }

  #script(from: string, specifier: string): readonly string[] {
    if (/^\.{1,2}(?:\/|$)/.test(specifier)) return this.#scriptAt(posix.join(folderOf(from), specifier));
    const own = this.#packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
    if (own) {
      const rest = specifier.slice(own.name.length + 1);
      const places = rest === "" ? ["src/index", "index", "lib/index", "src/main"] : [rest, `src/${rest}`];
      return first(places.map((place) => this.#scriptAt(posix.join(own.folder, place))));
    }
    // An alias such as `@/` or `~/` means the folder of the sources; without one, that folder may be the base of all imports.
    const aliased = /^[@~#]\/(.+)$/.exec(specifier)?.[1];
    const place = aliased ?? (/^\w[^/]*\//.test(specifier) ? specifier : null);
    if (place === null) return [];
    return first([`src/${place}`, place, `app/${place}`].map((one) => this.#nearestRoot(from, one)));
  }

  #scriptAt(path: string): readonly string[] {
    if (this.#files.has(path)) return [path];
    const bare = path.replace(/\.(?:js|jsx|mjs|cjs)$/, "");
    const folder = path === "." ? "" : `${path}/`;
    const beginnings = [`${path}.`, ...(bare === path ? [] : [`${bare}.`]), `${folder}index.`];
    for (const beginning of beginnings)
      for (const extension of scripts)
        if (this.#files.has(beginning + extension)) return [beginning + extension];
    return [];
  }

  /** The place below the nearest folder above a file. */
  #nearestRoot(from: string, place: string): readonly string[] {
    for (let folder = folderOf(from); ; folder = folderOf(folder)) {
      const found = this.#scriptAt(posix.join(folder, place));
      if (found.length > 0 || folder === "." || folder === "/") return found;
    }
  }

  #python(from: string, specifier: string): readonly string[] {
    const [, dots = "", rest = ""] = /^(\.*)(.*)$/.exec(specifier) ?? [];
    const place = rest.replaceAll(".", "/");
    if (dots !== "") {
      let folder = folderOf(from);
      for (let level = 1; level < dots.length; level++) folder = folderOf(folder);
      return this.#pythonAt(posix.join(folder, place));
    }
    for (let folder = folderOf(from); ; folder = folderOf(folder)) {
      const found = first([
        this.#pythonAt(posix.join(folder, place)),
        this.#pythonAt(posix.join(folder, "src", place)),
      ]);
      if (found.length > 0) return found;
      if (folder === "." || folder === "/") break;
    }
    return place.includes("/") ? this.#ending(from, place.split("/")) : [];
  }

  #pythonAt(place: string): readonly string[] {
    const path = place.replace(/\/$/, "");
    const folder = path === "." ? "" : `${path}/`;
    const found = [`${path}.py`, `${path}.pyi`, `${folder}__init__.py`, `${folder}__init__.pyi`];
    return found.filter((one) => this.#files.has(one)).slice(0, 1);
  }

  /** The folder of a package: all of its files except tests. */
  #go(specifier: string): readonly string[] {
    const own = this.#packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
    const isSource = (path: string) => isGo(path) && !path.endsWith("_test.go");
    if (own)
      return this.filesIn(posix.join(own.folder, specifier.slice(own.name.length + 1))).filter(isSource);
    if (this.#packages.some(({ name }) => name.includes("."))) return [];
    // Without a manifest, the folder with the most similar name: `example.com/store` may mean `store`, `net/http` not `http`.
    const isHosted = specifier.slice(0, specifier.indexOf("/") + 1).includes(".");
    return this.#folderLike(specifier.split("/"), isHosted ? 1 : 2).filter(isSource);
  }

  /** The files of the folder whose path shares the most final segments: at least two, or `least` if they are its whole path. */
  #folderLike(segments: readonly string[], least: number): readonly string[] {
    let best: string | null = null;
    let most = 0;
    for (const folder of (this.#byFolderName.get(segments.at(-1) ?? "") ?? []).slice(0, MAX_ALIKE)) {
      const parts = folder.split("/");
      const shared = sharedEnd(parts, segments);
      const isEnough = shared >= 2 || (shared >= least && shared === parts.length);
      if (isEnough && shared > most) [best, most] = [folder, shared];
    }
    return best === null ? [] : this.filesIn(best);
  }

  #rust(from: string, [start = "", ...rest]: readonly string[]): readonly string[] {
    const isRoot = /^(?:mod|lib|main)$/.test(stemOf(from));
    const inside = isRoot ? folderOf(from) : posix.join(folderOf(from), stemOf(from));
    if (rest.length === 0) return this.#rustAt(inside, [start]);
    const end = `/${folderOf(from)}/`.lastIndexOf("/src/");
    const crate = end < 0 ? folderOf(from) : from.slice(0, end + "src".length);
    if (start === "crate") return this.#rustAt(crate, rest);
    if (start === "self") return this.#rustAt(inside, rest);
    if (start === "super") return this.#rustAt(posix.join(inside, ".."), rest);
    const crates = [start, start.replaceAll("_", "-")].flatMap((one) => this.#byFolderName.get(one) ?? []);
    return first(crates.slice(0, MAX_ALIKE).map((folder) => this.#rustAt(`${folder}/src`, [...rest, "lib"])));
  }

  /** The module that a path of names begins with; the rest are names within it. */
  #rustAt(root: string, names: readonly string[]): readonly string[] {
    for (let length = names.length; length > 0; length--) {
      const place = posix.join(root, ...names.slice(0, length));
      const found = first([this.#at(`${place}.rs`), this.#at(`${place}/mod.rs`)]);
      if (found.length > 0) return found;
    }
    return [];
  }

  /** The file of a class; the name may continue with an inner class or a member. */
  #jvm(from: string, segments: readonly string[]): readonly string[] {
    for (let length = segments.length; length >= Math.max(2, segments.length - 2); length--) {
      const found = this.#ending(from, segments.slice(0, length));
      if (found.length > 0) return found;
    }
    return [];
  }

  /** The nearest file of the same language family whose path ends in these segments. */
  #ending(from: string, segments: readonly string[]): readonly string[] {
    const last = segments.at(-1) ?? "";
    if (last === "") return [];
    const isExact = familyOf(last) === familyOf(from);
    const folders = segments.slice(0, -1);
    const alike = this.#byStem.get(isExact ? stemOf(last) : last) ?? [];
    const found = alike.slice(0, MAX_ALIKE).filter((path) => {
      const parts = path.split("/");
      const name = parts.pop();
      return (
        familyOf(path) === familyOf(from) &&
        (!isExact || name === last) &&
        sharedEnd(parts, folders) === folders.length
      );
    });
    return found.length > 0 ? [nearest(from, found)] : [];
  }
}

/** `login` for `src/login.d.ts`, `login.test` for `src/login.test.ts`. */
const stemOf = (path: string) => posix.basename(path).replace(/(?:\.d)?\.[^.]*$/, "");

function sharedEnd(a: readonly string[], b: readonly string[]): number {
  let shared = 0;
  while (shared < a.length && shared < b.length && a.at(-1 - shared) === b.at(-1 - shared)) shared += 1;
  return shared;
}

const first = (lists: readonly (readonly string[])[]) => lists.find((one) => one.length > 0) ?? [];

function nearest(from: string, paths: readonly string[]): string {
  const folders = from.split("/");
  const common = (path: string) => path.split("/").findIndex((part, at) => part !== folders[at]);
  return paths.reduce((best, one) => (common(one) > common(best) ? one : best));
}

/** The name that other packages use for this one; null if the manifest has none. */
export function packageOf(kind: "package.json" | "go.mod", text: string): string | null {
  if (kind === "go.mod") return /^module\s+"?([^\s"]{1,300})/m.exec(text)?.[1] ?? null;
  const name: unknown = (parse(text) as { name?: unknown } | undefined)?.name;
  return typeof name === "string" && name !== "" && name.length <= 300 ? name : null;
}
