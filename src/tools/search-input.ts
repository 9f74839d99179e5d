import { z } from "zod";

const DEFAULT_RESULTS = 50;
export const MAX_RESULTS = 1_000;
const MAX_CONTEXT = 20;
const MAX_PATTERN = 2_000;

/** Arguments of `search_in_files`. */
export const SearchInput = z.strictObject({
  pattern: z
    .string()
    .min(1)
    .max(MAX_PATTERN)
    .describe("Regular expression in ripgrep's syntax (no look-around, no back-references)."),
  file_pattern: z
    .string()
    .optional()
    .describe("Only files that match this gitignore-style glob: '*.ts', 'src/**'."),
  path: z.string().optional().describe("Only this file, or files below this folder."),
  file_type: z
    .string()
    .optional()
    .describe("Only files of this ripgrep type: py, ts, js, go, java, rust ..."),
  context_lines: z.int().min(0).max(MAX_CONTEXT).default(2).describe("Lines shown before and after a match."),
  max_results: z
    .int()
    .min(1)
    .max(MAX_RESULTS)
    .default(DEFAULT_RESULTS)
    .describe("At most this many matching lines (files in the other modes)."),
  fixed_string: z.boolean().default(false).describe("Take the pattern literally."),
  ignore_case: z.boolean().default(false).describe("Let case not count."),
  whole_word: z.boolean().default(false).describe("Match whole words only."),
  invert_match: z.boolean().default(false).describe("Lines that do not match."),
  output_mode: z
    .enum(["content", "files_with_matches", "count"])
    .default("content")
    .describe("Matching lines, or only the files, or how many lines a file."),
  show_line_numbers: z.boolean().default(true).describe("Number the lines."),
});
export type SearchInput = z.infer<typeof SearchInput>;

export interface SearchMatch {
  file_path: string;
  line_number: number;
  line_content: string;
  /** The match with its surrounding lines; with numbers `12:match` and `13-context`. */
  match_context: string;
}
export type FileCount = { file_path: string; count: number };
export type SearchOutput = SearchMatch[] | string[] | FileCount[];
