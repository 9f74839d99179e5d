import { z } from "zod";
import { DEFAULT, entryOf, groupOf, type Lock, type LockEntry } from "./lock.ts";
import { closed, dict, json, Maybe, refuse, shaped, Text, toml, Word } from "./parse.ts";
import { fileAt, fileIn, hostOf, plainAddress, repositoryAt, type Source, strange } from "./place.ts";

/** Names that differ only in this are the same. */
const folded = (name: string) => name.toLowerCase().replace(/[-_.]+/g, "-");
const fileOf = (address: string) => address.replace(/^.*\//s, "").replace(/%2b/gi, "+");

const hashesOf = (files: readonly { file: string; hash?: string | undefined }[]) =>
  groupOf(
    files.map(({ file, hash }) => {
      if (hash === undefined) return [`${file.replaceAll(" ", "?")} none`, ""] as const;
      const [, algorithm = "", digest = ""] =
        /^(md5|sha(?:1|224|256|384|512)):([\da-f]+)$/.exec(hash) ?? refuse("a hash of an unknown form");
      return [`${file.replaceAll(" ", "?")} ${algorithm}`, digest] as const;
    }),
  );

/** An index of packages. */
function indexAt(address: string): Source {
  const { host, path } = plainAddress(address) ?? {};
  if (host === undefined) return strange(address);
  return { kind: "registry", places: [host + path === "pypi.org/simple" ? DEFAULT : host + path] };
}

const gitAt = (address: string): Source => repositoryAt(address.replace(/\?[^#]*/, "")) ?? strange(address);

/** @throws NotRead if an id occurs twice */
function unique(entries: LockEntry[]): Lock {
  return new Set(entries.map(({ id }) => id)).size < entries.length ? refuse("a package twice") : { entries };
}

const lineOf = (name: string, version: string) => `name = "${name}"\nversion = "${version}"`;

const Artefact = closed({ url: Maybe, path: Maybe, filename: Maybe, hash: Maybe }, "size upload-time");
const Needs = z.array(closed({ name: Word }, "version source extra marker")).default([]);
const UvSource = closed(
  Object.fromEntries(
    ["registry", "git", "url", "path", "directory", "editable", "virtual"].map((kind) => [kind, Maybe]),
  ),
  "subdirectory",
);
const UvPackage = closed(
  {
    ...{
      name: Word,
      version: Word.default(""),
      source: UvSource,
      sdist: Artefact.optional(),
      wheels: z.array(Artefact).default([]),
    },
    ...{
      dependencies: Needs,
      "optional-dependencies": dict(Needs).default({}),
      "dev-dependencies": dict(Needs).default({}),
    },
  },
  "resolution-markers metadata",
);
const UvFile = closed(
  {
    ...{
      version: z.literal(1),
      package: z.array(UvPackage).default([]),
      manifest: dict(z.unknown()).default({}),
    },
    ...Object.fromEntries(
      ["requires-python", "resolution-markers", "supported-markers", "required-markers", "conflicts"].map(
        (key) => [key, z.unknown().optional()],
      ),
    ),
  },
  "revision options",
);

/** Reads `uv.lock`. */
export function uvLock(text: string, folder: string): Lock {
  const { package: found, manifest, ...settings } = shaped(UvFile, toml(text));
  const packages = found.map((one) => ({
    ...one,
    id: JSON.stringify([one.name, one.version, one.source]),
  }));
  const ids = groupOf(packages.map(({ name, id }) => [name, id]));
  const entries = packages.map(({ id, name, version, source, sdist, wheels, dependencies, ...groups }) => {
    const files = [...(sdist === undefined ? [] : [sdist]), ...wheels].map((one) => ({
      ...one,
      file: one.filename ?? fileOf(one.url ?? one.path ?? ""),
    }));
    const needs = [
      dependencies,
      ...Object.values(groups["optional-dependencies"]),
      ...Object.values(groups["dev-dependencies"]),
    ];
    const [[kind = "", at = ""], more] = [...Object.entries(source), undefined] as [
      [string, string],
      unknown,
    ];
    if (more !== undefined || typeof at !== "string") refuse("a package with several sources");
    const from =
      kind === "registry"
        ? indexed(name, version, at, files, folder)
        : kind === "git"
          ? gitAt(at)
          : kind === "url"
            ? fileAt(at)
            : fileIn(folder, at);
    return entryOf({
      ...{ id, name: folded(name), version, line: lineOf(name, version), hashes: hashesOf(files), ...from },
      ...{
        isRoot: /^(?:editable|virtual)$/.test(kind),
        fixed: new Map(dependencies.map((need) => [need.name, ""])),
        needs: needs.flat().flatMap((need) => [...(ids.get(need.name) ?? [])]),
      },
    });
  });
  // What a version needs depends on the Python versions and systems that it is for, and on what people override.
  const { members: _, ...overrides } = manifest;
  return { ...unique(entries), settings: JSON.stringify([settings, overrides]) };
}

/** A package of an index. Its files are at the host of the index or have a place of their own. */
function indexed(
  name: string,
  version: string,
  index: string,
  files: readonly { file: string; url?: string | undefined }[],
  folder: string,
): Source {
  // An index can be a folder of archives.
  const source = index.includes(":") ? indexAt(index) : fileIn(folder, `${index}/x.whl`);
  const [place = ""] = source.places;
  const host = place === DEFAULT ? "files.pythonhosted.org" : hostOf(place);
  const found = files.map(({ url }) => (url === undefined ? source : fileAt(url)));
  const other = files.find(({ file }) => !isOf(file, name, version));
  const fault =
    other === undefined
      ? found.find((one) => one.fault)?.fault
      : `has a file of another name or version (${other.file})`;
  const places = [place, ...found.flatMap((one) => one.places).filter((one) => hostOf(one) !== host)];
  return { ...source, places, ...(fault ? { fault } : {}) };
}

const numbers = (text: string) =>
  text
    .toLowerCase()
    .match(/[1-9]\d*|[a-z]+/g)
    ?.join(".") ?? "";

/** Whether a wheel or an archive has the name and, in whatever notation, the version of its package. */
function isOf(file: string, name: string, version: string): boolean {
  const form = new RegExp(
    String.raw`^${name.split(/[-_.]+/).join("[-_.]+")}-(?:([^-]+)-[\w.+-]+\.(?:whl|egg)|([\w.+!-]+?)\.(?:tar\.\w+|tgz|zip))$`,
    "i",
  );
  const [, wheel, archive = wheel] = form.exec(file) ?? [];
  return archive !== undefined && numbers(archive) === numbers(version);
}

const PoetryFiles = z.array(z.strictObject({ file: Text, hash: Text })).default([]);
const PoetrySource = closed(
  {
    type: z.enum(["legacy", "git", "url", "file", "directory"]),
    url: Text,
    resolved_reference: Text.default(""),
  },
  "reference subdirectory",
);
const PoetryFile = closed(
  {
    package: z
      .array(
        closed(
          {
            name: Word,
            version: Word,
            files: PoetryFiles,
            source: PoetrySource.optional(),
            dependencies: dict(z.unknown()).default({}),
          },
          "description optional python-versions groups category markers marker extras develop",
        ),
      )
      .default([]),
    metadata: closed(
      { files: dict(PoetryFiles).default({}) },
      "lock-version python-versions content-hash hashes",
    ),
  },
  "extras",
);

/** Reads `poetry.lock`, also of versions that have all files at the end. */
export function poetryLock(text: string, folder: string): Lock {
  const { package: packages, metadata } = shaped(PoetryFile, toml(text));
  return unique(
    packages.map(({ name, version, files, source, dependencies }) => {
      const { url = "", resolved_reference: commit = "" } = source ?? {};
      const git = { ...gitAt(url), commit };
      const from = {
        legacy: indexAt(url),
        git,
        url: fileAt(url),
        file: fileIn(folder, url),
        directory: fileIn(folder, url),
      };
      const hashes = hashesOf([...files, ...(metadata.files[name] ?? [])]);
      return entryOf({
        id: JSON.stringify([name, version, source]),
        name: folded(name),
        version,
        line: lineOf(name, version),
        hashes,
        fixed: new Map(Object.keys(dependencies).map((need) => [need.toLowerCase(), ""])),
        ...(source === undefined ? {} : from[source.type]),
      });
    }),
  );
}

const PipMeta = closed(
  { sources: z.array(closed({ name: Text, url: Text, verify_ssl: z.boolean() })) },
  "hash pipfile-spec requires",
);
const PipPackage = closed(
  {
    version: z
      .string()
      .regex(/^==[\w.!+-]+$/)
      .default(""),
    hashes: z.array(Text).default([]),
    index: Maybe,
    git: Maybe,
    ref: Text.default(""),
    path: Maybe,
    file: Maybe,
  },
  "markers extras editable subdirectory",
);

/** Reads `Pipfile.lock`. People name its groups. */
export function pipfileLock(text: string, folder: string): Lock {
  const { _meta, ...groups } = shaped(dict(z.unknown()), json(text));
  const { sources } = shaped(PipMeta, _meta);
  const rows = Object.entries(groups).flatMap(([group, all]) =>
    Object.entries(shaped(dict(PipPackage), all)).map(([name, one]) => ({ group, name, one })),
  );
  const sourceOf = ({
    index = sources[0]?.name,
    git,
    path,
    file,
    ref,
  }: z.infer<typeof PipPackage>): Source => {
    const [source = refuse("a package without a source"), ...more] = sources.filter(
      ({ name }) => name === index,
    );
    const direct = [git, path, file].filter((one) => one !== undefined);
    if (more.length > 0 || direct.length > 1) refuse("a package with several sources");
    if (git !== undefined) return { ...gitAt(git), commit: ref };
    const local = path ?? (file?.includes("://") ? undefined : file);
    if (local !== undefined) return fileIn(folder, local);
    if (file !== undefined) return fileAt(file);
    return source.verify_ssl
      ? indexAt(source.url)
      : { kind: "registry", places: [`${source.url} without verification`] };
  };
  return {
    entries: rows.map(({ group, name, one }) => {
      // The hashes are those of files without names.
      const hashes = hashesOf(one.hashes.map((hash) => ({ file: hash.replace(/^\w+:/, ""), hash })));
      const version = one.version.replace(/^==/, "");
      return entryOf({
        id: `${group}/${name}`,
        name: folded(name),
        version,
        line: `${JSON.stringify(name)}: {`,
        hashes,
        ...sourceOf(one),
      });
    }),
  };
}
