import {
  chooseComments,
  joinFindings,
  reply,
  reportIntent,
  reportResolution,
  sameProblems,
} from "./answers.ts";
import { changedFiles } from "./changed-files.ts";
import { diffFile } from "./diff-file.ts";
import { diffFiles } from "./diff-files.ts";
import { editFile } from "./edit-file.ts";
import { findCallers } from "./find-callers.ts";
import { finishFix } from "./finish-fix.ts";
import { finishReview } from "./finish-review.ts";
import { getCommitMessages } from "./get-commit-messages.ts";
import { graphRagQuery } from "./graph-rag-query.ts";
import { listFiles } from "./list-files.ts";
import { logWorkProduct } from "./log-work-product.ts";
import { finishProof, tryTest } from "./proof-tools.ts";
import { readDefinition } from "./read-definition.ts";
import { readFilePart } from "./read-file-part.ts";
import { reportFinding } from "./report-finding.ts";
import { reportVerdict } from "./report-verdict.ts";
import { runCommand } from "./run-command.ts";
import { searchInFiles } from "./search-in-files.ts";
import type { AnyTool } from "./tool.ts";
import { copyFile, deleteFile, moveFile } from "./whole-files.ts";
import { writeFile } from "./write-file.ts";

/** Always offered. */
export const readingTools: readonly AnyTool[] = [
  changedFiles,
  getCommitMessages,
  diffFile,
  readFilePart,
  readDefinition,
  findCallers,
  searchInFiles,
  listFiles,
  diffFiles,
];

/** Offered to a second look: what it needs of the change is shown to it. */
export const checkingTools: readonly AnyTool[] = [
  diffFile,
  readFilePart,
  readDefinition,
  findCallers,
  searchInFiles,
];

/** Ends the verification of a finding. */
export const judgingTools: readonly AnyTool[] = [reportVerdict];

/** Answers a question. */
export const answeringTools: readonly AnyTool[] = [reply];

/** Ends the check of an earlier finding. */
export const settlingTools: readonly AnyTool[] = [reportResolution];

/** Ends the comparison of findings with earlier comments. */
export const comparingTools: readonly AnyTool[] = [sameProblems];

/** Ends the choice of comments. */
export const choosingTools: readonly AnyTool[] = [chooseComments];

/** Merges the findings of several loops into those of one review. */
export const mergingTools: readonly AnyTool[] = [joinFindings, reportFinding, finishReview];

/** Reports findings and ends a review. */
export const reportingTools: readonly AnyTool[] = [reportFinding, finishReview];

/** Offered if the repository has an index. */
export const graphTools: readonly AnyTool[] = [graphRagQuery];

/** Offered if a run is recorded. */
export const journalTools: readonly AnyTool[] = [logWorkProduct];

/** Change files in a fix. */
export const changingTools: readonly AnyTool[] = [writeFile, editFile, copyFile, moveFile, deleteFile];

/** Ends a fix. */
export const fixingTools: readonly AnyTool[] = [finishFix];

/** Offered to a fix if the machine has a sandbox. */
export const commandTools: readonly AnyTool[] = [runCommand];

/** Run and end a proof. */
export const provingTools: readonly AnyTool[] = [tryTest, finishProof];

/** Answers what a change asks for. */
export const intentTools: readonly AnyTool[] = [reportIntent];
