import { z } from "zod";
import { wholeNumber } from "./limits.ts";

/** What a search is stopped at unless more is asked for. */
export const DEFAULT_RESULTS = 50;
export const MAX_RESULTS = 1_000;
const MAX_CONTEXT = 20;
const DEFAULT_CONTEXT = 2;
const MAX_PATTERN = 2_000;
const MAX_GLOB = 500;
const MAX_TYPE = 50;

/** Arguments of `search_in_files`. */
export const SearchInput = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(MAX_PATTERN)
    .describe("ripgrep's regex (no look-around, no back-references)."),
  file_pattern: z.string().max(MAX_GLOB).optional().describe("gitignore-style glob: '*.ts', 'src/**'."),
  path: z.string().optional().describe("File, or folder to search below."),
  file_type: z.string().max(MAX_TYPE).optional().describe("ripgrep's type: py, ts, go ..."),
  context_lines: wholeNumber(0, MAX_CONTEXT)
    .default(DEFAULT_CONTEXT)
    .describe(`Lines around a match, up to ${MAX_CONTEXT}.`),
  before_context: wholeNumber(0, MAX_CONTEXT).optional().describe("Lines before; default context_lines."),
  after_context: wholeNumber(0, MAX_CONTEXT).optional().describe("Lines after."),
  max_results: wholeNumber(1, MAX_RESULTS)
    .default(DEFAULT_RESULTS)
    .describe(`Matching lines (files in other modes), up to ${MAX_RESULTS}.`),
  fixed_string: z.boolean().default(false).describe("Pattern is literal."),
  ignore_case: z.boolean().default(false).describe("Case does not count."),
  whole_word: z.boolean().default(false).describe("Whole words only."),
  invert_match: z.boolean().default(false).describe("Lines that do not match."),
  output_mode: z.enum(["content", "files_with_matches", "count"]).default("content"),
  show_line_numbers: z.boolean().default(true).describe("Number the lines."),
});
export type SearchInput = z.infer<typeof SearchInput>;

/** Lines shown before and after each match. */
export function contextOf(input: SearchInput): { before: number; after: number } {
  const { context_lines: around, before_context: before = around, after_context: after = around } = input;
  return { before, after };
}

export interface SearchMatch {
  file_path: string;
  line_number: number;
  line_content: string;
  /** The match with its surrounding lines; with numbers `12:match` and `13-context`. */
  match_context: string;
}
export type FileCount = { file_path: string; count: number };
export type SearchOutput = SearchMatch[] | string[] | FileCount[];
