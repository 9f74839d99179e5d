import { isDeepStrictEqual } from "node:util";
import { AppError } from "../core/errors.ts";
import { isDefinition, RuleSetting } from "./named-rules.ts";
import type { Given } from "./parse-config.ts";
import { type EffectiveConfig, isEnforced, isRuleEnforced, RepoConfig, settingKeys } from "./repo-config.ts";

/** The organization's file and the repository's, as they were written; empty if there is none. */
export interface GivenFiles {
  organization: Given;
  repository: Given;
}

/**
 * Joins an organization's file that has a `policy` with that of a repository. An enforced key has the organization's value, or else the
 * default. Lists are concatenated, the organization's first; rules are joined by name, and one that is off in some files still applies to the
 * others. For every other key, the repository's value counts. `paths.private` is concatenated even if it is enforced, and no exception of the
 * repository takes anything back.
 */
export function joinPolicy({ organization, repository }: GivenFiles): EffectiveConfig {
  const { policy } = RepoConfig.parse({ policy: organization.policy ?? {} });
  const joined: Record<string, unknown> = { policy };
  for (const key of settingKeys) {
    const [above, below] = [organization, repository].map((file) => valueAt(file, key.split(".")));
    const value = joinedValue(key, above, below, { policy });
    if (value !== undefined) setAt(joined, key, value);
  }
  const config = parsedOrRefused(joined);
  const enforcesSingleRules = policy?.enforce.some((key) => key.startsWith("rules.")) === true;
  if (!enforcesSingleRules) return config;
  return { ...config, organization_rules: RepoConfig.parse({ rules: organization.rules }).rules };
}

/** Lists of both files together may be longer than one may be. */
function parsedOrRefused(joined: unknown): RepoConfig {
  const { success, data, error } = RepoConfig.safeParse(joined);
  if (success) return data;
  const [issue] = error.issues;
  const key = issue?.path.join(".") ?? "";
  throw new AppError(
    "config_invalid",
    `The configuration cannot be used: together with the organization's file, ${key} is not valid (${issue?.message})`,
    { remedy: "Shorten it on the base branch. Until then, no model reads anything." },
  );
}

/**
 * Where the value of a key comes from, for people: "organization, enforced", ".github/hunkwise.yml".
 * @param path the repository's file
 */
export function originOf(
  key: string,
  { organization, repository }: GivenFiles,
  { path, policy }: Pick<RepoConfig, "policy"> & { path: string },
): string {
  const [group, ...name] = key.split(".");
  const isRule = group === "rules" && name.length > 0;
  const parts = isRule ? ["rules", name.join(".")] : key.split(".");
  const [above, below] = [valueAt(organization, parts), valueAt(repository, parts)];
  // A single rule of an enforced analyzer is enforced, too.
  const isKept = isRule
    ? [name.join("."), ...name.join(".").split("/")].some((one) => isRuleEnforced({ policy }, one))
    : isEnforced({ policy }, key);
  if (isRule && isKept && above === undefined) return `${path}, without effect: enforced`;
  const isAdded = Array.isArray(below) && (key === "paths.private" || !isKept);
  const origins = [
    ...(above !== undefined && (below === undefined || isKept || isAdded) ? ["organization"] : []),
    ...(below !== undefined && (!isKept || isAdded) ? [path] : []),
  ];
  const from = origins.length === 0 ? "default" : origins.join(" and ");
  return isKept ? `${from}, enforced` : from;
}

function joinedValue(key: string, above: unknown, below: unknown, of: Pick<RepoConfig, "policy">): unknown {
  if (key === "paths.private") return privatePaths(listOf(above), listOf(below));
  if (isEnforced(of, key) || below === undefined) return above;
  if (above === undefined && key !== "rules") return below;
  if (Array.isArray(above) && Array.isArray(below)) return concatenated(above, below);
  if (key !== "rules") return below;
  const organization = (above ?? {}) as Given;
  const free = Object.entries(below as Given).flatMap(([name, setting]) =>
    isRuleEnforced(of, name) ? [] : [[name, joinedRule(organization[name], setting)]],
  );
  return { ...organization, ...Object.fromEntries(free) };
}

/** A rule that the organization defines and the repository switches off for some files still applies to the others. */
function joinedRule(above: unknown, below: unknown): unknown {
  const [definition, off] = [above, below].map((one) => RuleSetting.safeParse(one).data);
  if (definition === undefined || off === undefined || !isDefinition(definition) || !isPartlyOff(off))
    return below;
  const exceptions = off.off.filter((pattern) => !/^[!#]/.test(pattern)).map((pattern) => `!${pattern}`);
  return { ...definition, where: [...definition.where, ...exceptions] };
}

const isPartlyOff = (setting: RuleSetting): setting is { off: string[] } =>
  typeof setting === "object" && "off" in setting;

const listOf = (value: unknown) => (value ?? []) as readonly string[];

/** Without repetitions: the organization's own repository has the same file twice. */
function concatenated(above: readonly unknown[], below: readonly unknown[]): unknown[] {
  return [...above, ...below.filter((item) => !above.some((known) => isDeepStrictEqual(known, item)))];
}

/** The matcher of private paths starts over at a comment: exceptions behind it apply to no list before it. */
function privatePaths(above: readonly string[], below: readonly string[]): readonly string[] {
  if (below.length === 0 || isDeepStrictEqual(above, below)) return above;
  return [...above, "# the repository's", ...below];
}

/** The value of a key, by the names of its groups and its own; undefined if a group is missing. */
export function valueAt(file: object, names: readonly string[]): unknown {
  let value: unknown = file;
  for (const name of names) value = (value as Given | undefined | null)?.[name];
  return value;
}

function setAt(file: Record<string, unknown>, key: string, value: unknown): void {
  const names = key.split(".");
  const last = names.pop() ?? "";
  let group = file;
  for (const name of names) {
    group[name] ??= {};
    group = group[name] as Record<string, unknown>;
  }
  group[last] = value;
}
