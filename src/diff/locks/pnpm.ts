import { posix } from "node:path";
import { z } from "zod";
import { HERE, type Lock } from "./lock.ts";
import { type NodePackage, nodeEntries } from "./node.ts";
import { closed, dict, Maybe, refuse, shaped, Text, Texts, yaml } from "./parse.ts";
import { fileIn } from "./place.ts";

const Resolution = closed(
  { integrity: Maybe, tarball: Maybe, directory: Maybe, repo: Maybe, commit: Maybe },
  "type gitHosted path",
);
const Any = dict(z.unknown()).default({});
const links = { dependencies: Texts, optionalDependencies: Texts };
const Package = closed(
  { resolution: Resolution, version: Maybe, peerDependencies: Any, peerDependenciesMeta: Any, ...links },
  "id name engines os cpu libc deprecated hasBin transitivePeerDependencies bundledDependencies requiresBuild prepare patched dev optional",
);
const Asked = dict(closed({ specifier: Text, version: Text })).default({});
const asked = { dependencies: Asked, devDependencies: Asked, optionalDependencies: Asked };
const File = closed(
  {
    ...{ lockfileVersion: z.enum(["6.0", "6.1", "9.0"]), overrides: Texts, ...asked },
    ...{ packageExtensionsChecksum: Maybe, pnpmfileChecksum: Maybe, packages: dict(Package).default({}) },
    importers: dict(closed(asked, "dependenciesMeta publishDirectory")).optional(),
    snapshots: dict(closed(links, "optional transitivePeerDependencies patched")).optional(),
  },
  "settings catalogs time patchedDependencies ignoredOptionalDependencies onlyBuiltDependencies neverBuiltDependencies",
);

/** The name, the version or address, and the peers of a key; before version 9 most begin with a slash. */
const keyForm = /^\/?((?:@[\w.~-]+\/)?[\w.~-]+)@([^\s()\\]+)((?:\(.*)?)$/;
const numbered = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/;

/** Reads `pnpm-lock.yaml` of versions 6 and 9. */
export function pnpmLock(text: string, folder: string): Lock {
  const file = shaped(File, yaml(text));
  const { packages, snapshots = packages, overrides, importers = { ".": file } } = file;
  const partsOf = (key: string) => keyForm.exec(key) ?? refuse("a package with an unusual key");
  const idOf = (used: string, ref: string) =>
    [`${used}@${ref}`, `/${used}@${ref}`, ref].find((one) => Object.hasOwn(snapshots, one)) ??
    (ref.startsWith("link:") ? undefined : refuse("a reference to a package that it does not have"));
  const rows = new Map<string, NodePackage>();
  const left = new Set(Object.keys(packages));
  for (const [key, { dependencies, optionalDependencies }] of Object.entries(snapshots)) {
    const [, name = "", ref = "", suffix = ""] = partsOf(key);
    const held = snapshots === packages ? key : key.slice(0, key.length - suffix.length);
    const found =
      (Object.hasOwn(packages, held) ? packages[held] : undefined) ??
      refuse("a package that is not described");
    left.delete(held);
    const peers = { ...found.peerDependencies, ...found.peerDependenciesMeta };
    const links = Object.entries({ ...dependencies, ...optionalDependencies }).map(([used, version]) => {
      const to = idOf(used, version);
      return {
        used,
        range: to === undefined ? HERE : (partsOf(to)[1] ?? ""),
        varies: Object.hasOwn(peers, used),
        to,
      };
    });
    const declared = Object.keys(peers).map((used) => ({ used, range: "a peer", to: undefined }));
    rows.set(key, { ...packageAt(key, name, ref, found, folder), links: [...links, ...declared] });
  }
  if (left.size > 0) refuse("a package without its dependencies");
  for (const [at, importer] of Object.entries(importers)) {
    const all = { ...importer.dependencies, ...importer.devDependencies, ...importer.optionalDependencies };
    for (const [used, { specifier, version }] of Object.entries(all)) {
      const row = rows.get(idOf(used, version) ?? "");
      const common = {
        id: `${at} ${used}`,
        name: used,
        version: "",
        line: `${used}:`,
        address: null,
        integrity: undefined,
        links: [],
      };
      const source = fileIn(folder, posix.join(at, version.replace(/^link:/, "")));
      if (row === undefined) rows.set(common.id, { ...common, more: { isRoot: true, ...source } });
      else {
        const isSaid =
          row.name === used ||
          [specifier, overrides[used]].some((range) => `${range}@`.startsWith(`npm:${row.name}@`));
        const fault = isSaid ? row.more?.fault : `is installed as ${used}, which no manifest says`;
        row.more = { ...row.more, isRoot: true, ...(fault === undefined ? {} : { fault }) };
      }
    }
  }
  const settings = JSON.stringify([file.packageExtensionsChecksum, file.pnpmfileChecksum]);
  return { entries: nodeEntries([...rows.values()], false, folder), settings };
}

function packageAt(
  key: string,
  name: string,
  ref: string,
  { resolution, version }: z.infer<typeof Package>,
  folder: string,
): NodePackage {
  const { integrity, tarball, directory, repo, commit = "" } = resolution;
  const isNumbered = numbered.test(ref);
  const address = repo === undefined ? (tarball ?? (isNumbered ? null : ref)) : `${repo}#${commit}`;
  const common = {
    id: key,
    name,
    version: isNumbered ? ref : (version ?? ref),
    line: `${key}:`,
    address,
    integrity,
    links: [],
  };
  const said = directory === undefined ? address : `file:${directory}`;
  const isSame = isNumbered
    ? directory === undefined && repo === undefined
    : said === ref || `git+${said}` === ref;
  const fault = isSame ? {} : { fault: "has another address than its key says" };
  // Only the key says what was asked for.
  return {
    ...common,
    asked: isNumbered ? [] : [ref],
    more: { ...(directory === undefined ? {} : fileIn(folder, directory)), ...fault },
  };
}
