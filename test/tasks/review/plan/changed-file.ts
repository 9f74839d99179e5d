import type { ChangedFile } from "../../../../src/repo/diff-source.ts";
import type { Change } from "../../../../src/repo/git/workspace.ts";
import { type Plan, type PlanOptions, planUnits } from "../../../../src/tasks/review/plan/plan-units.ts";

export interface FileFacts {
  path: string;
  diffBytes?: number;
  added?: number;
  removed?: number;
  over?: Partial<Change>;
}

/** A reviewable file with one hunk; 100 bytes of diff when nothing else is said. */
export function changedFile({
  path,
  diffBytes = 100,
  added = 5,
  removed = 0,
  over = {},
}: FileFacts): ChangedFile {
  const change: Change = {
    path,
    oldPath: null,
    type: "modified",
    oldMode: "100644",
    newMode: "100644",
    oldOid: "1".repeat(40),
    newOid: "2".repeat(40),
    additions: added,
    deletions: removed,
    ...over,
  };
  const facts = { totalHunks: 1, diffBytes, changes: [["digest"]] };
  return { change, reading: "hunks", ...facts, reviewable: true, skipReason: null, account: null };
}

export const changedFiles = (paths: readonly string[], diffBytes = 100) =>
  paths.map((path) => changedFile({ path, diffBytes }));

/** Plans with room for everything; `texts` are how files begin, and nothing else can be read. */
export function plan(
  files: readonly ChangedFile[],
  { texts = {}, ...options }: Partial<PlanOptions> & { texts?: Record<string, string> } = {},
): Promise<Plan> {
  return planUnits({
    files,
    unitBytes: 1_000,
    totalBytes: Number.POSITIVE_INFINITY,
    matches: new Map(),
    headStart: async (path) => {
      const text = texts[path];
      if (text === undefined) throw new Error(`'${path}' is not there`);
      return text;
    },
    ...options,
  });
}

/** The paths of each unit. */
export const pathsOf = ({ units }: Plan) => units.map(({ files }) => files.map(({ change }) => change.path));
