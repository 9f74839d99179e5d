import { csvLine } from "../reporters/csv.ts";
import type { Insights, Line, Outcomes } from "./insights.ts";

/** What a number of the insights means. */
export interface Definition {
  name: string;
  means: string;
}

/** Fewer findings than this say too little for a share. */
const leastForShare = 20;

/** The definitions in the words that the page, the report and the documents print. */
export const definitions: readonly Definition[] = [
  {
    name: "Week",
    means: "Monday to Sunday, UTC. A period is made of whole weeks; the last one is not over yet.",
  },
  { name: "Review", means: "A run that published a review. It counts in the week in which it ended." },
  { name: "Quiet review", means: "A review that showed no finding for the first time." },
  {
    name: "Cost",
    means:
      "What the turns of models cost in the week in which they were made, also those of runs that failed. Turns without a known price are not in it.",
  },
  {
    name: "Findings",
    means:
      "Findings that people saw (in comments, annotations or a summary) on pull requests that closed in the week. So the findings of open pull requests are not counted yet.",
  },
  { name: "Fixed", means: "A later review found that the code no longer has the fault, before the merge." },
  {
    name: "Dismissed",
    means:
      "A person with write access decided to leave the code as it is: by a command, a reply, a thumbs down, a resolved thread, a deleted comment or the page.",
  },
  { name: "Ignored", means: "Open at the merge: nobody changed its lines or decided about it." },
  {
    name: "Unclear",
    means: "Its lines had changed at the merge, and no review has checked since whether that fixed it.",
  },
  {
    name: "Withdrawn",
    means:
      "A later review no longer reported it, although its code had not changed. Findings without a comment count as fixed.",
  },
  {
    name: "Not merged",
    means: "Its pull request was closed without a merge. Nothing is said about these findings.",
  },
  {
    name: "Thumbs",
    means:
      "Reactions of people on the comments of these findings, as they were when the pull request closed.",
  },
  {
    name: "Share",
    means: `Of the findings whose pull request was merged. Shown only from ${leastForShare} on; below that, only counts.`,
  },
  {
    name: "Waiting, running",
    means:
      "From the event to the start, and from the start to the end of a review; the middle value of the last 13 weeks of the period.",
  },
];

/** Findings of merged pull requests: the whole of which shares are parts. */
export const judged = ({ delivered, unmerged }: Pick<Outcomes, "delivered" | "unmerged">): number =>
  delivered - unmerged;

/** A part of a whole as a percentage, "60%"; null if the whole is too small. */
export function share(part: number, whole: number): string | null {
  return whole < leastForShare ? null : `${Math.round((part / whole) * 100)}%`;
}

/** All tokens of a line. */
export const tokensOf = ({
  prompt_tokens,
  completion_tokens,
}: Pick<Line, "prompt_tokens" | "completion_tokens">): number => prompt_tokens + completion_tokens;

/** A breakdown of the insights. */
export const breakdowns = ["repository", "week", "severity", "category", "rule", "source", "model"] as const;
export type Breakdown = (typeof breakdowns)[number];

/** The rows of a breakdown: a name and numbers by column. */
export function rowsBy(
  insights: Insights,
  by: Breakdown,
): { name: string; numbers: Record<string, number> }[] {
  switch (by) {
    case "repository":
      return insights.repositories.map(({ id: _, name, ...numbers }) => ({ name, numbers }));
    case "week":
      return insights.weeks.map(({ week: name, ...numbers }) => ({ name, numbers }));
    case "model":
      return insights.models.map(({ model: name, ...numbers }) => ({ name, numbers }));
    default:
      return (insights.by?.[by] ?? []).map(({ value: name, ...numbers }) => ({
        name: name || "none",
        numbers,
      }));
  }
}

/** A breakdown as CSV: its names, and every number. */
export function breakdownCsv(insights: Insights, by: Breakdown): string {
  const rows = rowsBy(insights, by);
  const names = Object.keys(rows[0]?.numbers ?? {});
  const lines = rows.map(({ name, numbers }) => csvLine([name, ...names.map((one) => numbers[one] ?? null)]));
  return [csvLine([by, ...names]), ...lines].join("");
}
