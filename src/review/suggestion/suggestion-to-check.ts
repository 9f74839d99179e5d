/** What may be posted in the place of a suggestion. */
export type CheckedSuggestion =
  | {
      ok: true;
      /**
       * The lines that replace the anchored ones, joined by line feeds and each with the carriage return that the file's
       * lines have. Empty: the lines are deleted, as GitHub does for an empty suggestion block.
       */
      suggestion: string;
      /** What was mended, in words: "the indentation was taken from the file". */
      repairs: readonly string[];
    }
  | {
      ok: false;
      /** A clause for the model and for people: "the file would not parse". */
      reason: string;
    };

export interface SuggestionToCheck {
  path: string;
  /** The head's file, without line feeds but with any carriage return. */
  lines: readonly string[];
  /** 1-indexed and inclusive: exactly the lines that are replaced. */
  start: number;
  end: number;
  suggestion: string;
}
