import { describe, expect, it } from "vitest";
import { createReportWatch } from "../../../src/tasks/loop/report-watch.ts";

const finding = {
  ...{ path: "src/cart.ts", side: "RIGHT", line: 30, quote: "  return sum - price;" },
  ...{ severity: "high", category: "correctness", confidence: 0.9 },
  ...{ title: "The total subtracts each price", body: "It is negative." },
};
type Sent = Record<string, unknown> | string;

/** Follows turns of one loop; each has refused (`no`), withheld and accepted (`yes`) reports. */
function lost(...turns: { no?: Sent[]; withheld?: Sent[]; yes?: Sent[]; tool?: string; error?: string }[]) {
  const watch = createReportWatch();
  for (const [
    at,
    { no = [], withheld = [], yes = [], tool = "report_finding", error = "refused" },
  ] of turns.entries()) {
    const metadata = { duration_ms: 0, truncated: false };
    const saw = (sent: Sent, isRefused: boolean, isWithheld: boolean) =>
      watch.saw({
        ...{ type: "tool_finished", turn: at + 1, isWithheld },
        call: { id: "c", name: tool, arguments: typeof sent === "string" ? sent : JSON.stringify(sent) },
        result: isRefused
          ? { status: "error", error, metadata }
          : { status: "success", output: {}, metadata },
      });
    for (const sent of no) saw(sent, true, false);
    for (const sent of withheld) saw(sent, true, true);
    for (const sent of yes) saw(sent, false, false);
  }
  return watch.lost();
}

describe("a refused report", () => {
  it("A refused report is lost if nothing repeats it, and its text is kept", () => {
    expect(lost({ no: [finding] })).toEqual([
      { path: "src/cart.ts", text: "high, src/cart.ts:30: The total subtracts each price. It is negative." },
    ]);
  });

  it.each<[string, Record<string, unknown>]>([
    ["the same", {}],
    ["another line nearby, and other words", { line: 40, title: "Every price is subtracted from the total" }],
    ["a worse severity", { severity: "critical" }],
    ["its path without a prefix", { path: "cart.ts" }],
    [
      "another title, line and file, and the same code",
      { title: "No", line: 999, path: "x.ts", quote: "return sum-price;" },
    ],
  ])("A refused report is repeated by a later one with %s", (_, over) => {
    expect(lost({ no: [finding] }, { yes: [{ ...finding, ...over }] })).toEqual([]);
  });

  it.each<[string, Record<string, unknown>]>([
    ["a milder severity", { severity: "medium" }],
    ["nothing that reaches it", { reached: false }],
    ["another line and other code", { line: 41, quote: "x" }],
    ["another file and other code", { path: "src/other.ts", quote: "x" }],
    ["another title and other code", { title: "Prices may be null", quote: "x" }],
  ])("A refused report is lost despite a later one with %s", (_, over) => {
    expect(lost({ no: [finding] }, { yes: [{ ...finding, ...over }] })).toHaveLength(1);
  });

  it("A report of the same turn does not repeat a refused one", () => {
    const other = { ...finding, title: "The sum may overflow" };
    expect(lost({ no: [finding], yes: [other] })).toHaveLength(1);
  });

  it("One report repeats equal refused ones, but only one with another title", () => {
    expect(lost({ no: [finding] }, { no: [{ ...finding, line: 31 }] }, { yes: [finding] })).toEqual([]);
    const others = ["Rounds down", "Ignores the currency"].map((title) => ({ ...finding, title }));
    expect(lost({ no: others }, { yes: [{ ...finding, title: "Something else entirely" }] })).toHaveLength(1);
    expect(lost({ no: [finding, ...others] }, { yes: [finding] })).toHaveLength(2);
  });

  it("A report that was refused on purpose is not lost", () => {
    expect(lost({ withheld: [finding] })).toEqual([]);
  });

  it.each<[string, string, Sent, number]>([
    ["no title", "open_file", { path: "a.ts" }, 0],
    ["a title", "tell", finding, 1],
    ["a list of them", "submit_review", { comments: [finding, { ...finding, title: "Rounds down" }] }, 2],
    ["a body alone", "add_comment", { file: "a.ts", line: 3, description: "Rounds down" }, 1],
    ["nothing readable", "report", "{{", 1],
  ])("A call of an unknown tool with %s is a refused report", (_, tool, sent, count) => {
    expect(lost({ no: [sent], tool, error: `there is no tool '${tool}'; the tools are x` })).toHaveLength(
      count,
    );
  });

  it("A call of another tool with a finding is a refused report, unless the tool only reads", () => {
    expect(lost({ no: [finding], tool: "report_verdict" })).toHaveLength(1);
    expect(lost({ no: [finding], tool: "read_file_part" })).toEqual([]);
    expect(lost({ yes: [{ summary: "Done.", findings: [finding] }], tool: "finish_review" })).toHaveLength(1);
  });

  it("A refused report without a title is repeated by its words or its code alone", () => {
    const untitled = { ...finding, title: "!!!", quote: "", body: "The query holds the name." };
    const other = { ...finding, title: "Rounds down", body: "Cents are lost." };
    expect(lost({ no: [untitled] }, { yes: [other] })).toHaveLength(1);
    expect(lost({ no: [untitled] }, { yes: [{ ...other, body: untitled.body }] })).toEqual([]);
    expect(lost({ no: ["{{"] }, { yes: [other] })).toEqual([]);
  });

  it.each<[string, string, RegExp]>([
    [
      "JSON without an end",
      JSON.stringify(finding).slice(0, -30),
      /^high, src\/cart\.ts:30: The total subtracts/,
    ],
    [
      "JSON that ends in its title",
      JSON.stringify(finding).replace(/ each price.*/, ""),
      /src\/cart\.ts:30: The total subtracts$/,
    ],
    [
      "line feeds in its text",
      JSON.stringify(finding).replace("The total", "The\n  total"),
      /: The total subtracts/,
    ],
    ["no JSON", "path=src/cart.ts", /^src\/cart\.ts: a report that cannot be read: path=src\/cart\.ts$/],
    ["no field of ours", '{"issue": "boom"}', /^a report that cannot be read: \{"issue": "boom"\}$/],
    ["a severity of another scale", JSON.stringify({ ...finding, severity: "Blocker" }), /^critical, /],
    [
      "a severity that no list has",
      JSON.stringify({ ...finding, severity: "urgent" }),
      /^src\/cart\.ts:30: The/,
    ],
  ])("A refused report is shown as far as it can be read: %s", (_, sent, words) => {
    const [one] = lost({ no: [sent] });
    expect(one?.text).toMatch(words);
  });

  it("A refused report is shown in at most 300 characters", () => {
    const [one] = lost({ no: [{ ...finding, body: "It is negative again. ".repeat(100_000) }] });
    expect(one?.text.length).toBeLessThanOrEqual(300);
    expect(one?.text).toMatch(/again\. …$/);
  });
});

describe("a report in the text of an answer", () => {
  const { path, title } = finding;
  it.each([
    `I found one. <tool_call>${JSON.stringify({ name: "report_finding", arguments: finding })}</tool_call> Done.`,
    `<function=report_finding><parameter=path>${path}</parameter><parameter=title>${title}`,
    `<invoke name='report_finding'><parameter name="path" string="true">${path}</parameter><parameter name="title">${title}</parameter>`,
    `report_finding(path="${path}", line=30, title="${title}")`,
    `report_finding\n<arg_key>path</arg_key>\n<arg_value>${path}</arg_value>\n<arg_key>title</arg_key>\n<arg_value>${title}</arg_value>`,
    `\`\`\`json\n${JSON.stringify([finding])}\n\`\`\``,
    `**${title}**\n- file: ${path}\n- title: ${title}\n- severity: high`,
  ])("A report in text is lost unless a call makes it: %j", (text) => {
    const watch = createReportWatch();
    watch.read(1, text);
    expect(watch.lost()).toMatchObject([{ path }]);
    watch.saw(accepted(1));
    expect(watch.lost()).toEqual([]);
    watch.read(2, text);
    expect(watch.lost()).toEqual([]);
  });

  it.each([
    "In file: a.ts, the body: of f is of low severity.",
    "I will call report_finding next.",
    "severity: high",
    `<think>report_finding(path="a", title="b")</think>`,
  ])("A text without a finding is no report: %j", (text) => {
    const watch = createReportWatch();
    watch.read(1, text);
    expect(watch.lost()).toEqual([]);
  });

  const accepted = (turn: number) => ({
    ...{ type: "tool_finished" as const, turn, isWithheld: false },
    call: { id: "c", name: "report_finding", arguments: JSON.stringify(finding) },
    result: { status: "success" as const, output: {}, metadata: { duration_ms: 0, truncated: false } },
  });
});
