import {
  DEFAULT,
  entryOf,
  fileIn,
  groupOf,
  type Lock,
  type LockEntry,
  plainAddress,
  repositoryAt,
  type Source,
  type Surroundings,
  strange,
} from "./lock.ts";
import { once, refuse } from "./parse.ts";

const source =
  /^ {2}(?:(remote|revision|branch|tag|ref|submodules|glob|type): (.+)|specs:)$|^ {4}([\w.-]+) \(([\w.-]+)\)$|^ {6}([\w.-]+)(?: \([^()]+\))?!?$/;
const forms: Record<string, RegExp> = {
  GIT: source,
  GEM: source,
  PATH: source,
  "PLUGIN SOURCE": source,
  PLATFORMS: /^ {2}[\w.-]+$/,
  "RUBY VERSION": /^ {2,3}[\w. ]+$/,
  "BUNDLED WITH": /^ {2,3}[\w.]+$/,
  DEPENDENCIES: /^ {2}([\w.-]+)(?: \([^()]+\))?!?$/,
  CHECKSUMS: /^ {2}([\w.-]+) \(([\w.-]+)\)((?:[ ,](?:sha256|sha512|md5)=[\da-f]+)*)$/,
};

/** Reads `Gemfile.lock` and `gems.locked`. */
export function bundlerLock(text: string, { folder }: Surroundings): Lock {
  const sections = text.split(/\n(?=\S)/).map((section) => {
    const [kind = "", ...lines] = section.split("\n");
    const form = (Object.hasOwn(forms, kind) ? forms[kind] : undefined) ?? refuse("an unknown section");
    return {
      kind,
      found: lines.filter(Boolean).map((line) => form.exec(line) ?? refuse("a line of an unknown form")),
    };
  });
  const of = (wanted: string) => sections.flatMap(({ kind, found }) => (kind === wanted ? found : []));
  const roots = new Set(of("DEPENDENCIES").map(([, name]) => name));
  const sums = new Map(of("CHECKSUMS").map(([, name, version, list = ""]) => [`${name} (${version})`, list]));
  const specs = sections
    .filter(({ kind }) => forms[kind] === source)
    .flatMap(({ kind, found }) => specsOf(kind, found, folder));
  once(specs.map(({ id }) => id));
  const named = groupOf(specs.map(({ id, name }) => [name, id]));
  const entries = specs.map(({ needs, ...one }) =>
    entryOf({
      ...one,
      line: one.id,
      isRoot: roots.has(one.name),
      fixed: needs.map((name) => [name, ""]),
      needs,
      hashes: [...(sums.get(one.id) ?? "").matchAll(/(\w+)=(\w+)/g)].map(([, how, hash = ""]) => [
        `gem ${how}`,
        hash,
      ]),
    }),
  );
  return { entries, named };
}

function specsOf(kind: string, found: readonly string[][], folder: string) {
  const fields = groupOf(
    found.flatMap(([, key, value = ""]) => (key === undefined ? [] : [[key, value] as const])),
  );
  const from = sourceOf(kind, fields, folder);
  const specs: (Omit<Source, "needs"> & Pick<LockEntry, "id" | "name" | "version"> & { needs: string[] })[] =
    [];
  for (const [, , , name, version = "", need] of found) {
    if (name !== undefined) specs.push({ ...from, id: `${name} (${version})`, name, version, needs: [] });
    if (need !== undefined) specs.at(-1)?.needs.push(need);
  }
  return specs;
}

function sourceOf(kind: string, fields: Map<string, Set<string>>, folder: string): Source {
  if (kind === "PLUGIN SOURCE") refuse("packages of a plugin");
  const remotes = [...(fields.get("remote") ?? [])];
  const [remote = "", ...more] = remotes;
  if (kind === "PATH" && more.length === 0) return fileIn(folder, remote);
  const repository = kind === "GIT" && more.length === 0 ? repositoryAt(remote) : null;
  if (repository !== null) return { ...repository, commit: [...(fields.get("revision") ?? [])].join() };
  const found = kind === "GEM" ? remotes.map(plainAddress) : [null];
  if (remote === "" || found.includes(null)) return strange(`${kind} ${remotes.join(" and ")}`);
  // With several of them, any one may have the gem.
  const places = found.map((one) =>
    one?.host === "rubygems.org" && one.path === "" ? DEFAULT : `${one?.host}${one?.path}`,
  );
  return { kind: "registry", places };
}

const sumLine = /^([\w.~-]+(?:\/[\w.~!+-]+)*) (v[\w.+-]+)(\/go\.mod)? h1:([A-Za-z\d+/]{42,43}=)$/;

/** Reads `go.sum` and `go.work.sum`. A module's name is its address, and `go.mod`, which is reviewed, decides what is installed. */
export function goSum(text: string): Lock {
  const lines = text.split("\n").filter((line) => line !== "");
  const entries = lines.map((line, at) => {
    const [, name = "", version = "", manifest = "", hash = ""] =
      sumLine.exec(line) ?? refuse("a line of an unknown form");
    return entryOf({
      id: String(at),
      name,
      version: version + manifest,
      line,
      hashes: [["module h1", hash]],
    });
  });
  return { entries };
}
