import { z } from "zod";
import {
  DEFAULT,
  entryOf,
  exactFileAt,
  fileAt,
  fileIn,
  groupOf,
  hostOf,
  type Lock,
  type Pair,
  PYPI_FILES,
  plainAddress,
  repositoryAt,
  type Source,
  type Surroundings,
  strange,
} from "./lock.ts";
import {
  closed,
  dict,
  fields,
  json,
  listOf,
  maybe,
  once,
  refuse,
  shaped,
  Text,
  toml,
  Word,
} from "./parse.ts";

interface Artifact {
  file: string;
  url?: string | undefined;
  path?: string | undefined;
  hash?: string | undefined;
}

/** Names that differ only in this are the same. */
const folded = (name: string) => name.toLowerCase().replace(/[-_.]+/g, "-");
const hashForm = /^(md5|sha(?:1|224|256|384|512)):([\da-f]+)$/;

const hashesOf = (files: readonly Artifact[]) =>
  files.map(({ file, hash = "md5:" }): Pair => {
    const [, kind = "none", digest = ""] =
      hash === "md5:" ? [] : (hashForm.exec(hash) ?? refuse("a hash of an unknown form"));
    return [`${file.replaceAll(" ", "?")} ${kind}`, digest];
  });

function indexAt(address: string): Source {
  const { host, path } = plainAddress(address) ?? {};
  if (host === undefined) return strange(address);
  return { kind: "registry", places: [host + path === "pypi.org/simple" ? DEFAULT : host + path] };
}

const gitAt = (address: string): Source => repositoryAt(address.replace(/\?[^#]*/, "")) ?? strange(address);
const lineOf = (name: string, version: string) => `name = "${name}"\nversion = "${version}"`;
const Anything = z.unknown().optional();

const UvFile_ = closed(maybe("url path filename hash"), "size upload-time");
const Needs = listOf(closed({ name: Word }, "version source extra marker"));
const UvPackage = closed(
  {
    name: Word,
    version: Word.default(""),
    sdist: UvFile_.optional(),
    wheels: listOf(UvFile_),
    source: closed(maybe("registry git url path directory editable virtual"), "subdirectory"),
    dependencies: Needs,
    ...fields("optional-dependencies dev-dependencies", dict(Needs).default({})),
  },
  "resolution-markers metadata",
);
const UvLock = closed(
  {
    version: z.literal(1),
    package: listOf(UvPackage),
    manifest: dict(Anything).default({}),
    ...fields("requires-python resolution-markers supported-markers required-markers conflicts", Anything),
  },
  "revision options",
);

/** Reads `uv.lock`. */
export function uvLock(text: string, { folder }: Surroundings): Lock {
  const { package: found, manifest, ...settings } = shaped(UvLock, toml(text));
  const packages = found.map((one) => ({ ...one, id: JSON.stringify([one.name, one.version, one.source]) }));
  once(packages.map(({ id }) => id));
  const named = groupOf(packages.map(({ name, id }) => [name, id]));
  const entries = packages.map(({ id, name, version, source, sdist, wheels, dependencies, ...groups }) => {
    const files = (sdist === undefined ? wheels : [sdist, ...wheels]).map((one) => ({
      ...one,
      file: one.filename ?? fileOf(one.url ?? one.path ?? ""),
    }));
    const extra = [groups["optional-dependencies"], groups["dev-dependencies"]].flatMap(
      Object.values<typeof dependencies>,
    );
    const { registry, git, url, ...local } = source;
    const [at = "", more] = Object.values(source).filter((one) => typeof one === "string");
    if (more !== undefined || at === "") refuse("a package without a source, or with several");
    const other = git === undefined ? (url === undefined ? fileIn(folder, at) : exactFileAt(at)) : gitAt(at);
    return entryOf({
      id,
      name: folded(name),
      version,
      line: lineOf(name, version),
      hashes: hashesOf(files),
      isRoot: (local.editable ?? local.virtual) !== undefined,
      fixed: dependencies.map((need) => [need.name, ""]),
      needs: [dependencies, ...extra].flat().map((need) => need.name),
      ...(registry === undefined ? other : indexed(name, version, registry, files, folder)),
    });
  });
  // What a version needs depends on the Python versions and systems that it is for, and on what people override.
  const { members: _, ...overrides } = manifest;
  return { entries, named, settings: JSON.stringify([settings, overrides]) };
}

const fileOf = (address: string) => address.replace(/^.*\//s, "").replace(/%2b/gi, "+");

/** A package of an index. Its files are at the host of the index or have a place of their own. */
function indexed(
  name: string,
  version: string,
  index: string,
  files: readonly Artifact[],
  folder: string,
): Source {
  // An index can be a folder of archives.
  const source = index.includes(":") ? indexAt(index) : fileIn(folder, `${index}/x.whl`);
  const [place = ""] = source.places;
  const host = place === DEFAULT ? PYPI_FILES : hostOf(place);
  const found = files.map(({ url, path }) =>
    url === undefined ? (path === undefined ? source : fileIn(folder, path)) : fileAt(url),
  );
  const other = files.find(({ file }) => !isOf(file, name, version));
  const named = other === undefined ? undefined : `has a file of another name or version (${other.file})`;
  const fault = [source, ...found].find((one) => one.fault)?.fault ?? named;
  const places = new Set([
    place,
    ...found.flatMap((one) => one.places).filter((one) => hostOf(one) !== host),
  ]);
  return { ...source, places: [...places], ...(fault ? { fault } : {}) };
}

const numbers = (text: string) => {
  const parts = text.toLowerCase().match(/\d+|[a-z]+/g) ?? [];
  return parts
    .map((part) => part.replace(/^0+(?=\d)/, ""))
    .join(".")
    .replace(/(?:\.0)+$/, "");
};
const packed = /\.(?:whl|egg|tar\.\w+|tgz|zip)$/;

/** Whether a wheel or an archive has the name and, in whatever notation, the version of its package. */
function isOf(file: string, name: string, version: string): boolean {
  const stem = file.length < 300 ? file.replace(packed, "") : file;
  const isBuilt = /\.(?:whl|egg)$/.test(file);
  // A name may have hyphens, and so may a version.
  return [...stem.matchAll(/-/g)].some(({ index }) => {
    const rest = stem.slice(index + 1);
    const written = isBuilt ? rest.replace(/-.*/, "") : rest;
    return folded(stem.slice(0, index)) === folded(name) && numbers(written) === numbers(version);
  });
}

const PoetryFiles = listOf(z.strictObject({ file: Text, hash: Text }));
const types = z.enum(["legacy", "git", "url", "file", "directory"]);
const PoetrySource = closed(
  { type: types, url: Text, resolved_reference: Text.default("") },
  "reference subdirectory",
);
const PoetryPackage = closed(
  {
    name: Word,
    version: Word,
    files: PoetryFiles,
    source: PoetrySource.optional(),
    dependencies: dict(Anything).default({}),
  },
  "description optional python-versions groups category markers marker extras develop",
);
const PoetryMetadata = closed(
  { files: dict(PoetryFiles).default({}), ...maybe("content-hash") },
  "lock-version python-versions hashes",
);
const PoetryLock = closed({ package: listOf(PoetryPackage), metadata: PoetryMetadata }, "extras");

/** Reads `poetry.lock`, also of versions that have all files at the end. */
export function poetryLock(text: string, { folder }: Surroundings): Lock {
  const { package: packages, metadata } = shaped(PoetryLock, toml(text));
  const older = new Map(Object.entries(metadata.files));
  const entries = packages.map(({ name, version, files, source, dependencies }) => {
    const { type, url = "", resolved_reference: commit = "" } = source ?? {};
    const far =
      type === "legacy" ? indexAt(url) : type === "git" ? { ...gitAt(url), commit } : exactFileAt(url);
    return entryOf({
      id: JSON.stringify([name, version, source]),
      name: folded(name),
      version,
      line: lineOf(name, version),
      hashes: hashesOf([...files, ...(older.get(name) ?? [])]),
      fixed: Object.keys(dependencies).map((need) => [folded(need), ""]),
      needs: Object.keys(dependencies).map(folded),
      ...(type === undefined ? {} : /^(?:file|directory)$/.test(type) ? fileIn(folder, url) : far),
    });
  });
  once(entries.map(({ id }) => id));
  // What a version needs depends on the extras and the Python versions of the manifest, of which this is the hash.
  const manifest = metadata["content-hash"];
  return { entries, named: groupOf(entries.map(({ name, id }) => [name, id])), settings: manifest, manifest };
}

const PipSource = closed({ name: Text, url: Text, verify_ssl: z.boolean() });
const PipMeta = closed({ sources: z.array(PipSource) }, "hash pipfile-spec requires");
const PipPackage = closed(
  {
    version: Text.regex(/^==[\w.!+-]+$/).default("=="),
    hashes: listOf(Text),
    ref: Text.default(""),
    ...maybe("index git path file"),
    subdirectory: Word.optional(),
  },
  "markers extras editable",
);

/** Reads `Pipfile.lock`. People name its groups. */
export function pipfileLock(text: string, { folder }: Surroundings): Lock {
  // Pipenv writes requirements of pip, line by line, and all kinds of text go into them.
  if (/\\(?:[nrtbfv]|u[01])/.test(text)) refuse("an escaped line end");
  const { _meta, ...groups } = shaped(dict(z.unknown()), json(text));
  const { sources } = shaped(PipMeta, _meta);
  once(sources.map(({ name }) => name));
  const entries = Object.entries(groups).flatMap(([group, all]) =>
    Object.entries(shaped(dict(PipPackage), all)).map(([name, one]) => {
      if (!/^[\w.-]+(?:\[[\w,.-]+\])?$/.test(name)) refuse("a package with an unusual name");
      const version = one.version.slice(2);
      // The hashes are those of files without names.
      const hashes = hashesOf(one.hashes.map((hash) => ({ file: hash.replace(/^\w+:/, ""), hash })));
      const line = `${JSON.stringify(name)}: {`;
      return entryOf({
        id: `${group}/${name}`,
        name: folded(name),
        version,
        line,
        hashes,
        ...pipSource(one, sources, folder),
      });
    }),
  );
  return { entries };
}

function pipSource(
  one: z.infer<typeof PipPackage>,
  sources: readonly z.infer<typeof PipSource>[],
  folder: string,
): Source {
  const { index = sources[0]?.name, git, path, file, ref } = one;
  const source = sources.find(({ name }) => name === index) ?? refuse("a package without a source");
  if ([git, path, file].filter((direct) => direct !== undefined).length > 1)
    refuse("a package with several sources");
  if (git !== undefined) return { ...gitAt(git), commit: ref };
  if (file?.includes("://") === true) return exactFileAt(file);
  const local = path ?? file;
  if (local !== undefined) return fileIn(folder, local);
  // Variables of the environment may log in.
  return source.verify_ssl
    ? indexAt(source.url.replace(/\/\/\$\{\w+\}(?::\$\{\w+\})?@/, "//"))
    : { kind: "registry", places: [`${source.url} without verification`] };
}
