import { isDeepStrictEqual } from "node:util";
import { sparesIn, whyMisplaced } from "../../config/load-config.ts";
import {
  type ConfigProblem,
  type ParsedConfig,
  parseNestedConfig,
  parseRepoConfig,
} from "../../config/parse-config.ts";
import {
  defaultRepoConfig,
  isEnforced,
  isNearName,
  isNestedName,
  NestedConfig,
  nestedNames,
  type RepoConfig,
  rootPaths,
} from "../../config/repo-config.ts";
import { count } from "../../core/text/count.ts";
import { cutBytes } from "../../core/text/cut.ts";
import { inlineCode } from "../../core/text/fence.ts";
import type { Ref, Workspace } from "../../repo/git/workspace.ts";
import { textOf } from "./own/own-findings.ts";
import { isRuleFile, type OwnRule, parseRuleFiles, whyNot } from "./own/rule-files.ts";

interface ConfigVersion {
  path: string;
  /** Null if it cannot be read as a file: a link, or far too large. */
  text: string | null;
}

type Parsed = ParsedConfig<RepoConfig | NestedConfig>;

const kinds = {
  root: { parse: parseRepoConfig as (text: string) => Parsed, fallback: defaultRepoConfig },
  nested: { parse: parseNestedConfig as (text: string) => Parsed, fallback: NestedConfig.parse({}) },
};

/** Maximum items of a list, problems of a file, and bytes of a value. */
const mostShown = { items: 8, problems: 5, valueBytes: 100 };

/** One sentence for each change of one file; undefined if one revision does not have the file. */
export function describeConfigChange(
  kind: keyof typeof kinds,
  before: ConfigVersion | undefined,
  after: ConfigVersion | undefined,
  inForce: Pick<RepoConfig, "policy"> = {},
): string[] {
  const path = after?.path ?? before?.path ?? "";
  const name = inlineCode(path);
  if (after?.text === null)
    return [`${name} would be a link or too large, and pull requests would not be reviewed.`];
  const old = before?.text == null ? undefined : kinds[kind].parse(before.text);
  const now = after === undefined ? undefined : kinds[kind].parse(after.text);
  if (now?.ok === false) return [wouldBeRefused(name, now.problems)];
  const { fallback } = kinds[kind];
  const where = kind === "root" ? "" : `${name}: `;
  const state = existence(before, after);
  return [
    ...(state === null ? [] : [`${name} would be ${state}${kind === "root" ? instead[state] : "."}`]),
    ...(old?.ok === false ? [`${name} is invalid now, and would be valid.`] : []),
    ...changedKeys(old?.ok ? old.config : fallback, now?.config ?? fallback).map(
      ({ key, change }) => `${where}${change}${isKept(key, inForce) ? KEPT : ""}.`,
    ),
  ];
}

const KEPT = " (has no effect: the policy of the organization enforces this key)";

/** Private paths can be added whatever the policy says. */
const isKept = (key: string, inForce: Pick<RepoConfig, "policy">) =>
  key !== "paths.private" && isEnforced(inForce, key);

/** What applies instead, which decides about private paths too. */
const instead = {
  new: ", and would replace the organization's file if there is one without a `policy`.",
  deleted: ": the organization's file would apply if there is one, otherwise the defaults.",
};

function existence(
  before: ConfigVersion | undefined,
  after: ConfigVersion | undefined,
): keyof typeof instead | null {
  if (before === undefined) return "new";
  return after === undefined ? "deleted" : null;
}

function wouldBeRefused(name: string, problems: readonly ConfigProblem[]): string {
  const shown = problems.slice(0, mostShown.problems).map(({ line, key, message }) => {
    const place = [line === null ? "" : `line ${line}`, key === null ? "" : inlineCode(cutBytes(key, 100))];
    const parts = place.filter((part) => part !== "");
    return parts.length === 0 ? message : `${parts.join(", ")} ${message}`;
  });
  const more = problems.length - shown.length;
  const all = more > 0 ? [...shown, count(more, "more problem")] : shown;
  return `${name} would be invalid, and pull requests would not be reviewed until it is corrected: ${all.join("; ")}.`;
}

function changedKeys(before: object, after: object): { key: string; change: string }[] {
  const [old, now] = [leavesOf(before), leavesOf(after)];
  const keys = [...new Set([...old.keys(), ...now.keys()])];
  return keys.flatMap((key) => {
    const change = changeOf(key, old.get(key), now.get(key));
    return change === undefined ? [] : [{ key, change }];
  });
}

/** The values of a configuration, by dotted key. */
function leavesOf(config: object, path = ""): Map<string, unknown> {
  const leaves = Object.entries(config).flatMap(([name, value]): [string, unknown][] => {
    const key = path === "" ? name : `${path}.${name}`;
    const isGroup = typeof value === "object" && value !== null && !Array.isArray(value);
    return isGroup ? [...leavesOf(value, key)] : [[key, value]];
  });
  return new Map(leaves);
}

function changeOf(key: string, old: unknown, now: unknown): string | undefined {
  if (isDeepStrictEqual(old, now)) return undefined;
  const name = inlineCode(key);
  if (!Array.isArray(old) || !Array.isArray(now)) return `${name}: ${shown(old)} -> ${shown(now)}`;
  const [added, removed] = [without(now, old), without(old, now)];
  const parts = [
    ...(added.length > 0 ? [`added ${listed(added)}`] : []),
    ...(removed.length > 0 ? [`removed ${listed(removed)}`] : []),
  ];
  const isShown = key === "paths.private" && removed.length > 0;
  return `${name}: ${parts.join("; ") || "order changed"}${isShown ? ", which a model may then see" : ""}`;
}

function without(list: readonly unknown[], other: readonly unknown[]): unknown[] {
  const known = new Set(other.map((item) => JSON.stringify(item)));
  return list.filter((item) => !known.has(JSON.stringify(item)));
}

function listed(items: readonly unknown[]): string {
  const some = items.slice(0, mostShown.items).map(shown).join(", ");
  return items.length > mostShown.items
    ? `${some} and ${count(items.length - mostShown.items, "more item")}`
    : some;
}

function shown(value: unknown): string {
  if (value === undefined) return "not set";
  const text = typeof value === "object" && value !== null ? instruction(value) : String(value);
  const cut = cutBytes(text, mostShown.valueBytes);
  return inlineCode(cut.length < text.length ? `${cut}…` : cut);
}

/** Instructions are the only list elements that are objects. */
const instruction = (value: { path?: unknown; text?: unknown }) => `${value.path}: ${value.text}`;

/** Maximum sentences, and files of each kind that are parsed. */
const most = { sentences: 20, files: 10 };

/** Describes what a merge would change about the configuration, one sentence each. The texts are untrusted. */
export async function findConfigChanges(
  workspace: Pick<Workspace, "changes" | "tree" | "readBlob">,
  inForce: Pick<RepoConfig, "policy"> = {},
): Promise<string[]> {
  const changes = await workspace.changes();
  const touched = [
    ...new Set(changes.flatMap(({ path, oldPath }) => (oldPath === null ? [path] : [path, oldPath]))),
  ];
  const places = [...new Set(touched.flatMap(folderOf))];
  const rules = touched.filter(isRuleFile);
  const sentences: string[] = [];
  for (const place of places.slice(0, most.files))
    sentences.push(...(await changesAt(place, workspace, inForce)));
  for (const path of rules.slice(0, most.files)) sentences.push(...(await ruleChangesAt(path, workspace)));
  const left = [places, rules].reduce((sum, { length }) => sum + Math.max(0, length - most.files), 0);
  if (left > 0) sentences.push(`Further files of the configuration change as well: ${left}.`);
  const beyond = sentences.length - most.sentences;
  if (beyond <= 0) return sentences;
  return [...sentences.slice(0, most.sentences - 1), `${count(beyond + 1, "more change")} of this kind.`];
}

/** A folder with a configuration file, which may have one of several names, or a file near one. */
type ConfigFolder = string;
const root: ConfigFolder = "";

function folderOf(path: string): ConfigFolder[] {
  if (rootPaths.some((one) => one === path)) return [root];
  if (isNearName(path)) return [path];
  return isNestedName(path) ? [path.slice(0, path.lastIndexOf("/") + 1) || "./"] : [];
}

function namesOf(folder: ConfigFolder): readonly string[] {
  if (folder === root) return rootPaths;
  if (isNearName(folder)) return [folder];
  return nestedNames.map((name) => (folder === "./" ? name : `${folder}${name}`));
}

async function changesAt(
  folder: ConfigFolder,
  workspace: Pick<Workspace, "tree" | "readBlob">,
  inForce: Pick<RepoConfig, "policy">,
): Promise<string[]> {
  const at = (ref: Ref) => versionAt(namesOf(folder), ref, workspace);
  // The merge base, not the tip of the base: later changes of the base are not part of this change.
  const [before, after] = [await at("merge_base"), await at("head")];
  const misplaced =
    folder === root || !after ? undefined : whyMisplaced(after.path, await workspace.tree("head"));
  if (after && sparesIn(await workspace.tree("head")).includes(after.path)) return [];
  if (after && misplaced) return [wouldBeRefused(inlineCode(after.path), [misplaced])];
  return describeConfigChange(folder === root ? "root" : "nested", before, after, inForce);
}

/** What a merge would change about the repository's own rules of one file. */
async function ruleChangesAt(
  path: string,
  workspace: Pick<Workspace, "tree" | "readBlob">,
): Promise<string[]> {
  const [before, after] = [
    await versionAt([path], "merge_base", workspace),
    await versionAt([path], "head", workspace),
  ];
  const old = await parseRuleFiles(before ? [before] : []);
  const now = await parseRuleFiles(after ? [after] : []);
  const [was, is] = [byId(old.rules), byId(now.rules)];
  const parts = [
    ["new rules", [...is.keys()].filter((id) => !was.has(id))],
    ["changed rules", [...is.keys()].filter((id) => was.has(id) && was.get(id) !== is.get(id))],
    ["deleted rules", [...was.keys()].filter((id) => !is.has(id))],
  ] as const;
  const name = inlineCode(path);
  const state = existence(before, after);
  const changed = parts.flatMap(([what, ids]) => (ids.length === 0 ? [] : [`${what}: ${listed(ids)}`]));
  const file = state === null ? name : `${name} would be ${state}`;
  const problems = now.problems.slice(0, mostShown.problems).map(({ rule, ...problem }) => {
    const what = rule === null ? "a rule" : `the rule ${inlineCode(rule)}`;
    return `${name}: ${what} would not run: ${inlineCode(cutBytes(whyNot(problem), mostShown.valueBytes * 2))}.`;
  });
  const more = now.problems.length - problems.length;
  return [
    ...(changed.length > 0 ? [`${file}: ${changed.join("; ")}.`] : []),
    ...(changed.length === 0 && state !== null ? [`${file}.`] : []),
    ...problems,
    ...(more > 0 ? [`${name}: ${count(more, "more problem")}.`] : []),
  ];
}

const byId = (rules: readonly OwnRule[]) =>
  new Map(rules.map(({ file, ...rule }) => [rule.id, JSON.stringify(rule)]));

async function versionAt(
  names: readonly string[],
  ref: Ref,
  workspace: Pick<Workspace, "tree" | "readBlob">,
): Promise<ConfigVersion | undefined> {
  const tree = await workspace.tree(ref);
  const path = names.find((name) => tree.has(name));
  const entry = path === undefined ? undefined : tree.get(path);
  if (path === undefined || entry === undefined) return undefined;
  if (!entry.mode.startsWith("100")) return { path, text: null };
  return { path, text: await textOf(workspace, entry.oid) };
}
