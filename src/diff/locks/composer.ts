import { z } from "zod";
import { entryOf, groupOf, type Lock } from "./lock.ts";
import { closed, json, refuse, shaped, Text, Word } from "./parse.ts";
import { fileAt, fileIn, repositoryAt, type Source, strange } from "./place.ts";

const Reference = Text.nullish().transform((text) => text ?? "");
const Source_ = closed({ type: Text, url: Text, reference: Reference });
const Dist = closed({ type: Text, url: Text, reference: Reference, shasum: Reference });
/** What Composer does with a package; the same version always has the same. */
const effects = [
  "require",
  "replace",
  "provide",
  "conflict",
  "bin",
  "type",
  "extra",
  "autoload",
  "include-path",
  "target-dir",
  "php-ext",
];
const Package = closed(
  { name: Word, version: Word, source: Source_.optional(), dist: Dist.optional() },
  `${effects.join(" ")} require-dev suggest autoload-dev notification-url license authors description homepage keywords support funding time default-branch abandoned archive transport-options installation-source non-feature-branches scripts`,
);
const File = closed(
  { packages: z.array(Package), "packages-dev": z.array(Package).nullish() },
  "_readme content-hash hash aliases minimum-stability stability-flags prefer-stable prefer-lowest platform platform-dev platform-overrides plugin-api-version",
);

/** Reads `composer.lock`. A package has a repository and an archive of one of its commits. */
export function composerLock(text: string, folder: string): Lock {
  const file = shaped(File, json(text));
  const all = [...file.packages, ...(file["packages-dev"] ?? [])];
  if (new Set(all.map(({ name }) => name)).size < all.length) refuse("a package twice");
  const entries = all.map(({ name, version: written, source, dist, ...rest }) => {
    const commit = source?.reference ?? dist?.reference ?? "";
    // Branches move, so each of their commits is a version.
    const version = /^dev-|-dev$/.test(written) ? `${written} ${commit}` : written;
    const hashes = groupOf(
      [["source commit", commit] as const, ["archive sha1", dist?.shasum ?? ""] as const].filter(
        ([, hash]) => hash !== "",
      ),
    );
    const fixed = new Map(
      Object.entries(rest)
        .filter(([key]) => effects.includes(key))
        .map(([key, value]) => [key, JSON.stringify(value)]),
    );
    return entryOf({
      id: name,
      name,
      version,
      line: `"name": "${name}",`,
      hashes,
      fixed,
      ...sourceOf(source, dist, folder),
    });
  });
  return { entries };
}

const archives = [
  /^https:\/\/api\.(github\.com)\/repos\/([\w.-]+\/[\w.-]+)\/zipball\/([\da-f]{40})$/,
  /^https:\/\/(gitlab\.com)\/api\/v4\/projects\/([\w.-]+%2F[\w.%-]+)\/repository\/archive\.zip\?sha=([\da-f]{40})$/,
  /^https:\/\/(bitbucket\.org)\/([\w.-]+\/[\w.-]+)\/get\/([\da-f]{40})\.zip$/,
];

function sourceOf(
  source: z.infer<typeof Source_> | undefined,
  dist: z.infer<typeof Dist> | undefined,
  folder: string,
): Source {
  if (source === undefined && dist?.type === "path") return fileIn(folder, dist.url);
  const [, host = "", path = "", commit = dist?.reference] =
    archives.map((form) => form.exec(dist?.url ?? "")).find((found) => found !== null) ?? [];
  const archive =
    dist === undefined || path !== ""
      ? { places: path === "" ? [] : [`${host}/${path.replaceAll("%2F", "/")}`.toLowerCase()] }
      : fileAt(dist.url);
  const repository =
    source === undefined ? { places: [] } : (repositoryAt(source.url) ?? strange(source.url));
  const isOther =
    dist !== undefined &&
    (commit !== dist.reference || (source !== undefined && dist.reference !== source.reference));
  const fault = isOther
    ? "has an archive of another commit"
    : ([archive, repository] as Partial<Source>[]).find((one) => one.fault)?.fault;
  return {
    kind: "repository",
    places: [...new Set([...repository.places, ...archive.places])],
    ...(fault ? { fault } : {}),
  };
}
