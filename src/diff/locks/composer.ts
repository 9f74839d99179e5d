import { z } from "zod";
import { entryOf, type Lock } from "./lock.ts";
import { closed, json, once, shaped, Text, Word } from "./parse.ts";
import { fileAt, fileIn, repositoryAt, type Source, strange } from "./place.ts";

const Reference = Text.nullish().transform((text) => text ?? "");
const From = closed({ type: Text, url: Text, reference: Reference, shasum: Reference });
/** What Composer does with a package; the same version always has the same. */
const effects =
  "require replace provide conflict bin type extra autoload include-path target-dir php-ext transport-options";
const Package = closed(
  { name: Word, version: Word, source: From.optional(), dist: From.optional() },
  `${effects} require-dev suggest autoload-dev notification-url license authors description homepage keywords support funding time default-branch abandoned archive installation-source non-feature-branches scripts`,
);
const File = closed(
  { packages: z.array(Package), "packages-dev": z.array(Package).nullish() },
  "_readme content-hash hash aliases minimum-stability stability-flags prefer-stable prefer-lowest platform platform-dev platform-overrides plugin-api-version",
);

/** Reads `composer.lock`. A package has a repository and an archive of one of its commits. */
export function composerLock(text: string, folder: string): Lock {
  const file = shaped(File, json(text));
  const all = [...file.packages, ...(file["packages-dev"] ?? [])];
  once(all.map(({ name }) => name));
  const entries = all.map(({ name, version: written, source, dist, ...rest }) => {
    const commit = source?.reference ?? dist?.reference ?? "";
    // Branches move, so each of their commits is a version.
    const version = /^dev-|-dev$/.test(written) ? `${written} ${commit}` : written;
    const sum = dist?.shasum ?? "";
    const facts = Object.entries({ ...rest, source: source?.type, dist: dist?.type });
    return entryOf({
      ...{ id: name, name, version, line: `"name": "${name}",`, ...sourceOf(source, dist, folder) },
      // The hash of a folder changes with its files, which are reviewed.
      hashes:
        dist?.type === "path"
          ? []
          : [
              ["source commit", commit],
              [sum === "" ? "archive none" : "archive sha1", sum],
            ],
      fixed: facts
        .filter(([key]) => ` ${effects} source dist `.includes(` ${key} `))
        .map(([key, value]) => [key, JSON.stringify(value)]),
    });
  });
  return { entries };
}

type From = z.infer<typeof From>;
const archives = [
  /^https:\/\/api\.(github\.com)\/repos\/([\w.-]+\/[\w.-]+)\/zipball\/([\da-f]{40})$/,
  /^https:\/\/(gitlab\.com)\/api\/v4\/projects\/([\w.-]+%2F[\w.%-]+)\/repository\/archive\.zip\?sha=([\da-f]{40})$/,
  /^https:\/\/(bitbucket\.org)\/([\w.-]+\/[\w.-]+)\/get\/([\da-f]{40})\.zip$/,
];

function sourceOf(source: From | undefined, dist: From | undefined, folder: string): Source {
  if (source === undefined && dist?.type === "path") return fileIn(folder, dist.url);
  const form = archives.map((one) => one.exec(dist?.url ?? "")).find((one) => one !== null);
  const [, host, path = "", commit = dist?.reference] = form ?? [];
  const named = { places: [`${host}/${path.replaceAll("%2F", "/")}`.toLowerCase()], fault: null };
  const archive = dist === undefined ? { places: [] } : form === undefined ? fileAt(dist.url) : named;
  const repository =
    source === undefined ? { places: [] } : (repositoryAt(source.url) ?? strange(source.url));
  const commits = new Set([commit, dist?.reference, dist === undefined ? undefined : source?.reference]);
  commits.delete(undefined);
  const faults = [archive, repository].map((one: Partial<Source>) => one.fault);
  const fault = commits.size > 1 ? "has an archive of another commit" : (faults.find(Boolean) ?? null);
  return { kind: "repository", places: [...new Set([...repository.places, ...archive.places])], fault };
}
