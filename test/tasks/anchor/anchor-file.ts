import type { AnchorFile } from "../../../src/tasks/anchor/anchor.ts";

/** A changed file without removed lines, by default in one hunk. */
export const anchorFile = (
  path: string,
  lines: AnchorFile["lines"],
  hunkAt: AnchorFile["hunkAt"] = () => 1,
): AnchorFile => ({
  ...{ path, paths: [path], inChange: true, hidden: null, hunks: [], lines, hunkAt },
  isRemoved: () => false,
});
