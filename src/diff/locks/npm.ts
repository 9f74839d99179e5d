import { posix } from "node:path";
import { z } from "zod";
import { HERE, type Lock, type LockEntry, type Surroundings } from "./lock.ts";
import { type NodePackage, nodeEntries } from "./node.ts";
import { closed, dict, fields, json, maybe, refuse, shaped, Text, Texts } from "./parse.ts";
import { fileIn } from "./place.ts";

const Flag = z.boolean().optional();
const Package = closed(
  {
    ...{
      ...maybe("name version resolved integrity"),
      link: Flag,
      inBundle: Flag,
      bin: z.unknown().optional(),
    },
    ...fields("peerDependencies dependencies optionalDependencies devDependencies", Texts),
  },
  "dev optional devOptional peer extraneous acceptDependencies ideallyInert engines os cpu libc license licenses funding deprecated hasInstallScript hasShrinkwrap workspaces peerDependenciesMeta bundleDependencies bundledDependencies",
);
type Package = z.infer<typeof Package>;
const Anything = z.unknown().optional();
/** An entry of the format before, which old versions of npm still read. */
const Nested = closed(
  {
    ...{ version: Text, ...maybe("resolved integrity"), bundled: Flag, dependencies: Anything },
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
        ...{
          name,
          version,
          resolved: entry.resolved ?? address,
          integrity: entry.integrity,
          inBundle: entry.bundled,
        },
        ...{ dependencies: typeof entry.requires === "object" ? entry.requires : {} },
        ...{ devDependencies: {}, optionalDependencies: {}, peerDependencies: {} },
      };
      if (entry.dependencies !== undefined) open.push([`${place}/`, entry.dependencies]);
    }
  }
  return found;
}

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
    const { peerDependencies, dependencies, optionalDependencies, devDependencies } = one;
    const ranges = [peerDependencies, dependencies, optionalDependencies, devDependencies].flatMap(
      Object.entries<string>,
    );
    const links = ranges.map(([used, range]) => ({
      used,
      range,
      to: lookUp(packages, place, used, section),
    }));
    const isOwnName = used === place || twins[place]?.name === name;
    const target = { used: "", range: "", to: section + (address ?? "") };
    return {
      ...{ id: section + place, name, version, address, integrity, bin },
      ...{
        line: `${JSON.stringify(section === "" ? place : used)}: {`,
        links: link === true ? [target] : links,
      },
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
