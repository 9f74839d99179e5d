import { z } from "zod";
import { DEFAULT, groupOf, type Lock, type LockEntry } from "./lock.ts";
import { type NodePackage, nodeEntries } from "./node.ts";
import { closed, dict, Maybe, refuse, shaped, Text, Texts, yaml } from "./parse.ts";
import { fileIn, strange } from "./place.ts";

/** Reads `yarn.lock` of Yarn 1, which has a format of its own, and of later versions, which is YAML. */
export const yarnLock = (text: string, folder: string): Lock =>
  /^__metadata:$/m.test(text) ? modern(text, folder) : classic(text, folder);

const nameAt = String.raw`((?:@[\w.~-]+\/)?[\w.~-]+)@`;
const patternForm = new RegExp(`^${nameAt}(.*)$`);
const aliasForm = new RegExp(`^npm:${nameAt}`);

/** What the patterns of a key ask for: `left-pad@^1.0.0`, `pad@npm:left-pad@^1.0.0`. They must all ask for the same package. */
function asksOf(patterns: readonly string[]): { name: string; asked: string[]; more: Partial<LockEntry> } {
  const parts = patterns.map(
    (pattern) => patternForm.exec(pattern) ?? refuse("a package with an unusual name"),
  );
  const names = new Set(parts.map(([, used = "", range = ""]) => aliasForm.exec(range)?.[1] ?? used));
  const [name = refuse("a package without a name")] = names;
  const more = names.size > 1 ? { fault: `stands for several packages (${[...names].join(", ")})` } : {};
  return { name, asked: parts.map(([, , range = ""]) => range), more };
}

const string = String.raw`(?:"(?:[^"\\]|\\["\\/])*"|[^\s",:#][^\s",]*)`;
const keyLine = new RegExp(`^${string}(?:, ${string})*:$`);
const words = new RegExp(string, "g");
const fieldLine = new RegExp(`^( {2}| {4})("[^"\\\\\\s]+"|[^\\s":]+) (${string})$`);
const fields = new Set(["version", "resolved", "integrity", "uid", "registry"]);

const unquoted = (word: string) => (word.startsWith('"') ? String(JSON.parse(word)) : word);

interface Block {
  line: string;
  patterns: string[];
  fields: Map<string, string>;
  needs: Map<string, string>;
}

function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  let isBelow = false;
  for (const line of text.split("\n")) {
    const block = blocks.at(-1);
    const [, indent, key = "", value = ""] = fieldLine.exec(line) ?? [];
    const isNeed = indent === "    ";
    const into = isNeed ? block?.needs : block?.fields;
    if (line === "" || line.startsWith("#")) continue;
    if (keyLine.test(line)) {
      const patterns = (line.slice(0, -1).match(words) ?? []).map(unquoted);
      blocks.push({ line, patterns, fields: new Map(), needs: new Map() });
    } else if (/^ {2}(?:dependencies|optionalDependencies):$/.test(line)) isBelow = true;
    else if (
      into === undefined ||
      indent === undefined ||
      into.has(unquoted(key)) ||
      (isNeed ? !isBelow : !fields.has(key))
    )
      refuse("a line of an unknown form");
    else into.set(unquoted(key), unquoted(value));
    if (!isNeed && !line.endsWith("ependencies:")) isBelow = false;
  }
  return blocks;
}

function classic(text: string, folder: string): Lock {
  const blocks = blocksOf(text);
  const patterns = blocks.flatMap((block) => block.patterns);
  if (new Set(patterns).size < patterns.length) refuse("a package twice");
  const rows = blocks.map(({ line, patterns, fields, needs }): NodePackage => {
    const { name, asked, more } = asksOf(patterns);
    const version = fields.get("version") ?? refuse("a package without a version");
    const resolved = fields.get("resolved") ?? null;
    const [, file, sha1] = /^(https?:.*\/[^/]*)#([\da-f]{1,40})$/.exec(resolved ?? "") ?? [];
    const isArchive = file !== undefined && !/\.git$/.test(file);
    const integrity = [fields.get("integrity"), isArchive ? `sha1-${sha1}` : ""].join(" ");
    const links = [...needs].map(([used, range]) => ({ used, range, to: undefined }));
    const [folderAt] =
      resolved === null ? asked.flatMap((range) => /^(?:file|link):(.*)$/.exec(range)?.[1] ?? []) : [];
    const local = folderAt === undefined ? {} : fileIn(folder, folderAt);
    const address = isArchive ? file : resolved;
    return {
      id: line,
      name,
      version,
      line,
      address,
      integrity,
      links,
      asked: asked.flatMap((range) => [range, range.replace(/#.*/, "")]),
      more: { needs: null, ...local, ...more },
    };
  });
  return { entries: nodeEntries(rows, false, folder) };
}

const Entry = closed(
  {
    ...{
      version: Text,
      resolution: Text,
      checksum: Maybe,
      conditions: Maybe,
      linkType: z.enum(["hard", "soft"]),
    },
    ...{ dependencies: Texts, optionalDependencies: Texts, peerDependencies: Texts },
  },
  "dependenciesMeta peerDependenciesMeta bin languageName",
);
const Metadata = closed({ version: Text, cacheKey: Text.default("") });

/** What a range can be called in a key: patches that Yarn has itself replace packages, and local folders have their owner behind them. */
function namesOf(pattern: string): string[] {
  const [bare = ""] = pattern.split("::");
  const [, of = "", inner = ""] = /^([^:]+)@patch:\1@(.+?)#(?:optional!|~)builtin</.exec(bare) ?? [];
  const range = inner.replace("npm%3A", "");
  return of === "" ? [pattern, bare] : [pattern, bare, `${of}@npm:${range}`, `${of}@${range}`];
}

function modern(text: string, folder: string): Lock {
  const { __metadata, ...rest } = shaped(dict(z.unknown()), yaml(text));
  const { version: settings, cacheKey } = shaped(Metadata, __metadata);
  const all = Object.entries(shaped(dict(Entry), rest)).map(([key, entry]) => ({
    key,
    entry,
    patterns: key.split(", "),
  }));
  const patterns = all.flatMap((one) => one.patterns);
  if (new Set(patterns).size < patterns.length) refuse("a package twice");
  const ids = groupOf(
    all.flatMap(({ key, patterns }) => patterns.flatMap(namesOf).map((name) => [name, key] as const)),
  );
  const rows = all.map(({ key, entry, patterns }): NodePackage => {
    const { name, asked, more } = asksOf(patterns);
    const linksOf = (ranges: Record<string, string>, varies: boolean) =>
      Object.entries(ranges).flatMap(([used, written]) => {
        const range = written.replace(/^npm:(?!.+@)/, "");
        const targets = [
          ...(ids.get(`${used}@${written}`) ?? []),
          ...(ids.get(`${used}@npm:${written}`) ?? []),
          undefined,
        ];
        return targets.map((to) => ({ used, range, varies, to }));
      });
    const [, patched] = /^[^#]*@patch:(.*?)#/.exec(key) ?? [];
    const inner =
      patched === undefined
        ? []
        : [
            ...(ids.get(patched.replace("npm%3A", "npm:")) ??
              ids.get(patched.replace(/@(?!.*@)/, "@npm:")) ??
              []),
          ].map((to) => ({ used: "", range: "", varies: true, to }));
    const [, kind = cacheKey, hash] = /^(?:(\w{1,5})\/)?(\w+)$/.exec(entry.checksum ?? "") ?? [];
    // Yarn ignores checksums of other archives than it makes; old ones stay until a package is fetched.
    if (Number.parseInt(kind, 10) > Number.parseInt(cacheKey, 10)) refuse("a checksum of an unknown kind");
    const hashes = hash === undefined ? new Map() : new Map([[`archive ${kind}`, new Set([hash])]]);
    // There is no checksum of a package for other systems that nobody has fetched.
    const unfetched =
      entry.conditions !== undefined && hash === undefined
        ? ({ kind: "address", places: [DEFAULT] } as const)
        : {};
    const found = resolved(name, entry, asked, folder);
    return {
      ...{
        id: key,
        name,
        line: `"${key}":`,
        integrity: undefined,
        asked: asked.map((range) => range.replace("#commit=", "#")),
      },
      links: [
        ...linksOf({ ...entry.dependencies, ...entry.optionalDependencies }, entry.linkType === "soft"),
        ...linksOf(entry.peerDependencies, false),
        ...inner,
      ],
      ...{
        version: found.version ?? entry.version,
        address: found.address ?? null,
        more: { hashes, ...unfetched, ...found.more, ...more },
      },
    };
  });
  return { entries: nodeEntries(rows, false, folder), settings };
}

interface Resolved {
  version?: string;
  address?: string | null;
  more?: Partial<LockEntry>;
}

/** What a resolution names: `left-pad@npm:1.3.0`, `core@workspace:packages/core`. */
function resolved(
  name: string,
  { resolution, version }: z.infer<typeof Entry>,
  asked: readonly string[],
  folder: string,
): Resolved {
  const [, found, reference = ""] = patternForm.exec(resolution) ?? [];
  const [, bare = "", written = ""] = /^(.*?)(?:::(.*))?$/.exec(reference) ?? [];
  const settings = new URLSearchParams(written);
  const [, kind = "", rest = ""] = /^(\w+):(?!\/\/)(.*)$/.exec(bare) ?? [];
  if (found !== name) return { more: { fault: "is resolved to another package" } };
  if (kind === "npm")
    return {
      address: settings.get("__archiveUrl"),
      more: rest === version ? {} : { fault: "is resolved to another version" },
    };
  if (kind === "workspace") return { more: { isRoot: true, ...fileIn(folder, rest) } };
  if (/^(?:link|portal|file)$/.test(kind)) {
    const [, owner = "."] = /@workspace:([\w./-]+)$/.exec(settings.get("locator") ?? "") ?? [];
    return { more: fileIn(`${folder}/${owner}`, rest.replace(/#.*/, "")) };
  }
  if (kind !== "patch")
    return kind === "" || kind === "git" || kind === "ssh" || /^git/.test(kind)
      ? { address: bare.replace("#commit=", "#") }
      : { more: strange(bare) };
  const [, of = "", patches = ""] = /^(.*?)#(.*)$/.exec(rest) ?? [];
  const isOwn = patches.split("&").every((patch) => {
    const path = patch.replace(/^(?:optional!|~(?!\/))*/, "");
    return (
      /^builtin<compat\/[\w-]+>$/.test(path) || fileIn(folder, path.replace(/^~\//, "")).kind === "folder"
    );
  });
  const isAsked = of === `${name}@npm%3A${version}` && asked.every((range) => range.startsWith("patch:"));
  const fault = "is a patch that nobody asks for, of another package, or outside of the reviewed code";
  return { version: `${version} patched ${settings.get("hash")}`, more: isOwn && isAsked ? {} : { fault } };
}
