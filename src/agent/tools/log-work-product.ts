import { z } from "zod";
import { unescapeInvisible } from "../../core/text/escape-invisible.ts";
import { defineTool, ToolError } from "./tool.ts";

export const MAX_NOTE = 8_000;
const MAX_PAGE_NAME = 200;
export const DEFAULT_PAGE = "hunkwise-audit";

const Input = z.strictObject({
  content: z
    .string()
    .trim()
    .min(1)
    .max(MAX_NOTE)
    .describe("What you have done or decided, in a few sentences."),
  page_name: z
    .string()
    .trim()
    .min(1)
    .max(MAX_PAGE_NAME)
    .default(DEFAULT_PAGE)
    .describe("The page to add it to."),
});
type Input = z.infer<typeof Input>;

/** Writes nothing itself: the process with the record and the graph stores the note. */
export const logWorkProduct = defineTool<Input, { status: string }>({
  name: "log_work_product",
  title: "Log work product",
  description:
    "Leaves a note for the people who audit these reviews: a summary of your work or a decision, as a new block of a page. " +
    "Readers of the pull request do not see it; report findings with report_finding. " +
    "Optional, at most once.",
  returns: "`{status}`: what was done with the note, in one sentence.",
  example: { content: "Read all six hunks; the locking in src/pool.ts was the one risk, and it holds." },
  kind: "report",
  input: Input,
  async execute({ content, page_name }, { journal }) {
    if (!journal)
      throw new ToolError("this run keeps no record that a note could be added to; go on without it");
    const status = await journal.log(unescapeInvisible(page_name), unescapeInvisible(content));
    return { output: { status } };
  },
  render: ({ status }) => ({ text: status }),
});
