import { z } from "zod";
import type { Lock, Surroundings } from "./lock.ts";
import { type NodePackage, nodeEntries } from "./node.ts";
import { closed, dict, fields, jsonWithCommas, maybe, refuse, shaped, Text, Texts } from "./parse.ts";
import { fileIn } from "./place.ts";

const links = fields("peerDependencies dependencies optionalDependencies devDependencies", Texts);
const Info = closed(
  { ...links, bin: z.unknown().optional() },
  "optionalPeers binDir os cpu libc bundled hasInstallScript",
);
const Workspace = closed({ ...maybe("name"), ...links }, "version optionalPeers bin binDir");
const File = closed(
  {
    ...{
      lockfileVersion: z.literal([0, 1, 2]),
      workspaces: dict(Workspace),
      overrides: dict(z.unknown()).default({}),
    },
    packages: dict(z.tuple([Text], z.union([Text, Info]))),
  },
  "configVersion trustedDependencies patchedDependencies catalog catalogs",
);

/** Reads `bun.lock`. A package is found by the longest part of its user's key, as in nested folders. */
export function bunLock(text: string, around: Surroundings): Lock {
  const { folder } = around;
  const { packages, workspaces, overrides } = shaped(File, jsonWithCommas(text));
  const linksOf = (key: string, info: Partial<z.infer<typeof Info>> = {}) => {
    const { peerDependencies, dependencies, optionalDependencies, devDependencies } = info;
    const groups = [peerDependencies, dependencies, optionalDependencies, devDependencies];
    return groups
      .flatMap((group) => Object.entries(group ?? {}))
      .flatMap(([used, range]) => {
        const link = { used, range, to: lookUp(packages, key, used) };
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

function lookUp(packages: object, from: string, name: string): string | undefined {
  for (let at = from; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/"))))
    if (Object.hasOwn(packages, `${at}/${name}`)) return `${at}/${name}`;
  return Object.hasOwn(packages, name) ? name : undefined;
}
