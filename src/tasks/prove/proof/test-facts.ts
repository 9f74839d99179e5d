import { posix } from "node:path";
import { decodeText } from "../../../core/text/decode.ts";
import { parseJson } from "../../../core/text/json.ts";
import { hasImports, Modules, type Package, packageOf } from "../../../repo/code/imports.ts";
import type { TreeEntry, Workspace } from "../../../repo/git/workspace.ts";
import type { TestFacts } from "./rules.ts";

/** Manifests whose dependencies are read; those nearest to the root first. */
const MAX_MANIFESTS = 200;
const MAX_MANIFEST_BYTES = 512 * 1024;

const pythonManifest =
  /(?:^|\/)(?:pyproject\.toml|setup\.(?:py|cfg)|Pipfile|[^/]*requirements[^/]*\.(?:txt|in))$/;

/** What the rules of tests must know about a repository: its files, and the names of its packages and dependencies at the head. */
export async function readTestFacts(workspace: Pick<Workspace, "tree" | "readBytes">): Promise<TestFacts> {
  const tree = await workspace.tree("head");
  const own: Package[] = [];
  const dependencies = new Set<string>();
  for (const { path, oid } of manifestsOf(tree.values())) {
    const bytes = await workspace.readBytes(oid).catch(() => null);
    if (bytes === null || bytes.length > MAX_MANIFEST_BYTES) continue;
    const manifest = readManifest(path, decodeText(bytes).text);
    if (manifest.name !== null) own.push({ name: manifest.name, folder: posix.dirname(path) });
    for (const one of manifest.dependencies) dependencies.add(one);
  }
  return {
    isFile: (path) => tree.has(path),
    isOwn: ownImports(tree.keys(), own),
    isDependency: (name) => dependencies.has(name) || dependencies.has(pythonName(name)),
  };
}

/** Whether an import brings code of the repository. A file of data, or the text of a file (`?raw`), is no code. */
export function ownImports(paths: Iterable<string>, packages: readonly Package[]): TestFacts["isOwn"] {
  const all = new Set(paths);
  const modules = new Modules(all, packages);
  return (from, specifier) => {
    if (/[?!:]/.test(specifier)) return false;
    if (modules.resolve(from, specifier).some(hasImports)) return true;
    // The folder of a package, whose manifest says which file it is.
    const manifest = posix.join(posix.dirname(from), specifier, "package.json");
    if (specifier.startsWith(".") && all.has(manifest)) return true;
    const isPackage =
      specifier.startsWith("#") ||
      packages.some(({ name }) => specifier === name || specifier.startsWith(`${name}/`));
    return isPackage && (extname(specifier) === "" || hasImports(specifier));
  };
}

const extname = (specifier: string) => posix.extname(specifier.replace(/^.*\//, ""));

function manifestsOf(entries: Iterable<TreeEntry>): TreeEntry[] {
  const depth = ({ path }: TreeEntry) => path.split("/").length;
  return [...entries]
    .filter(({ path, mode }) => mode.startsWith("100") && isManifest(path))
    .toSorted((a, b) => depth(a) - depth(b))
    .slice(0, MAX_MANIFESTS);
}

const isManifest = (path: string) =>
  /(?:^|\/)(?:package\.json|go\.mod)$/.test(path) || pythonManifest.test(path);

/** The name of a package, if it has one, and of those on which it depends. */
function readManifest(path: string, text: string) {
  if (path.endsWith("package.json"))
    return { name: packageOf("package.json", text), dependencies: nodeDependencies(text) };
  if (path.endsWith("go.mod")) {
    const required = text.matchAll(/^\s*(?:require\s+)?([\w.-]+\.[\w./-]+)\s+v\d/gm);
    return { name: packageOf("go.mod", text), dependencies: [...required].map(([, one = ""]) => one) };
  }
  return { name: null, dependencies: pythonDependencies(text) };
}

function nodeDependencies(text: string): string[] {
  const manifest = (parseJson(text) ?? {}) as Record<string, object | null | undefined>;
  const groups = ["dependencies", "devDependencies", "peerDependencies", "optionalDependencies"];
  return groups.flatMap((group) => Object.keys(manifest[group] ?? {}));
}

/** Import names differ from package names in case and in dashes; some differ altogether, and their imports are refused. */
const pythonName = (name: string) => name.toLowerCase().replaceAll(/[-_.]+/g, "_");

/** Everything in these files that is written like a requirement: too many names only let a test import what is not installed. */
function pythonDependencies(text: string): string[] {
  return [...text.matchAll(/(?:^|["'])\s*([A-Za-z][\w.-]{1,80})(?=\s*(?:[<>=!~;[,"']|$))/gm)].map(
    ([, name = ""]) => pythonName(name),
  );
}
