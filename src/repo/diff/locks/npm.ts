import { posix } from "node:path";
import { z } from "zod";
import { fileIn, HERE, type Lock, type LockEntry, type Surroundings } from "./lock.ts";
import { type NodePackage, nodeEntries } from "./node.ts";
import { closed, dict, fields, json, jsonWithCommas, maybe, refuse, shaped, Text, Texts } from "./parse.ts";

const Flag = z.boolean().optional();
const links = fields("peerDependencies dependencies optionalDependencies devDependencies", Texts);
const Package = closed(
  {
    ...maybe("name version resolved integrity"),
    link: Flag,
    inBundle: Flag,
    bin: z.unknown().optional(),
    ...links,
  },
  "dev optional devOptional peer extraneous acceptDependencies ideallyInert engines os cpu libc license licenses funding deprecated hasInstallScript hasShrinkwrap workspaces peerDependenciesMeta bundleDependencies bundledDependencies",
);
type Package = z.infer<typeof Package>;
const Anything = z.unknown().optional();
/** An entry of the format before, which old versions of npm still read. */
const Nested = closed(
  {
    version: Text,
    ...maybe("resolved integrity"),
    bundled: Flag,
    dependencies: Anything,
    requires: z.union([z.boolean(), dict(Text)]).optional(),
  },
  "dev optional from engines peer devOptional extraneous",
);
const File = closed(
  { lockfileVersion: z.literal([1, 2, 3]), packages: dict(Package).optional(), dependencies: Anything },
  "name version requires packageIntegrity preserveSymlinks",
);

/** Reads `package-lock.json` and `npm-shrinkwrap.json`. Their second version has all packages twice. */
export function npmLock(text: string, around: Surroundings): Lock {
  const { packages, dependencies = {}, lockfileVersion } = shaped(File, json(text));
  if (packages === undefined && lockfileVersion > 1) refuse("no packages");
  // Overrides change the ranges of what is there only for old versions of npm.
  const old = entriesOf(flat(dependencies), around, "dependencies: ", packages).map((one) =>
    lockfileVersion === 2 ? { ...one, fixed: [] } : one,
  );
  return {
    entries: [...entriesOf(packages ?? {}, around, "", {}), ...old],
    settings: String(lockfileVersion),
  };
}

/** The entries of the format before under the keys of the newer one. */
function flat(dependencies: unknown): Record<string, Package> {
  const found: Record<string, Package> = {};
  const open: [above: string, tree: unknown][] = [["", dependencies]];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    for (const [used, entry] of Object.entries(shaped(dict(Nested), next[1]))) {
      const place = `${next[0]}node_modules/${used}`;
      const [, name, version = entry.version] = /^npm:(@?[^@]+)@(.*)$/.exec(entry.version) ?? [];
      const address = /[:/]/.test(version) ? version : undefined;
      found[place] = {
        name,
        version,
        resolved: entry.resolved ?? address,
        integrity: entry.integrity,
        inBundle: entry.bundled,
        dependencies: typeof entry.requires === "object" ? entry.requires : {},
        devDependencies: {},
        optionalDependencies: {},
        peerDependencies: {},
      };
      if (entry.dependencies !== undefined) open.push([`${place}/`, entry.dependencies]);
    }
  }
  return found;
}

/** What a package asks for, under the names that it uses. */
const rangesOf = (one: Partial<Record<keyof typeof links, Record<string, string>>>) =>
  [one.peerDependencies, one.dependencies, one.optionalDependencies, one.devDependencies].flatMap(
    (ranges = {}) => Object.entries(ranges),
  );

const nameForm = /^(?:@[\w.~-]+\/)?[\w~-][\w.~-]*$/;

/** @param twins the packages of the other section, in which the project's manifest tells its aliases */
function entriesOf(
  packages: Record<string, Package>,
  around: Surroundings,
  section: string,
  twins: Record<string, Package> = {},
): LockEntry[] {
  const rows = Object.entries(packages).map(([place, one]): NodePackage => {
    const used = place.replace(/^.*node_modules\//s, "");
    const { name = used, version = "", resolved: address = null, integrity, link, bin } = one;
    checkPlace(place, used, name);
    const links = rangesOf(one).map(([used, range]) => ({
      used,
      range,
      to: lookUp(packages, place, used, section),
    }));
    const isOwnName = used === place || twins[place]?.name === name;
    const target = { used: "", range: "", to: section + (address ?? "") };
    return {
      id: section + place,
      name,
      version,
      address,
      integrity,
      bin,
      line: `${JSON.stringify(section === "" ? place : used)}: {`,
      links: link === true ? [target] : links,
      used: isOwnName ? name : used,
      more: localPart(place, one, used === place, around.folder),
    };
  });
  // Without the project itself, nobody knows all that is asked for.
  return nodeEntries(rows, packages[""] !== undefined, around);
}

/** What decides of a package that is in the repository, or in the archive of the package that needs it. */
function localPart(place: string, one: Package, isOwn: boolean, folder: string): Partial<LockEntry> {
  if (place === "") return { isRoot: true, kind: "folder", places: [HERE] };
  if (one.link === true) return fileIn(folder, one.resolved ?? "");
  if (isOwn) return fileIn(folder, place);
  return one.inBundle === true && one.resolved === undefined ? { kind: "folder", places: [] } : {};
}

/** No tool writes other places, and each folder of one is looked at. */
function checkPlace(place: string, used: string, name: string): void {
  const isUsual =
    place.length < 300 &&
    place.split("node_modules").length < 16 &&
    (place === "" || posix.normalize(place) === place) &&
    !/\\|^\/|\/$/.test(place);
  const isNamed =
    used === place ? !/node_modules/i.test(place) : [used, name].every((word) => nameForm.test(word));
  if (!isUsual || !isNamed) refuse("a package with an unusual name or place");
}

/** The package that Node finds under a name, for code of the package at `from`. */
function lookUp(packages: object, from: string, name: string, section: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) {
    const place = `${at === "" ? "" : `${at}/`}node_modules/${name}`;
    if (Object.hasOwn(packages, place)) return section + place;
    if (at === "") return undefined;
  }
}

const BunPackage = closed(
  { ...links, bin: z.unknown().optional() },
  "optionalPeers binDir os cpu libc bundled hasInstallScript",
);
const BunWorkspace = closed({ ...maybe("name"), ...links }, "version optionalPeers bin binDir");
const BunFile = closed(
  {
    lockfileVersion: z.literal([0, 1, 2]),
    workspaces: dict(BunWorkspace),
    overrides: dict(z.unknown()).default({}),
    packages: dict(z.tuple([Text], z.union([Text, BunPackage]))),
  },
  "configVersion trustedDependencies patchedDependencies catalog catalogs",
);

/** Reads `bun.lock`. A package is found by the longest part of its user's key, as in nested folders. */
export function bunLock(text: string, around: Surroundings): Lock {
  const { folder } = around;
  const { packages, workspaces, overrides } = shaped(BunFile, jsonWithCommas(text));
  const linksOf = (key: string, info: Partial<z.infer<typeof BunPackage>> = {}) => {
    return rangesOf(info).flatMap(([used, range]) => {
      const link = { used, range, to: lookUpKey(packages, key, used) };
      return Object.hasOwn(overrides, used)
        ? [{ ...link, range: String(overrides[used]), varies: true }, link]
        : [link];
    });
  };
  const projects = Object.entries(workspaces).map(([path, one]): NodePackage => {
    const { name = path } = one;
    const more = { isRoot: true, ...fileIn(folder, path) };
    return {
      id: `workspace ${path}`,
      name,
      version: "",
      line: `${JSON.stringify(path)}: {`,
      links: linksOf(name, one),
      more,
    };
  });
  const rows = Object.entries(packages).map(([key, [id, ...rest]]): NodePackage => {
    const [, name = "", ref = ""] = idForm.exec(id) ?? refuse("a package with an unusual name");
    if (key.length > 300 || key.split("/").length > 30) refuse("a package with a long key");
    const infos = rest.filter((part) => typeof part === "object");
    const common = { id: key, used: /(?:@[^/]+\/)?[^/]+$/.exec(key)?.[0] ?? key, name, version: ref };
    const found = locatedAt(
      name,
      ref,
      rest.filter((part) => typeof part === "string"),
      folder,
    );
    if (infos.length > 1) refuse("a package of an unknown form");
    return {
      ...common,
      line: `${JSON.stringify(key)}: [`,
      bin: infos[0]?.bin,
      links: linksOf(key, infos[0]),
      ...found,
    };
  });
  return { entries: nodeEntries([...projects, ...rows], true, around) };
}

const idForm = /^((?:@[\w.~-]+\/)?[\w.~-]+)@(.+)$/;

/** @param texts the registry, or a whole address, and the hash; other packages have a tag, or only a hash */
function locatedAt(
  name: string,
  ref: string,
  texts: readonly string[],
  folder: string,
): Partial<NodePackage> {
  if (/^(?:workspace|link|root):/.test(ref))
    return { more: { isRoot: true, ...fileIn(folder, ref.replace(/^\w+:/, "")) } };
  const isNumbered = /^\d+\.\d+\.\d+[\w.+-]*$/.test(ref);
  const [registry = "", integrity] = isNumbered ? texts : [ref, texts.find((text) => /^sha\d+-/.test(text))];
  if (texts.length > 2) refuse("a package of an unknown form");
  // A registry other than the default one is written before what it has at the usual place.
  const isWhole = !isNumbered || /^$|\.tgz$/.test(registry);
  const usual = `${registry.replace(/\/$/, "")}/${name}/-/${name.replace(/^.*\//, "")}-${ref}.tgz`;
  return { address: registry === "" ? null : isWhole ? registry : usual, integrity };
}

function lookUpKey(packages: object, from: string, name: string): string | undefined {
  for (let at = from; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/"))))
    if (Object.hasOwn(packages, `${at}/${name}`)) return `${at}/${name}`;
  return Object.hasOwn(packages, name) ? name : undefined;
}
