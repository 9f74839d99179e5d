import { isDeepStrictEqual } from "node:util";
import {
  type ConfigProblem,
  type ParsedConfig,
  parseNestedConfig,
  parseRepoConfig,
} from "../config/parse-config.ts";
import { defaultRepoConfig, NestedConfig, type RepoConfig } from "../config/repo-config.ts";
import { cutBytes } from "../text/cut.ts";
import { inlineCode } from "../text/fence.ts";
import { count } from "../tools/show.ts";

/** A configuration file at one revision. */
export interface ConfigVersion {
  path: string;
  /** Null for what cannot be read as a file: a link, or something far too large. */
  text: string | null;
}

type Parsed = ParsedConfig<RepoConfig | NestedConfig>;

const kinds = {
  root: { parse: parseRepoConfig as (text: string) => Parsed, fallback: defaultRepoConfig },
  nested: { parse: parseNestedConfig as (text: string) => Parsed, fallback: NestedConfig.parse({}) },
};

/** Of a list, problems of a file, and bytes of a value. */
const most = { items: 8, problems: 5, valueBytes: 100 };

/** The sentences on one file; undefined stands for a revision without it. */
export function describeConfigChange(
  kind: keyof typeof kinds,
  before: ConfigVersion | undefined,
  after: ConfigVersion | undefined,
): string[] {
  const path = after?.path ?? before?.path ?? "";
  const name = inlineCode(path);
  if (after?.text === null) return [`${name} would be a link or too large, and reviews would be refused.`];
  const old = before?.text == null ? undefined : kinds[kind].parse(before.text);
  const now = after === undefined ? undefined : kinds[kind].parse(after.text);
  if (now?.ok === false) return [wouldBeRefused(name, now.problems)];
  const { fallback } = kinds[kind];
  const where = kind === "root" ? "" : `${name}: `;
  return [
    ...existence(kind, name, before !== undefined, after !== undefined),
    ...(old?.ok === false ? [`${name} is refused as it is now, and would be in order.`] : []),
    ...changedKeys(old?.ok ? old.config : fallback, now?.config ?? fallback).map(
      (change) => `${where}${change}.`,
    ),
  ];
}

function existence(kind: keyof typeof kinds, name: string, was: boolean, is: boolean): string[] {
  if (was === is) return [];
  if (kind === "nested") return [is ? `${name} would be new.` : `${name} would be gone.`];
  return [
    is
      ? `${name} would be new, and take the place of the organisation's file where there is one.`
      : `${name} would be gone: the organisation's file would count where there is one, and defaults elsewhere.`,
  ];
}

/** That no model would read anything with such a file, and what is wrong with it. */
export function wouldBeRefused(name: string, problems: readonly ConfigProblem[]): string {
  const shown = problems.slice(0, most.problems).map(({ line, key, message }) => {
    const place = [line === null ? "" : `line ${line}`, key === null ? "" : inlineCode(cutBytes(key, 100))];
    const parts = place.filter((part) => part !== "");
    return parts.length === 0 ? message : `${parts.join(", ")} ${message}`;
  });
  const more = problems.length - shown.length;
  const all = more > 0 ? [...shown, count(more, "more problem")] : shown;
  return `${name} would be wrong, and reviews would be refused until it is corrected: ${all.join("; ")}.`;
}

function changedKeys(before: object, after: object): string[] {
  const [old, now] = [leavesOf(before), leavesOf(after)];
  const keys = [...new Set([...old.keys(), ...now.keys()])];
  return keys.flatMap((key) => changeOf(key, old.get(key), now.get(key)) ?? []);
}

/** Every value of a configuration that is no group of keys, by its dotted key. */
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
  const added = without(now, old);
  const removed = without(old, now);
  const parts = [
    ...(added.length > 0 ? [`added ${listed(added)}`] : []),
    ...(removed.length > 0 ? [`removed ${listed(removed)}`] : []),
  ];
  const isShown = key === "paths.private" && removed.length > 0;
  return `${name}: ${parts.join("; ") || "in another order"}${isShown ? ", which a model may then see" : ""}`;
}

/** The elements of a list that another one lacks. */
function without(list: readonly unknown[], other: readonly unknown[]): unknown[] {
  const known = new Set(other.map((item) => JSON.stringify(item)));
  return list.filter((item) => !known.has(JSON.stringify(item)));
}

function listed(items: readonly unknown[]): string {
  const some = items.slice(0, most.items).map(shown).join(", ");
  return items.length > most.items ? `${some} and ${count(items.length - most.items, "more item")}` : some;
}

function shown(value: unknown): string {
  if (value === undefined) return "not set";
  const text = typeof value === "object" && value !== null ? instruction(value) : String(value);
  const cut = cutBytes(text, most.valueBytes);
  return inlineCode(cut.length < text.length ? `${cut}…` : cut);
}

/** The one kind of list that holds more than texts. */
const instruction = (value: { path?: unknown; text?: unknown }) => `${value.path}: ${value.text}`;
