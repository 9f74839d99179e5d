import type { FakeScript, FakeTurn } from "../../test/support/fake-openai.ts";
import { reported } from "./repositories.ts";

const turns: readonly FakeTurn[] = [
  {
    tool_calls: [
      { name: "diff_file", arguments: { file_path: reported.path } },
      { name: "read_file_part", arguments: { file_path: reported.path, start_line: 1, end_line: 3 } },
      { name: "search_in_files", arguments: { pattern: "left\\.total" } },
    ],
  },
  {
    tool_calls: [
      {
        name: "report_finding",
        arguments: {
          path: reported.path,
          line: reported.line,
          quote: reported.quote,
          severity: "low",
          category: "correctness",
          title: "Totals are compared loosely",
          body: "A total that is text equals one that is a number.",
          confidence: 0.5,
        },
      },
    ],
  },
  { tool_calls: [{ name: "finish_review", arguments: { summary: "Sound apart from one comparison." } }] },
];

/** Reads a little, reports one finding and finishes. What does not contain the place of the finding, it finishes at once. */
export const instantReviewer: FakeScript = ({ messages }) => {
  if (!messages.some(({ content }) => String(content).includes(reported.path)))
    return { tool_calls: [{ name: "finish_review", arguments: { summary: "Sound." } }] };
  const turn = turns[messages.filter(({ role }) => role === "assistant").length];
  return turn ?? { content: "There is nothing more to say." };
};
