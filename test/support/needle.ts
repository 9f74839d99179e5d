import type { SearchQuery } from "../../src/repo/git/workspace.ts";

/** A search for a word in every file; each test says what is different in its own. */
export const needle: SearchQuery = {
  pattern: "needle",
  contextLines: 0,
  maxResults: 1000,
  fixedString: false,
  ignoreCase: false,
  wholeWord: false,
  invertMatch: false,
  mode: "content",
};
