import { z } from "zod";
import {
  DEFAULT,
  entryOf,
  groupOf,
  type Lock,
  plainAddress,
  repositoryAt,
  type Source,
  strange,
} from "./lock.ts";
import { closed, dict, listOf, maybe, once, refuse, shaped, Text, toml, Word } from "./parse.ts";

const Hash = Text.regex(/^(?:[\da-f]{64}|<none>)$/).optional();
const Package = closed({
  name: Word,
  version: Word,
  ...maybe("source replace"),
  checksum: Hash,
  dependencies: listOf(Text),
});
const File = closed(
  {
    version: z.literal([3, 4]).optional(),
    package: z.array(Package),
    metadata: dict(Hash).default({}),
    patch: closed({ unused: listOf(Package) }).default({ unused: [] }),
  },
  "root",
);

/** Reads `Cargo.lock` of all versions. Packages without a source are in the repository; Cargo only takes them from where manifests say. */
export function cargoLock(text: string): Lock {
  const { package: packages, metadata, patch } = shaped(File, toml(text));
  const all = [...packages, ...patch.unused].map((one) => {
    const bare = `${one.name} ${one.version}`;
    return { ...one, bare, id: one.source === undefined ? bare : `${bare} (${one.source})` };
  });
  once(all.map(({ id }) => id));
  // Dependencies have as much of it as is needed to tell packages apart.
  const named = groupOf(
    all.flatMap(({ id, name, bare }) => [name, bare, id].map((key) => [key, id] as const)),
  );
  const entries = all.map(({ id, name, version, source, dependencies, replace, checksum: own }, at) => {
    const listed = metadata[`checksum ${id}`];
    const checksum =
      own !== undefined && listed !== undefined ? refuse("two hashes of one package") : (own ?? listed);
    return entryOf({
      id,
      name,
      version,
      line: `name = "${name}"\nversion = "${version}"`,
      ...sourceOf(source),
      isRoot: source === undefined || at >= packages.length,
      needs: [...dependencies, ...(replace === undefined ? [] : [replace])],
      hashes: checksum === undefined || checksum === "<none>" ? [] : [["crate sha256", checksum]],
      fixed: replace === undefined ? [] : [["replacement", replace]],
    });
  });
  return { entries, named };
}

/** Cargo's own index, by git and by HTTP. */
const cratesIo = new Set([
  "registry+https://github.com/rust-lang/crates.io-index",
  "sparse+https://index.crates.io/",
]);
const sourceForm =
  /^(registry|sparse|git)\+([^?#]*)(?:\?((?:branch|tag|rev)=[\w./%+-]+))?(?:#([\da-f]{40,64}))?$/;

function sourceOf(source: string | undefined): Source {
  if (source === undefined) return { kind: "folder", places: [] };
  if (cratesIo.has(source)) return { kind: "registry", places: [DEFAULT] };
  const [, kind, address = "", asked = "", commit = ""] = sourceForm.exec(source) ?? [];
  const plain = plainAddress(address);
  if (/^(?:registry|sparse)$/.test(kind ?? "") && plain !== null && asked + commit === "")
    return { kind: "registry", places: [plain.host + plain.path] };
  const repository = kind === "git" && commit !== "" ? repositoryAt(address) : null;
  if (repository === null) return strange(source);
  const [, wanted = ""] = /^rev=([\da-f]{7,64})$/.exec(asked) ?? [];
  const fault = commit.startsWith(wanted) ? null : "is at another commit than the one that is asked for";
  return { ...repository, commit, fault };
}
