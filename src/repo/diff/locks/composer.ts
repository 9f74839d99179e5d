import { z } from "zod";
import {
  entryOf,
  exactFileAt,
  fileIn,
  groupOf,
  type Lock,
  repositoryAt,
  type Source,
  type Surroundings,
  strange,
} from "./lock.ts";
import { closed, dict, fields, json, maybe, once, shaped, Text, Word } from "./parse.ts";

const Reference = Text.nullish().transform((text) => text ?? "");
const From = closed({ type: Text, url: Text, reference: Reference, shasum: Reference });
/** What Composer does with a package; the same version always has the same. */
const effects =
  "require replace provide conflict bin type extra autoload include-path target-dir php-ext transport-options";
const Links = dict(Text).or(z.array(z.unknown())).optional();
const Name = Text.regex(/^[\w-]+(?:\.[\w-]+)*\/[\w-]+(?:\.[\w-]+)*$/).transform((name) => name.toLowerCase());
const Package = closed(
  {
    name: Name,
    version: Word,
    ...fields("require replace provide", Links),
    source: From.optional(),
    dist: From.optional(),
  },
  `${effects.replace("require replace provide ", "")} require-dev suggest autoload-dev notification-url license authors description homepage keywords support funding time default-branch abandoned archive installation-source non-feature-branches scripts`,
);
const File = closed(
  { packages: z.array(Package), "packages-dev": z.array(Package).nullish(), ...maybe("content-hash") },
  "_readme hash aliases minimum-stability stability-flags prefer-stable prefer-lowest platform platform-dev platform-overrides plugin-api-version",
);

/** Reads `composer.lock`. A package has a repository and an archive of one of its commits. */
export function composerLock(text: string, { folder }: Surroundings): Lock {
  const file = shaped(File, json(text));
  const all = [...file.packages, ...(file["packages-dev"] ?? [])];
  once(all.map(({ name }) => name));
  const namesIn = (links: z.infer<typeof Links>) =>
    Object.keys(links ?? {}).map((name) => name.toLowerCase());
  const named = groupOf(
    all.flatMap(({ name, replace, provide }) =>
      [name, ...namesIn(replace), ...namesIn(provide)].map((one) => [one, name] as const),
    ),
  );
  const entries = all.map(({ name, version: written, source, dist, ...rest }) => {
    const commit = source?.reference ?? dist?.reference ?? "";
    // Branches move, so each of their commits is a version.
    const version = /^dev-|-dev$/.test(written) ? `${written} ${commit}` : written;
    const sum = dist?.shasum ?? "";
    const facts = Object.entries({ ...rest, source: source?.type, dist: dist?.type });
    return entryOf({
      id: name,
      name,
      version,
      line: `"name": "${name}",`,
      ...sourceOf(source, dist, folder),
      // The hash of a folder changes with its files, which are reviewed.
      hashes:
        dist?.type === "path"
          ? []
          : [
              ["source commit", commit],
              [sum === "" ? "archive none" : "archive sha1", sum],
            ],
      needs: namesIn(rest.require),
      fixed: facts
        .filter(([key]) => ` ${effects} source dist `.includes(` ${key} `))
        .map(([key, value]) => [key, JSON.stringify(value)]),
    });
  });
  return { entries, named, manifest: file["content-hash"] };
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
  const archive = dist === undefined ? { places: [] } : form === undefined ? exactFileAt(dist.url) : named;
  const repository =
    source === undefined ? { places: [] } : (repositoryAt(source.url) ?? strange(source.url));
  // Elsewhere, the reference of an archive can be anything.
  const commits = new Set([commit, ...(form === undefined ? [] : [dist?.reference, source?.reference])]);
  commits.delete(undefined);
  const isOther = form !== undefined && source !== undefined && repository.places[0] !== archive.places[0];
  const faults = [archive, repository].map((one: Partial<Source>) => one.fault);
  const fault =
    commits.size > 1 || isOther
      ? "has an archive of another commit or repository"
      : (faults.find(Boolean) ?? null);
  return { kind: "repository", places: [...new Set([...repository.places, ...archive.places])], fault };
}
