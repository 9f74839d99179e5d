import {
  type Document,
  isNode,
  isScalar,
  LineCounter,
  parseAllDocuments,
  parseDocument,
  type YAMLError,
} from "yaml";
import { errorLine } from "../errors.ts";
import { type CheckedSettings, type ConfigKind, checkSchema } from "./check-schema.ts";
import { type ConfigProblem, dotted, problemAt, wholeFile } from "./config-problem.ts";
import { describePlace } from "./describe-issue.ts";
import { findLostPlace } from "./lost-places.ts";
import { findMisread, findPrivatePlaces, type PrivatePlace } from "./private-places.ts";
import { defaultRepoConfig, RepoConfig } from "./repo-config.ts";
import { type Unreadable, unreadable } from "./unreadable.ts";
import { isCollectionKey, startOf, walkYaml, type YamlWalk } from "./walk-yaml.ts";

export type { ConfigProblem };

/** What every kind of configuration file may hold. */
interface WithPaths {
  paths: RepoConfig["paths"];
}

export interface ParsedConfig<Config> {
  config: Config;
  problems: ConfigProblem[];
  /** Set when the file may name private paths that `config` lacks: then no model may see anything of the repository. */
  unreadable?: Unreadable;
}
export type ParsedRepoConfig = ParsedConfig<RepoConfig>;

/** A configuration is a page of text; a larger file is a mistake or an attack. */
const largestFile = 64 * 1024;
const mostProblems = 20;

const rootFile: ConfigKind<RepoConfig> = { schema: RepoConfig, fallback: defaultRepoConfig };

/** Reads `.github/hunkwise.yml`, as `parseConfig` does. */
export function parseRepoConfig(text: string): ParsedRepoConfig {
  return parseConfig(text, rootFile);
}

/**
 * Reads a configuration file. Never throws. Where a key is wrong, its default holds and a problem names line and key; the
 * other keys count. A file that is no YAML leaves the defaults.
 *
 * Privacy fails closed: whatever reads as private paths counts, wherever and in whichever shape it stands, and where some of
 * it may be lost the result is `unreadable`.
 */
export function parseConfig<Config extends WithPaths>(
  text: string,
  kind: ConfigKind<Config>,
): ParsedConfig<Config> {
  if (Buffer.byteLength(text) > largestFile) return refused(unreadable.tooLarge(largestFile), kind);
  if (text.includes("\0")) return refused(unreadable.binary(), kind);
  try {
    return parseText(text, kind);
  } catch (error) {
    // Nesting beyond the stack, or more aliases than the parser resolves.
    return refused(unreadable.bomb(errorLine(error)), kind);
  }
}

function refused<Config>(why: Unreadable, { fallback }: ConfigKind<Config>): ParsedConfig<Config> {
  return { config: fallback, problems: [wholeFile(why.reason)], unreadable: why };
}

/** A file, taken apart. */
interface Parsed {
  text: string;
  documents: readonly Document[];
  errors: readonly YAMLError[];
  lines: LineCounter;
  walk: YamlWalk;
}

function parseText<Config extends WithPaths>(text: string, kind: ConfigKind<Config>): ParsedConfig<Config> {
  const lines = new LineCounter();
  const options = { lineCounter: lines, prettyErrors: false, logLevel: "silent", uniqueKeys: false } as const;
  const several = parseAllDocuments(text, options);
  const documents: Document[] = several.length > 0 ? [...several] : [parseDocument(text, options)];
  const errors = documents.flatMap((document) => document.errors);
  const exhausted = errors.find(({ code }) => code === "RESOURCE_EXHAUSTION");
  if (exhausted) return refused(unreadable.bomb(exhausted.message), kind);
  const parsed: Parsed = { text, documents, errors, lines, walk: walkYaml(documents) };
  const places = findPrivatePlaces(parsed.walk, text);
  const settings = readSettings(parsed, kind);
  const config = withPrivatePaths(settings.config, places);
  const lost = findLoss(parsed, places, config);
  const found = [
    ...(lost ? [{ line: lost.line, key: null, message: lost.reason }] : []),
    ...places.flatMap((place) => problemOf(place, lines)),
    ...settings.problems,
  ];
  const problems = distinct(found)
    .slice(0, mostProblems)
    .toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0));
  return { config, problems, ...(lost && { unreadable: lost }) };
}

/** A misplaced key is unknown to the schema too: the first one to speak of a place knows more. */
function distinct(problems: readonly ConfigProblem[]): ConfigProblem[] {
  const byPlace = new Map<string, ConfigProblem>();
  for (const problem of problems) {
    const place = `${problem.line} ${problem.key ?? problem.message}`;
    if (!byPlace.has(place)) byPlace.set(place, problem);
  }
  return [...byPlace.values()];
}

/** The keys that hold, as if privacy were a setting like the others. */
function readSettings<Config>(
  { documents, errors, lines, walk }: Parsed,
  kind: ConfigKind<Config>,
): CheckedSettings<Config> {
  const broken = [
    ...errors.map(({ pos, message }) => problemAt(pos[0], lines, null, oneLine(message))),
    ...walk.repeatedKeys.map((key) => problemAt(startOf(key), lines, null, "Map keys must be unique")),
    ...walk.strayAliases.map(({ alias, path }) =>
      problemAt(
        startOf(alias),
        lines,
        dotted(path),
        `*${alias.source} is an alias of nothing; put it in quotes`,
      ),
    ),
    // The parser makes a text of such a key, which doubles in length with each level.
    ...walk.pairs
      .filter(({ pair }) => isCollectionKey(pair, walk))
      .map(({ pair, path }) =>
        problemAt(startOf(pair.key), lines, dotted(path), "must be a key of one word"),
      ),
  ];
  if (broken.length > 0) return { config: kind.fallback, problems: broken };
  const [document, second] = documents;
  const more =
    isNode(second?.contents) && !(isScalar(second.contents) && second.contents.value === null)
      ? [problemAt(startOf(second.contents), lines, null, "only the first document of the file counts")]
      : [];
  const { config, problems } = document
    ? checkSchema(document, lines, kind)
    : { config: kind.fallback, problems: [] };
  return { config, problems: [...more, ...problems] };
}

/** Why private paths of the file may be missing in `config`. */
function findLoss(
  { text, documents, errors, lines, walk }: Parsed,
  places: readonly PrivatePlace[],
  config: WithPaths,
): Unreadable | undefined {
  const lineAt = (offset: number) => lines.linePos(offset).line;
  const lost = findLostPlace(text, errors, walk, places);
  const [fault] = errors;
  if (lost !== undefined && fault) return unreadable.brokenAt(lineAt(lost), oneLine(fault.message));
  const misread = lost ?? (/private/i.test(text) ? findMisread(documents, walk)[0] : undefined);
  if (misread !== undefined) return unreadable.misreadAt(lineAt(misread));
  // What stands for bytes that are no UTF-8: such a pattern matches no path.
  return config.paths.private.some((pattern) => pattern.includes("\ufffd"))
    ? unreadable.encoding()
    : undefined;
}

function problemOf({ path, start, regular, wellShaped }: PrivatePlace, lines: LineCounter): ConfigProblem[] {
  if (regular && wellShaped) return [];
  return [problemAt(start, lines, dotted(path), describePlace(regular))];
}

const oneLine = (message: string) => message.replaceAll(/\s+/g, " ").slice(0, 200);

/** `config` with what all places list. */
function withPrivatePaths<Config extends WithPaths>(config: Config, places: readonly PrivatePlace[]): Config {
  const listed = config.paths.private;
  const known = new Set(listed);
  const extra = places.flatMap(({ patterns, regular }) =>
    // What the schema read keeps its order and its exceptions; what stands elsewhere comes last, so that it prevails.
    regular ? patterns.filter((pattern) => !known.has(pattern)) : patterns,
  );
  if (extra.length === 0) return config;
  const distinct = [...new Set([...listed, ...extra].reverse())].reverse();
  return { ...config, paths: { ...config.paths, private: distinct } };
}
