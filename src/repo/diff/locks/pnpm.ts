import { posix } from "node:path";
import { z } from "zod";
import { fileIn, HERE, type Lock, type Surroundings } from "./lock.ts";
import { type NodePackage, nameFault, nodeEntries } from "./node.ts";
import { closed, dict, fields, listOf, maybe, refuse, shaped, Text, Texts, yaml } from "./parse.ts";

const Resolution = closed(maybe("integrity tarball directory repo commit"), "type gitHosted path");
const links = fields("dependencies optionalDependencies", Texts);
const Package = closed(
  {
    resolution: Resolution,
    ...maybe("version"),
    ...links,
    ...fields("peerDependencies peerDependenciesMeta", dict(z.unknown()).default({})),
  },
  "id name engines os cpu libc deprecated hasBin transitivePeerDependencies bundledDependencies requiresBuild prepare patched dev optional",
);
const Asked = dict(closed({ specifier: Text, version: Text })).default({});
const asked = fields("dependencies devDependencies optionalDependencies", Asked);
const File = closed(
  {
    lockfileVersion: z.enum(["6.0", "6.1", "9.0"]),
    overrides: Texts,
    ...asked,
    ...maybe("packageExtensionsChecksum pnpmfileChecksum"),
    ignoredOptionalDependencies: listOf(Text),
    packages: dict(Package).default({}),
    catalogs: dict(Asked).default({}),
    importers: dict(closed(asked, "dependenciesMeta publishDirectory")).optional(),
    snapshots: dict(closed(links, "optional transitivePeerDependencies patched")).optional(),
  },
  "settings time patchedDependencies onlyBuiltDependencies neverBuiltDependencies",
);

/** The name, the version or address, and the peers of a key; before version 9 most begin with a slash. */
const keyForm = /^\/?((?:@[\w.~-]+\/)?[\w.~-]+)@([^\s()\\]+)((?:\(.*)?)$/;
const numbered = /^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/;

/** Reads `pnpm-lock.yaml` of versions 6 and 9. */
export function pnpmLock(text: string, around: Surroundings): Lock {
  const { folder } = around;
  const file = shaped(File, yaml(text));
  const { packages, snapshots = packages } = file;
  const partsOf = (key: string) => keyForm.exec(key) ?? refuse("a package with an unusual key");
  const idOf = (used: string, ref: string) =>
    [`${used}@${ref}`, `/${used}@${ref}`, ref].find((one) => Object.hasOwn(snapshots, one)) ??
    (ref.startsWith("link:") ? undefined : refuse("a reference to a package that it does not have"));
  const left = new Set(Object.keys(packages));
  const asks = asksIn(file);
  const isAlias = (specifier: string) => specifier.startsWith("npm:");
  const overridden = Object.entries(file.overrides)
    .filter(([, one]) => isAlias(one))
    .map(([one]) => one);
  const aliases = new Set([
    ...asks.filter((one) => isAlias(one.specifier)).map(({ used }) => used),
    ...overridden,
  ]);
  const parts = new Map(Object.keys(snapshots).map((key) => [key, partsOf(key)]));
  const rows = Object.entries(snapshots).map(([key, { dependencies, optionalDependencies }]) => {
    const [, name = "", ref = "", suffix = ""] = parts.get(key) ?? [];
    const held = snapshots === packages ? key : key.slice(0, key.length - suffix.length);
    const found =
      (Object.hasOwn(packages, held) ? packages[held] : undefined) ?? refuse("a package without its facts");
    left.delete(held);
    const peers = { ...found.peerDependencies, ...found.peerDependenciesMeta };
    const links = Object.entries({ ...dependencies, ...optionalDependencies }).map(([used, version]) => {
      const to = idOf(used, version);
      const range = to === undefined ? HERE : (parts.get(to)?.[1] ?? "");
      return { used, range, varies: Object.hasOwn(peers, used), to };
    });
    const declared = Object.keys(peers).map((used) => ({ used, range: "a peer", to: undefined }));
    const given = links.find(({ used, range, varies }) => varies && range !== used && !aliases.has(used));
    const located = locatedAt(ref, found, folder);
    const more =
      given === undefined
        ? located.more
        : { fault: `gets ${given.range} as ${given.used}, which no manifest says` };
    return { id: key, name, line: `${key}:`, links: [...links, ...declared], ...located, more };
  });
  if (left.size > 0) refuse("a package without its dependencies");
  const linked = markAsked(asks, file, new Map(rows.map((row) => [row.id, row])), idOf, folder);
  // pnpm compares these with the manifest before it installs anything.
  const { packageExtensionsChecksum, pnpmfileChecksum, ignoredOptionalDependencies, overrides } = file;
  const settings = JSON.stringify([
    ...[packageExtensionsChecksum, pnpmfileChecksum, ignoredOptionalDependencies],
    overrides,
  ]);
  return { entries: nodeEntries([...rows, ...linked], false, around), settings };
}

const asksIn = ({ importers, ...file }: z.infer<typeof File>) =>
  Object.entries(importers ?? { ".": file }).flatMap(
    ([at, { dependencies, devDependencies, optionalDependencies }]) =>
      Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies }).map(([used, one]) => ({
        at,
        used,
        ...one,
      })),
  );

/** Marks what projects ask for. @returns the folders that they ask for */
function markAsked(
  asks: ReturnType<typeof asksIn>,
  { overrides, catalogs }: z.infer<typeof File>,
  rows: ReadonlyMap<string, NodePackage>,
  idOf: (used: string, ref: string) => string | undefined,
  folder: string,
): NodePackage[] {
  return asks.flatMap(({ at, used, specifier, version }) => {
    const row = rows.get(idOf(used, version) ?? "");
    if (row === undefined) {
      const more = { isRoot: true, ...fileIn(folder, posix.join(at, version.replace(/^link:/, ""))) };
      return [{ id: `${at} ${used}`, name: used, version: "", line: `${used}:`, more }];
    }
    const ranges = [
      specifier,
      overrides[used],
      ...Object.values(catalogs).map((one) => one[used]?.specifier),
    ];
    // An alias need not name a version.
    const asked = ranges.flatMap((range) => (range === undefined ? [] : [`${range}@`]));
    row.more = { ...row.more, isRoot: true, ...nameFault({ name: row.name, used }, asked, "") };
    return [];
  });
}

/** @param ref the version, or the address, in the key of a package: only this was asked for */
function locatedAt(ref: string, { resolution, version = ref }: z.infer<typeof Package>, folder: string) {
  const { integrity, tarball, directory, repo, commit = "" } = resolution;
  const located =
    repo === undefined ? (directory === undefined ? tarball : `file:${directory}`) : `${repo}#${commit}`;
  const local = directory === undefined ? {} : fileIn(folder, directory);
  if (numbered.test(ref)) {
    const isSame = located === tarball && version === ref;
    const fault = isSame ? {} : { fault: "has an address or a version of its own, beside that of its key" };
    return { version: ref, address: tarball ?? null, integrity, asked: [], more: { ...local, ...fault } };
  }
  const fault = [ref, ref.replace(/^git\+/, "")].includes(located ?? ref)
    ? {}
    : { fault: "has another address than its key says" };
  return { version, address: located ?? ref, integrity, asked: [ref], more: { ...local, ...fault } };
}
