import type { TrajectoryEntry } from "../../agent/record/trajectory.ts";
import type { RepoConfig } from "../../config/repo-config.ts";
import { AppError, errorLine } from "../../core/errors.ts";
import { Finding } from "../../core/finding.ts";
import type { Ledger, PostedFinding } from "../../core/ledger/entry.ts";
import {
  type CarriedFinding,
  type LedgerState,
  mergedHashes,
  type Reviewed,
} from "../../core/ledger/state.ts";
import { cutCharacters } from "../../core/text/cut.ts";
import type * as github from "../../pull/github/pull-request-api.ts";
import { issueReferences, type ReferenceBase } from "../../pull/github/references.ts";
import { createPrivacy } from "../../repo/diff/filter.ts";
import { lookAgain, markOf } from "../../tasks/reviewed/known-change.ts";
import type { FailedCheck, History, LinkedIssue, PullText } from "../../tasks/shapes/review-input.ts";
import type { ReviewTask } from "../queue/job.ts";

/* What a review reads about earlier ones. None of it may mention private files, because a model reads it. */

type UnitEntry = Extract<TrajectoryEntry, { kind: "unit" }>;

const most = { earlier: 2_000, replies: 5, files: 5 };
/** Characters. */
const longest = { title: 300, text: 4_000, reply: 500 };

export function earlierFindings(
  { entries }: Pick<Ledger, "entries">,
  privatePaths: readonly string[],
): PostedFinding[] {
  const isPrivate = createPrivacy(privatePaths);
  // The path of a deleted comment is not known.
  const shown = entries.filter(({ path }) => path === "" || !isPrivate(path));
  return shown.slice(-most.earlier).map((entry) => ({
    ...entry,
    files: entry.files.filter((file) => !isPrivate(file)).slice(0, most.files),
    title: cutCharacters(entry.title, longest.title),
    text: cutCharacters(entry.text, longest.text),
    replies: entry.replies.slice(-most.replies).map((reply) => cutCharacters(reply, longest.reply)),
  }));
}

export interface HistorySource extends Pick<History, "key"> {
  state: LedgerState;
  /** `new` continues from what was read; the others read everything again. */
  mode: ReviewTask["mode"];
  /** Records of this job's earlier attempts, possibly about another head. */
  recorded: readonly TrajectoryEntry[];
  /** The head to review. Its own units are not history: their loops are replayed from the record. */
  head: string;
  privatePaths: readonly string[];
}

/** The remembered state, with what this job finished on earlier heads. */
export function historyOf({ key, state, mode, recorded, head, privatePaths }: HistorySource): History {
  const isPrivate = createPrivacy(privatePaths);
  const before = mode === "new" ? state.reviewed : null;
  // Content of whole files cannot be joined with the changes of a unit. It is read again rather than lost.
  const units = before?.unit === "file" ? [] : finishedUnits(recorded, head);
  const known = new Set(state.carried.map(({ finding }) => faultOf(finding)));
  const unpublished = new Map(
    units
      .flatMap(({ findings }) => findings)
      .flatMap((finding) => Finding.safeParse(finding).data ?? [])
      .filter((finding) => !known.has(faultOf(finding)))
      .map((finding) => [faultOf(finding), { finding, standing: "unpublished", reason: "" } as const]),
  );
  const carried: CarriedFinding[] = [...state.carried, ...unpublished.values()];
  return {
    key,
    reviewed: joined(before, units),
    carried: carried.filter(({ finding }) => !isPrivate(finding.path)),
    summary: state.summary || summaryOf(units),
  };
}

/** Concurrent loops gave one id to two faults: their code is the same, and nothing else has to be. */
const faultOf = ({ id, path, line, title }: Finding) => JSON.stringify([id, path, line, title]);

const summaryOf = (units: readonly UnitEntry[]) =>
  units
    .map(({ summary = "" }) => summary)
    .filter((summary) => summary !== "")
    .join("\n\n");

/** The units of other heads. A replayed loop recorded its unit again. */
function finishedUnits(recorded: readonly TrajectoryEntry[], head: string): UnitEntry[] {
  const units = recorded.filter((entry) => entry.kind === "unit").filter((unit) => unit.head !== head);
  return [...new Map(units.map((unit) => [`${unit.head} ${unit.loop}`, unit])).values()];
}

/**
 * - A hash occurs as often as its content was read in one change.
 * - Counts add up over the parts of one head; content that another head or an earlier review read is the same content again.
 * - A canceled review read code that may fix earlier findings without checking them, so their files are due.
 * - Unread content beside a part is included, so that its removal is noticed.
 */
function joined(before: Reviewed | null, units: readonly UnitEntry[]): Reviewed | null {
  if (units.length === 0) return before;
  const heads = Map.groupBy(units, (unit) => unit.head);
  const read = [...heads.values()].map((parts) => parts.flatMap(({ hashes }) => hashes));
  const beside = units.map((unit) => unit.beside ?? []);
  const due = new Set(units.flatMap(({ hashes }) => hashes.map((hash) => lookAgain(markOf(hash)))));
  const hashes = mergedHashes(before?.hashes ?? [], ...read, ...beside);
  return { unit: "change", hashes: [...hashes, ...due] };
}

const mostIssues = 5;
/** Characters. */
const mostCharacters = { issue: 4_000, check: 2_000, annotation: 1_000, name: 300 };

interface PullTextSource {
  api: Pick<github.Surroundings, "issue" | "failedChecks">;
  pull: github.PullRequest;
  repository: Omit<ReferenceBase, "webUrl">;
  webUrl: string;
  config: RepoConfig;
  /** Called with what is left out because GitHub could not be asked for it. */
  warn(notice: string): void;
}

/** Text by people and programs about a pull request, without our own, shortened. What cannot be read is left out. Never rejects. */
export async function pullTextOf(source: PullTextSource): Promise<Omit<PullText, "earlier">> {
  const { pull, warn } = source;
  const { number, title, body, author } = pull;
  const [issues, checks] = await Promise.all([
    linkedIssues(source),
    orNothing(failedChecks(source), "The checks of the head", warn),
  ]);
  return { ...{ number, title, body, author }, ...{ issues, checks } };
}

async function orNothing<T>(asked: Promise<T[]>, what: string, warn: (notice: string) => void): Promise<T[]> {
  try {
    return await asked;
  } catch (error) {
    // A job that ends reports that itself.
    if (!(error instanceof AppError && error.code === "aborted"))
      warn(`${what} could not be read: ${errorLine(error)}`);
    return [];
  }
}

async function linkedIssues(source: PullTextSource): Promise<LinkedIssue[]> {
  const { api, pull, repository, webUrl, warn } = source;
  const named = issueReferences(`${pull.title}\n\n${pull.body}`, { ...repository, webUrl });
  const wanted = named.filter((number) => number !== pull.number).slice(0, mostIssues);
  const read = async (number: number) => [await api.issue(number)].filter((issue) => issue !== undefined);
  const found = await Promise.all(wanted.map((number) => orNothing(read(number), `Issue ${number}`, warn)));
  return found.flat().map(({ number, title, body }) => ({
    ...{ number, title: cutCharacters(title, mostCharacters.name) },
    body: cutCharacters(body, mostCharacters.issue),
  }));
}

async function failedChecks({ api, pull, config }: PullTextSource): Promise<FailedCheck[]> {
  const isPrivate = createPrivacy(config.paths.private);
  const failed = await api.failedChecks(pull.headSha);
  return failed.map(({ name, conclusion, title, summary, annotations }) => ({
    name: cutCharacters(name, mostCharacters.name),
    conclusion,
    summary: cutCharacters(
      [title, summary].filter((part) => part.trim() !== "").join("\n\n"),
      mostCharacters.check,
    ),
    annotations: annotations
      .filter(({ path }) => !isPrivate(path))
      .map(({ path, startLine, endLine, level, message }) => ({
        ...{ path, level, message: cutCharacters(message, mostCharacters.annotation) },
        ...{ start_line: startLine, end_line: endLine },
      })),
  }));
}
