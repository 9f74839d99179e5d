import { z } from "zod";
import type { Lock } from "./lock.ts";
import { type NodePackage, nodeEntries } from "./node.ts";
import { closed, dict, jsonWithCommas, Maybe, refuse, shaped, Text, Texts } from "./parse.ts";
import { fileIn } from "./place.ts";

const links = {
  dependencies: Texts,
  devDependencies: Texts,
  optionalDependencies: Texts,
  peerDependencies: Texts,
};
const Info = closed(links, "optionalPeers bin binDir os cpu libc bundled hasInstallScript");
const Workspace = closed({ name: Maybe, ...links }, "version optionalPeers bin binDir");
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
export function bunLock(text: string, folder: string): Lock {
  const { packages, workspaces, overrides } = shaped(File, jsonWithCommas(text));
  const linksOf = (key: string, info: z.infer<typeof Info> | undefined) =>
    (["peerDependencies", "dependencies", "optionalDependencies", "devDependencies"] as const).flatMap(
      (group) =>
        Object.entries(info?.[group] ?? {}).flatMap(([used, range]) => {
          const link = { used, range, to: lookUp(packages, key, used) };
          const other = Object.hasOwn(overrides, used)
            ? [{ ...link, range: String(overrides[used]), varies: true }]
            : [];
          return [link, ...other];
        }),
    );
  const projects = Object.entries(workspaces).map(([path, one]): NodePackage => {
    const { name = path } = one;
    const common = { id: `workspace ${path}`, name, version: "", address: null, integrity: undefined };
    return {
      ...common,
      line: `${JSON.stringify(path)}: {`,
      links: linksOf(name, one),
      more: { isRoot: true, ...fileIn(folder, path) },
    };
  });
  const rows = Object.entries(packages).map(([key, [id, ...rest]]): NodePackage => {
    const [, name = "", ref = ""] =
      /^((?:@[\w.~-]+\/)?[\w.~-]+)@(.+)$/.exec(id) ?? refuse("a package with an unusual name");
    const used =
      key.length > 1_000
        ? refuse("a package with a long key")
        : (/(?:@[^/]+\/)?[^/]+$/.exec(key)?.[0] ?? key);
    const infos = rest.filter((part) => typeof part === "object");
    const texts = rest.filter((part) => typeof part === "string");
    const common = {
      id: key,
      used,
      name,
      version: ref,
      line: `${JSON.stringify(key)}: [`,
      links: linksOf(key, infos[0]),
    };
    if (/^(?:workspace|link|root):/.test(ref))
      return {
        ...common,
        address: null,
        integrity: undefined,
        more: { isRoot: true, ...fileIn(folder, ref.replace(/^\w+:/, "")) },
      };
    const [registry = "", integrity] = /^\d+\.\d+\.\d+[\w.+-]*$/.test(ref)
      ? texts
      : [ref, texts.find((text) => /^sha\d+-/.test(text))];
    if (infos.length > 1 || texts.length > 2) refuse("a package of an unknown form");
    // A registry other than the default one is written before what it has at the usual place.
    const isWhole = registry === ref || /^$|\.tgz$/.test(registry);
    const address = isWhole
      ? registry
      : `${registry.replace(/\/$/, "")}/${name}/-/${name.replace(/^.*\//, "")}-${ref}.tgz`;
    return { ...common, address: address === "" ? null : address, integrity };
  });
  return { entries: nodeEntries([...projects, ...rows], true, folder) };
}

function lookUp(packages: object, from: string, name: string): string | undefined {
  for (let at = from; at !== ""; at = at.slice(0, Math.max(0, at.lastIndexOf("/"))))
    if (Object.hasOwn(packages, `${at}/${name}`)) return `${at}/${name}`;
  return Object.hasOwn(packages, name) ? name : undefined;
}
