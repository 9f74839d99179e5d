import { stringify } from "yaml";
import { toolOf } from "../finding.ts";
import type { OftenDismissed } from "./insights.ts";

/** A change of the configuration that a person may make, because people dismiss a kind of findings. */
export interface Demotion {
  /** What it does, as a sentence. */
  does: string;
  /** Lines for `.github/hunkwise.yml`; null if there is no single right one. */
  lines: string | null;
}

/** What an instruction says of findings of a category that people keep dismissing. */
export const severeOnly = (category: string): string =>
  `Report a finding of the category ${category} only if its severity is high or critical.`;

/** What a repository can do about findings that its people dismiss again and again. A person decides. */
export function demotionOf({ dimension, value, dismissed, findings }: OftenDismissed): Demotion {
  const evidence = `people dismissed ${dismissed} of ${findings}`;
  switch (dimension) {
    case "rule":
      return {
        does: `Lower the severity of the rule ${value}, say more exactly what it means, or narrow its files: ${evidence} of its findings.`,
        lines: null,
      };
    case "source":
      return toolOf(value) === null
        ? {
            does: `Switch the rule ${value} off, or only for some files: ${evidence} of its findings.`,
            lines: stringify({ rules: { [value]: "off" } }),
          }
        : {
            does: `Switch it off in ${toolOf(value)}, whose results these are: ${evidence}.`,
            lines: null,
          };
    case "category":
      return {
        does: `Ask the reviewer to report findings about ${value} only if they are severe: ${evidence}.`,
        lines: stringify({
          instructions: [{ path: "**", text: severeOnly(value) }],
        }),
      };
  }
}
