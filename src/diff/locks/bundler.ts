import { DEFAULT, entryOf, groupOf, type Lock, type LockEntry } from "./lock.ts";
import { refuse } from "./parse.ts";
import { fileIn, plainAddress, repositoryAt, type Source, strange } from "./place.ts";

const word = String.raw`([\w.-]+)`;
const headings =
  /^(?:GIT|GEM|PATH|PLUGIN SOURCE|PLATFORMS|DEPENDENCIES|RUBY VERSION|BUNDLED WITH|CHECKSUMS)$/;
const fieldLine = /^ {2}(remote|revision|branch|tag|ref|submodules|glob|type): (.+)$/;
const specLine = new RegExp(String.raw`^ {4}${word} \(${word}\)$`);
const needLine = new RegExp(String.raw`^ {6}${word}(?: \([^()]+\))?!?$`);
const rootLine = new RegExp(String.raw`^ {2}${word}(?: \([^()]+\))?!?$`);
const checksumLine = new RegExp(
  String.raw`^ {2}${word} \(${word}\)((?:[ ,](?:sha256|sha512|md5)=[\da-f]+)*)$`,
);

/** Reads `Gemfile.lock` and `gems.locked`. */
export function bundlerLock(text: string, folder: string): Lock {
  const specs: {
    id: string;
    name: string;
    version: string;
    line: string;
    needs: string[];
    fields: [string, string][];
    kind: string;
  }[] = [];
  const roots = new Set<string>();
  const hashes = new Map<string, LockEntry["hashes"]>();
  let [kind, fields]: [string, [string, string][]] = ["", []];
  for (const line of text.split("\n")) {
    const [, field, value = ""] = fieldLine.exec(line) ?? [];
    const [, name, version = ""] = specLine.exec(line) ?? [];
    const [, need] = needLine.exec(line) ?? [];
    const [, root] = rootLine.exec(line) ?? [];
    const [, of, at, list = ""] = checksumLine.exec(line) ?? [];
    const isSource = /^(?:G|PATH|PLUGIN)/.test(kind);
    if (headings.test(line)) [kind, fields] = [line, []];
    else if (isSource && field !== undefined) fields.push([field, value]);
    else if (isSource && name !== undefined)
      specs.push({ id: `${name} ${version}`, name, version, line: line.trim(), needs: [], fields, kind });
    else if (isSource && need !== undefined) specs.at(-1)?.needs.push(need);
    else if (kind === "DEPENDENCIES" && root !== undefined) roots.add(root);
    else if (kind === "CHECKSUMS" && of !== undefined)
      hashes.set(
        `${of} ${at}`,
        groupOf(
          [...list.matchAll(/(\w+)=(\w+)/g)].map(([, algorithm = "", hash = ""]) => [
            `gem ${algorithm}`,
            hash,
          ]),
        ),
      );
    else if (
      !(
        line === "" ||
        (isSource && line === "  specs:") ||
        (/^[PRB].*[A-Z]$/.test(kind) && /^ {2,3}[\w. -]+$/.test(line))
      )
    )
      refuse("a line of an unknown form");
  }
  if (new Set(specs.map(({ id }) => id)).size < specs.length) refuse("a package twice");
  const ids = groupOf(specs.map(({ name, id }) => [name, id]));
  const entries = specs.map(({ kind, fields, needs, ...one }) =>
    entryOf({
      ...{
        ...one,
        ...sourceOf(kind, groupOf(fields), folder),
        hashes: hashes.get(one.id) ?? new Map(),
        isRoot: roots.has(one.name),
      },
      ...{
        needs: needs.flatMap((name) => [...(ids.get(name) ?? [])]),
        fixed: new Map(needs.map((name) => [name, ""])),
      },
    }),
  );
  return { entries };
}

function sourceOf(kind: string, fields: Map<string, Set<string>>, folder: string): Source {
  const remotes = [...(fields.get("remote") ?? [])];
  const [remote = ""] = remotes;
  if (kind === "PATH" && remotes.length === 1) return fileIn(folder, remote);
  const repository = kind === "GIT" && remotes.length === 1 ? repositoryAt(remote) : null;
  if (repository !== null) return { ...repository, commit: [...(fields.get("revision") ?? [])].join() };
  const found = kind === "GEM" ? remotes.map(plainAddress) : [];
  if (found.length === 0 || found.includes(null)) return strange(`${kind} ${remotes.join(" and ")}`);
  // With several of them, any one may have the gem.
  const names = found.map((one) => (one?.host === "rubygems.org" ? DEFAULT : `${one?.host}${one?.path}`));
  return { kind: "registry", places: [names.toSorted().join(" or ")] };
}
