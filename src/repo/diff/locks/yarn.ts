import { z } from "zod";
import { DEFAULT, fileIn, groupOf, type Lock, type LockEntry, type Surroundings, strange } from "./lock.ts";
import { type NodePackage, nodeEntries } from "./node.ts";
import { closed, dict, fields, maybe, once, refuse, shaped, Text, Texts, yaml } from "./parse.ts";

/** Reads `yarn.lock` of Yarn 1, which has a format of its own, and of later versions, which is YAML. */
export const yarnLock = (text: string, around: Surroundings): Lock =>
  /^__metadata:$/m.test(text) ? modern(text, around) : classic(text, around);

const nameAt = String.raw`((?:@[\w.~-]+\/)?[\w.~-]+)@`;
const patternForm = new RegExp(`^${nameAt}(.*)$`);
const aliasForm = new RegExp(`^npm:${nameAt}`);

/** What the patterns of a key ask for: `left-pad@^1.0.0`, `pad@npm:left-pad@^1.0.0`. They must all ask for the same package. */
function asksOf(
  patterns: readonly string[],
  manifest: string,
): { name: string; asked: string[]; more: Partial<LockEntry> } {
  const parts = patterns.map(
    (pattern) => patternForm.exec(pattern) ?? refuse("a package with an unusual name"),
  );
  const all = new Set(parts.map(([, used = "", range = ""]) => aliasForm.exec(range)?.[1] ?? used));
  // A resolution of the manifest.
  const inManifest = new Set([...all].filter((one) => manifest.includes(`"npm:${one}@`)));
  const names = inManifest.size === 1 ? inManifest : all;
  const [name = refuse("a package without a name")] = names;
  const more = names.size > 1 ? { fault: `stands for several packages (${[...names].join(", ")})` } : {};
  return { name, asked: parts.map(([, , range = ""]) => range), more };
}

const string = String.raw`(?:"(?:[^"\\]|\\["\\/])*"|[^\s",:#][^\s",]*)`;
const keyLine = new RegExp(`^${string}(?:, ${string})*:$`);
const words = new RegExp(string, "g");
const fieldLine = new RegExp(
  `^(?: {2}(version|resolved|integrity|uid|registry)| {4}(${string})) (${string})$`,
);

const unquoted = (word: string) => (word.startsWith('"') ? String(JSON.parse(word)) : word);

interface Block {
  line: string;
  patterns: string[];
  /** By name; those of dependencies begin with a space. */
  fields: Map<string, string>;
}

/** One entry of the first format; null for a comment. */
function blockOf(text: string): Block | null {
  const [line = "", ...lines] = text.split("\n").filter((one) => one !== "");
  if (/^(?:#|$)/.test(line) && lines.length === 0) return null;
  const fields = new Map<string, string>();
  let isBelow = false;
  for (const one of lines) {
    const isHeading = /^ {2}(?:dependencies|optionalDependencies):$/.test(one);
    const [, field, need = "", value = ""] = isHeading
      ? []
      : (fieldLine.exec(one) ?? refuse("a line of an unknown form"));
    isBelow = isHeading || (isBelow && field === undefined);
    const key = field ?? ` ${unquoted(need)}`;
    if (!isHeading && (fields.has(key) || isBelow === (field !== undefined)))
      refuse("a field twice, or at an unusual place");
    if (!isHeading) fields.set(key, unquoted(value));
  }
  if (!keyLine.test(line)) refuse("a line of an unknown form");
  return { line, patterns: (line.slice(0, -1).match(words) ?? []).map(unquoted), fields };
}

function classic(text: string, around: Surroundings): Lock {
  const blocks = text.split(/\n(?=\S)/).flatMap((block) => blockOf(block) ?? []);
  once(blocks.flatMap(({ patterns }) => patterns));
  const rows = blocks.map(({ line, patterns, fields }): NodePackage => {
    const { name, asked, more } = asksOf(patterns, around.manifest);
    const version = fields.get("version") ?? refuse("a package without a version");
    const resolved = fields.get("resolved") ?? "";
    const [, file, sha1] = /^((?:https?|file):.*\/[^/]*(?<!\.git))#([\da-f]{1,40})$/.exec(resolved) ?? [];
    const links = [...fields].flatMap(([key, range]) =>
      key.startsWith(" ") ? [{ used: key.slice(1), range, to: undefined }] : [],
    );
    const [, local] =
      (resolved === "" ? asked : []).map((range) => /^(?:file|link):(.*)$/.exec(range)).find(Boolean) ?? [];
    return {
      id: line,
      name,
      version,
      line,
      links,
      asked: asked.flatMap((range) => [range, range.replace(/#.*/, "")]),
      address: file ?? (resolved === "" ? null : resolved),
      integrity: `${fields.get("integrity") ?? ""} ${file === undefined ? "" : `sha1-${sha1}`}`,
      more: { needs: null, ...(local === undefined ? {} : fileIn(around.folder, local)), ...more },
    };
  });
  return { entries: nodeEntries(rows, false, around) };
}

const Entry = closed(
  {
    version: Text,
    resolution: Text,
    ...maybe("checksum conditions"),
    linkType: z.enum(["hard", "soft"]),
    ...fields("dependencies optionalDependencies peerDependencies bin", Texts),
  },
  "dependenciesMeta peerDependenciesMeta languageName",
);
const Metadata = closed({ version: Text, cacheKey: Text.default("") });

/** What a range can be called in a key: patches that Yarn has itself replace packages, and local folders have their owner behind them. */
function namesOf(pattern: string): string[] {
  const [bare = ""] = pattern.split("::");
  const [, of = "", inner = ""] = /^([^:]+)@patch:\1@(.+?)#(?:optional!|~)builtin</.exec(bare) ?? [];
  const range = inner.replace("npm%3A", "");
  return of === "" ? [pattern, bare] : [pattern, bare, `${of}@npm:${range}`, `${of}@${range}`];
}

function modern(text: string, around: Surroundings): Lock {
  const { __metadata, ...rest } = shaped(dict(z.unknown()), yaml(text));
  const { version: settings, cacheKey } = shaped(Metadata, __metadata);
  const all = Object.entries(shaped(dict(Entry), rest));
  const patterns = all.flatMap(([key]) => key.split(", ").map((pattern) => ({ key, pattern })));
  once(patterns.map(({ pattern }) => pattern));
  const ids = groupOf(
    patterns.flatMap(({ key, pattern }) => namesOf(pattern).map((name) => [name, key] as const)),
  );
  const find = (...names: string[]) => names.flatMap((name) => [...(ids.get(name) ?? [])]);
  const byName = groupOf(patterns.map(({ key, pattern }) => [pattern.replace(/(?!^)@.*/, ""), key] as const));
  const linksOf = (ranges: Record<string, string>, varies: boolean) =>
    Object.entries(ranges).flatMap(([used, written]) => {
      const range = written.replace(/^npm:(?!.+@)/, "");
      const exact = find(`${used}@${written}`, `${used}@npm:${written}`);
      // Resolutions and catalogs put other ranges into the keys.
      return [...(exact.length > 0 ? exact : (byName.get(used) ?? [])), undefined].map((to) => ({
        used,
        range,
        varies,
        to,
      }));
    });
  const rows = all.map(([key, entry]): NodePackage => {
    const { name, asked, more } = asksOf(key.split(", "), around.manifest);
    const { dependencies, optionalDependencies, peerDependencies, linkType } = entry;
    const [, patched = ""] = /^[^#]*@patch:(.*?)#/.exec(key) ?? [];
    const inner = find(patched.replace("npm%3A", "npm:"), patched.replace(/@(?!.*@)/, "@npm:"));
    return {
      id: key,
      name,
      line: `"${key}":`,
      bin: entry.bin,
      asked: asked.map((range) => range.replace("#commit=", "#")),
      links: [
        ...linksOf({ ...dependencies, ...optionalDependencies }, linkType === "soft"),
        ...linksOf(peerDependencies, false),
        ...inner.map((to) => ({ used: "", range: "", varies: true, to })),
      ],
      ...resolved(name, entry, asked, around.folder, { ...hashOf(entry, cacheKey), ...more }),
    };
  });
  return { entries: nodeEntries(rows, false, around), settings, isOpen: true };
}

function hashOf({ checksum = "", conditions }: z.infer<typeof Entry>, cacheKey: string): Partial<LockEntry> {
  // There is none of a package for other systems that nobody has fetched.
  if (checksum === "") return conditions === undefined ? {} : { kind: "address", places: [DEFAULT] };
  const [, kind = cacheKey, hash = ""] =
    /^(?:(\w{1,5})\/)?(\w+)$/.exec(checksum) ?? refuse("a hash of an unknown form");
  // Old ones stay until a package is fetched again, and Yarn does not compare any others.
  if (Number.parseInt(kind, 10) > Number.parseInt(cacheKey, 10)) refuse("a hash of an unknown kind");
  return { hashes: [[`archive ${kind}`, hash]] };
}

/** What a resolution names: `left-pad@npm:1.3.0`, `core@workspace:packages/core`. */
function resolved(
  name: string,
  { resolution, version }: z.infer<typeof Entry>,
  asked: readonly string[],
  folder: string,
  more: Partial<LockEntry>,
): Pick<NodePackage, "version" | "address" | "more"> {
  const [, found, reference = ""] = patternForm.exec(resolution) ?? [];
  const [, bare = "", written = ""] = /^(.*?)(?:::(.*))?$/.exec(reference) ?? [];
  const settings = new URLSearchParams(written);
  const [, kind = "", rest = ""] = /^(\w+):(?!\/\/)(.*)$/.exec(bare) ?? [];
  const [of = "", patches = ""] = rest.split("#");
  const [, owner = "."] = /@workspace:([\w./-]+)$/.exec(settings.get("locator") ?? "") ?? [];
  if (found !== name) return { version, more: { ...more, fault: "is resolved to another package" } };
  if (kind === "npm") {
    const fault = rest === version ? {} : { fault: "is resolved to another version" };
    return { version, address: settings.get("__archiveUrl"), more: { ...more, ...fault } };
  }
  if (kind === "workspace") return { version, more: { ...more, isRoot: true, ...fileIn(folder, rest) } };
  if (/^(?:link|portal|file)$/.test(kind))
    return { version, more: { ...more, ...fileIn(`${folder}/${owner}`, of) } };
  if (kind === "" || /^(?:git|ssh|github)$/.test(kind))
    return { version, address: bare.replace("#commit=", "#"), more };
  if (kind !== "patch") return { version, more: { ...more, ...strange(bare) } };
  const isRead = (path: string) =>
    /^builtin<compat\/[\w-]+>$/.test(path) || fileIn(folder, path.replace(/^~\//, "")).kind === "folder";
  const isOwn = patches.split("&").every((patch) => isRead(patch.replace(/^(?:optional!|~(?!\/))*/, "")));
  const isAsked =
    of === `${name}@npm%3A${version}` &&
    asked.every((range) => range.startsWith("patch:") && range.replace(/::.*/, "").split("#")[1] === patches);
  const fault = {
    fault: "is a patch that nobody asks for, of another package, or outside of the reviewed code",
  };
  return {
    version: `${version} patched ${settings.get("hash")}`,
    more: { ...more, ...(isOwn && isAsked ? {} : fault) },
  };
}
