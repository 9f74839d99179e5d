import { posix } from "node:path";
import { extensionOf } from "../syntax/grammars.ts";
import { pushTo } from "./store.ts";

/** Extensions that a specifier may leave out or name in place of another. */
const scripts = ["ts", "tsx", "mts", "cts", "d.ts", "js", "jsx", "mjs", "cjs"];
const families: readonly (readonly string[])[] = [
  [...scripts, "vue", "svelte"],
  ["py", "pyi"],
  ["go"],
  ["java", "kt", "kts", "scala", "groovy"],
  ["c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx", "ipp", "cu"],
  ["rs"],
  ["rb", "rake", "gemspec"],
  ["cs"],
  ["php"],
];

/** A key of the languages whose files can import each other; the extension if it is in no family. */
export function familyOf(path: string): string {
  const extension = extensionOf(path);
  const found = families.findIndex((one) => one.includes(extension));
  return found < 0 ? extension : String(found);
}

export const isScript = (path: string): boolean => scripts.includes(extensionOf(path));
export const isPython = (path: string): boolean => /^pyi?$/.test(extensionOf(path));
export const isGo = (path: string): boolean => extensionOf(path) === "go";
export const folderOf = (path: string): string => posix.dirname(path);

/** A package of the repository: the name in its manifest, and the folder of the manifest. */
export interface Package {
  name: string;
  folder: string;
}

/** Finds the files of the repository that an import means. */
export class Modules {
  readonly #files: ReadonlySet<string>;
  readonly #folders = new Map<string, string[]>();
  readonly #byStem = new Map<string, string[]>();
  readonly #packages: readonly Package[];
  readonly #known = new Map<string, readonly string[]>();

  constructor(paths: Iterable<string>, packages: readonly Package[]) {
    this.#files = new Set(paths);
    this.#packages = packages.toSorted((a, b) => b.name.length - a.name.length);
    for (const path of this.#files) {
      pushTo(this.#folders, folderOf(path), path);
      const name = posix.basename(path);
      pushTo(this.#byStem, name.replace(/(?:\.d)?\.[^.]*$/, ""), path);
    }
  }

  /** Files of a folder without its subfolders. */
  filesIn(folder: string): readonly string[] {
    return this.#folders.get(folder) ?? [];
  }

  /** The files that a specifier means: all files of a Go package, none for other repositories. */
  resolve(from: string, specifier: string): readonly string[] {
    if (specifier === "") return [from];
    const key = `${folderOf(from)}\0${familyOf(from)}\0${specifier}`;
    const known = this.#known.get(key) ?? this.#find(from, specifier);
    this.#known.set(key, known);
    return known;
  }

  #find(from: string, specifier: string): readonly string[] {
    if (isScript(from)) return this.#script(from, specifier);
    if (isPython(from)) return this.#python(from, specifier);
    if (isGo(from)) return this.#go(specifier);
    return this.#bySuffix(
      from,
      specifier.split(/::|[/\\]|\.(?!\w{1,3}$)/).filter((one) => /\w/.test(one)),
    );
  }

  #script(from: string, specifier: string): readonly string[] {
    if (/^\.{1,2}(?:\/|$)/.test(specifier)) return this.#scriptAt(posix.join(folderOf(from), specifier));
    const own = this.#packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
    if (own) {
      const rest = specifier.slice(own.name.length + 1);
      const places = rest === "" ? ["src/index", "index", "lib/index", "src/main"] : [rest, `src/${rest}`];
      return first(places.map((place) => this.#scriptAt(posix.join(own.folder, place))));
    }
    // An alias such as `@/` or `~/` means the source folder.
    const aliased = /^[@~#]\/(.+)$/.exec(specifier)?.[1];
    if (aliased === undefined) return [];
    return first(
      [`src/${aliased}`, aliased, `app/${aliased}`].map((place) => this.#nearestRoot(from, place)),
    );
  }

  #scriptAt(path: string): readonly string[] {
    const bare = path.replace(/\.(?:js|jsx|mjs|cjs)$/, "");
    const tried = [
      path,
      ...scripts.map((one) => `${path}.${one}`),
      ...scripts.map((one) => `${bare}.${one}`),
    ];
    const folder = path === "." ? "" : `${path}/`;
    const found = [...tried, ...scripts.map((one) => `${folder}index.${one}`)].find((one) =>
      this.#files.has(one),
    );
    return found === undefined ? [] : [found];
  }

  /** The nearest folder above a file that has the script. */
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
      if (folder === "." || folder === "/") return [];
    }
  }

  #pythonAt(place: string): readonly string[] {
    const path = place.replace(/\/$/, "");
    const folder = path === "." ? "" : `${path}/`;
    const found = [`${path}.py`, `${path}.pyi`, `${folder}__init__.py`, `${folder}__init__.pyi`];
    return found.filter((one) => this.#files.has(one)).slice(0, 1);
  }

  /** The folder of a package: all its files but tests. */
  #go(specifier: string): readonly string[] {
    const own = this.#packages.find(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
    const folder = own ? posix.join(own.folder, specifier.slice(own.name.length + 1)) : null;
    if (folder !== null)
      return this.filesIn(folder).filter((path) => isGo(path) && !path.endsWith("_test.go"));
    if (this.#packages.some(({ name }) => name.includes("."))) return [];
    // Without a manifest, the only folder of that name is meant.
    const parts = specifier.split("/").slice(-2).join("/");
    const folders = [...this.#folders.keys()].filter((one) => one === parts || one.endsWith(`/${parts}`));
    return folders.length === 1 && parts.includes("/") ? this.filesIn(folders[0] ?? "").filter(isGo) : [];
  }

  /** The nearest file whose path ends like a name with dots or colons. */
  #bySuffix(from: string, segments: readonly string[]): readonly string[] {
    const last = (segments.at(-1) ?? "").replace(/\.\w+$/, "");
    const before = segments.at(-2) ?? "";
    const sameFamily = (path: string) => familyOf(path) === familyOf(from);
    const ends = [last, before].filter((one) => one !== "" && one !== "*");
    for (const [at, end] of ends.entries()) {
      const found = (this.#byStem.get(end) ?? []).filter(sameFamily);
      const above = at === 0 ? before : (segments.at(-3) ?? "");
      const better = found.filter((path) => posix.basename(folderOf(path)) === above);
      const chosen = better.length > 0 ? better : found;
      if (chosen.length > 0) return [nearest(from, chosen)];
    }
    return [];
  }
}

const first = (lists: readonly (readonly string[])[]) => lists.find((one) => one.length > 0) ?? [];

function nearest(from: string, paths: readonly string[]): string {
  const folders = from.split("/");
  const common = (path: string) => path.split("/").findIndex((part, at) => part !== folders[at]);
  return paths.reduce((best, one) => (common(one) > common(best) ? one : best));
}
