import { describe } from "vitest";
import { describeFairness } from "./fairness.ts";
import { describeFigures } from "./figures.ts";
import { describeNotes } from "./notes.ts";
import { describeProcesses } from "./processes.ts";
import { describeQueue } from "./queue.ts";
import { describeRecovery } from "./recovery.ts";
import { describeRuns } from "./runs.ts";
import { describeSpending } from "./spending.ts";
import type { StoresUnderTest } from "./suite.ts";
import { describeTally } from "./tally.ts";

/** The contract of the stores, in every database. */
export function describeStores(where: string, create: () => StoresUnderTest): void {
  describeQueue(`the queue ${where}`, create);
  describe(`the queue's fairness ${where}`, () => describeFairness(create));
  describe(`the queue's recovery ${where}`, () => describeRecovery(create));
  describe(`the queue's processes ${where}`, () => describeProcesses(create));
  describe(`records of runs ${where}`, () => describeRuns(create));
  describeSpending(`spending ${where}`, create);
  describe(`a tally ${where}`, () => describeTally(create));
  describe(`figures ${where}`, () => describeFigures(create));
  describe(`notes ${where}`, () => describeNotes(create));
}
