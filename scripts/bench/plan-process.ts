/**
 * Plans the change of a checkout in a separate process, whose memory is thus only that of planning. Its argument is the place as JSON; it
 * reports its cost.
 */

import { createDiffSource } from "../../src/repo/diff-source.ts";
import { openWorkspace } from "../../src/repo/git/object-workspace.ts";
import { RevisionPlace } from "../../src/repo/git/workspace.ts";
import { planUnits } from "../../src/tasks/review/plan/plan-units.ts";
import type { PlanReport } from "./planning.ts";

const UNIT_BYTES = 200_000;

const place = RevisionPlace.parse(JSON.parse(process.argv[2] ?? ""));
const start = performance.now();
const workspace = openWorkspace(place);
const files = await createDiffSource(workspace, { ignore: [], private: [] }).files();
const surveyed = performance.now();
const { units, left } = await planUnits({
  files,
  unitBytes: UNIT_BYTES,
  totalBytes: Number.POSITIVE_INFINITY,
  headStart: async (path) => (await workspace.headStart(path, 4_096)).text,
  matches: new Map(),
});
const report: PlanReport = {
  milliseconds: performance.now() - start,
  ofPlanning: performance.now() - surveyed,
  // Kilobytes on Linux.
  megabytes: process.resourceUsage().maxRSS / 1024,
  planned: units.reduce((sum, unit) => sum + unit.files.length, 0),
  left: left.length,
  units: units.length,
  leastUnits: Math.ceil(units.reduce((sum, unit) => sum + unit.diffBytes, 0) / UNIT_BYTES),
};
await workspace[Symbol.asyncDispose]();
console.log(JSON.stringify(report));
