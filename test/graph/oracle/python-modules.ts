import type { PythonFile } from "./python-bindings.ts";

/** Finds the file that an import means. */
export interface Modules {
  /** Null where it lies outside of the files. */
  resolve(specifier: string, from: string): PythonFile | null;
  /** `pkg.part` for a package's file and the name of a part of it. */
  part(file: PythonFile, name: string): PythonFile | null;
}

/** Folders in which packages lie that are imported without naming the folder. */
const sourceRoots = ["", "src/", "lib/", "Lib/"];

export function indexModules(files: readonly PythonFile[]): Modules {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const at = (folder: string, dotted: string): PythonFile | null => {
    const path = folder + dotted.replaceAll(".", "/");
    return byPath.get(`${path}.py`) ?? byPath.get(`${path}/__init__.py`) ?? null;
  };
  /** The folder in which a file's outermost package lies. */
  const rootOf = (path: string): string => {
    let folder = folderOf(path);
    while (folder !== "" && byPath.has(`${folder}__init__.py`)) folder = folderOf(folder.slice(0, -1));
    return folder;
  };

  function relative(specifier: string, from: string): PythonFile | null {
    const dots = /^\.+/.exec(specifier)![0].length;
    let folder = folderOf(from);
    for (let level = 1; level < dots; level++) folder = folderOf(folder.slice(0, -1));
    const rest = specifier.slice(dots);
    return rest === "" ? (byPath.get(`${folder}__init__.py`) ?? null) : at(folder, rest);
  }

  return {
    resolve(specifier, from) {
      if (specifier.startsWith(".")) return relative(specifier, from);
      const roots = new Set([rootOf(from), ...sourceRoots]);
      for (const root of roots) {
        const found = at(root, specifier);
        if (found) return found;
      }
      return null;
    },
    part: (file, name) => (file.path.endsWith("__init__.py") ? at(folderOf(file.path), name) : null),
  };
}

const folderOf = (path: string) => path.slice(0, path.lastIndexOf("/") + 1);
