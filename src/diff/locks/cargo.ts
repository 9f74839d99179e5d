import { z } from "zod";
import { DEFAULT, entryOf, groupOf, HERE, type Lock } from "./lock.ts";
import { closed, dict, Maybe, refuse, shaped, Text, toml, Word } from "./parse.ts";
import { plainAddress, repositoryAt, type Source, strange } from "./place.ts";

const Hash = z
  .string()
  .regex(/^(?:[\da-f]{64}|<none>)$/)
  .optional();
const Package = closed(
  { name: Word, version: Word, source: Maybe, checksum: Hash, dependencies: z.array(Text).default([]) },
  "replace",
);
const File = closed(
  {
    ...{ version: z.literal([3, 4]).optional(), package: z.array(Package), metadata: dict(Hash).default({}) },
    patch: closed({ unused: z.array(Package) }).default({ unused: [] }),
  },
  "root",
);

/** Reads `Cargo.lock` of all versions. Packages without a source are in the repository, in folders that manifests name. */
export function cargoLock(text: string): Lock {
  const { package: packages, metadata, patch } = shaped(File, toml(text));
  const named = (one: z.infer<typeof Package>, isUnused: boolean) => ({
    ...one,
    isUnused,
    id: `${one.name} ${one.version}${one.source === undefined ? "" : ` (${one.source})`}`,
  });
  const all = [...packages.map((one) => named(one, false)), ...patch.unused.map((one) => named(one, true))];
  // Dependencies have as much of it as is needed to tell packages apart.
  const ids = groupOf(
    all.flatMap(({ id, name, version }) => [name, `${name} ${version}`, id].map((key) => [key, id] as const)),
  );
  if (new Set(all.map(({ id }) => id)).size < all.length) refuse("a package twice");
  const entries = all.map(
    ({ id, name, version, source, isUnused, dependencies, checksum = metadata[`checksum ${id}`] }) =>
      entryOf({
        ...{ id, name, version, line: `name = "${name}"\nversion = "${version}"`, ...sourceOf(source) },
        ...{
          isRoot: source === undefined || isUnused,
          needs: dependencies.flatMap((need) => [...(ids.get(need) ?? [])]),
        },
        hashes: groupOf(checksum === undefined || checksum === "<none>" ? [] : [["crate sha256", checksum]]),
      }),
  );
  return { entries };
}

function sourceOf(source: string | undefined): Source {
  if (source === undefined) return { kind: "folder", places: [HERE] };
  // Cargo's own index, by git and by HTTP.
  if (
    /^(?:registry\+https:\/\/github\.com\/rust-lang\/crates\.io-index|sparse\+https:\/\/index\.crates\.io\/)$/.test(
      source,
    )
  )
    return { kind: "registry", places: [DEFAULT] };
  const [, kind, address = "", asked = "", commit = ""] =
    /^(registry|sparse|git)\+([^?#]*)(?:\?((?:branch|tag|rev)=[\w./%+-]+))?(?:#([\da-f]{40,64}))?$/.exec(
      source,
    ) ?? [];
  const { host, path } = plainAddress(address) ?? {};
  const repository = repositoryAt(address);
  if (kind !== "git")
    return kind === undefined || host === undefined || asked + commit !== ""
      ? strange(source)
      : { kind: "registry", places: [host + path] };
  const [, wanted = ""] = /^rev=([\da-f]{7,64})$/.exec(asked) ?? [];
  if (repository === null || commit === "") return strange(source);
  return {
    ...repository,
    commit,
    ...(commit.startsWith(wanted) ? {} : { fault: "is at another commit than the one that is asked for" }),
  };
}
